import { createHash, randomUUID } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { beatFolder, beatsOf, bootId, ownerBeatMs, signFolder, unsignFolder } from '../folders/owner.ts';
import type { Adopted, Kept, KeptFacts } from './kept.ts';
import { claimKept, currentOf, factsName, checksName, merged, staleMs } from './kept-folders.ts';
import { unpackedJson, type PackedCheck } from './packed.ts';
import { writeSealedLines } from './sealed-lines.ts';

/**
 * Keeps the held checks over a restart, in a folder of each process below `assignments/` of the data directory. They
 * contain variables and certificates, so the files are encrypted with a key that follows from the agent's API key. The
 * checks are written when they have changed; a small file has what changes with each run.
 */
export type KeptFile = {
  /**
   * Takes over the checks of dead processes of this data directory, and keeps them from then on, with what this process has (`own`;
   * null = nothing). Never rejects.
   */
  adopt: (own?: Kept | null) => Promise<Adopted | null>;
  /** Replaces what is kept, one call after the other. Resolves with false if it could not be written. Never rejects. */
  save: (kept: Kept) => Promise<boolean>;
  /** Replaces the facts only. Before the first `save`, it does nothing. Never rejects. */
  saveFacts: (facts: KeptFacts) => Promise<boolean>;
  /** Resolves when nothing is being written; what is kept stays for the next process. */
  close: () => Promise<void>;
};

/** Each process that says hello names the earlier ones, so that those before the last few no longer matter. */
const mostInstances = 8;

export function createKeptFile(options: {
  root: string;
  instanceId: string;
  apiKey: string;
  onError: (error: unknown) => void;
}): KeptFile {
  const { root, instanceId, onError } = options;
  const folder = join(root, instanceId);
  const key = createHash('sha256').update(`assignments of ${options.apiKey}`).digest();
  let signing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let instances: string[] = [];
  /** Names the file of checks to which the facts belong; null = there is none. */
  let version: string | null = null;
  let writing: Promise<void> = Promise.resolve();
  /** Folders with nothing that this process may take over. */
  const ignored = new Set<string>();

  const sign = () =>
    (signing ??= (async () => {
      await signFolder(folder);
      await beatFolder(folder);
      timer = setInterval(beatsOf(folder), ownerBeatMs);
      timer.unref();
    })().catch((error: unknown) => {
      signing = null;
      throw error;
    }));

  const write = async ({ checks, ...facts }: Kept): Promise<void> => {
    await sign();
    const next = randomUUID();
    await writeSealedLines(
      join(folder, checksName),
      key,
      linesOf({ ...facts, instances, version: next, boot: bootId() }, checks),
    );
    version = next;
  };

  const inTurn = (work: () => Promise<void>): Promise<boolean> => {
    const done = writing.then(work).then(
      () => true,
      (error: unknown) => {
        onError(error);
        return false;
      },
    );
    writing = done.then(() => undefined);
    return done;
  };

  return {
    adopt: async (own = null) => {
      let found: Adopted | null = null;
      await inTurn(async () => {
        const entries = await fs.readdir(root).catch(() => []);
        if (entries.every((name) => name === instanceId)) return;
        await sign();
        const heardAt = own?.heardAt ?? -Infinity;
        const claimed = await claimKept({ root, instanceId, key, heardSince: heardAt - staleMs, ignored });
        const [first, ...others] = currentOf(claimed, heardAt);
        if (first !== undefined) {
          found = others.reduce(merged, first);
          found.instances = found.instances.slice(-mostInstances);
          instances = [...new Set([...instances, ...found.instances])].slice(-mostInstances);
          // First, because this process may be killed at any moment, too.
          await write(own === null ? found : merged({ ...own, instances }, found));
        }
        for (const { folder: other } of claimed) await fs.rm(other, { recursive: true, force: true });
      });
      return found;
    },
    save: (kept) => inTurn(() => write(kept)),
    saveFacts: (facts) => {
      // By the time of its turn, the file may have checks of which they say nothing.
      const known = version;
      return inTurn(async () => {
        if (known === null) return;
        await writeSealedLines(join(folder, factsName), key, [JSON.stringify({ ...facts, version: known })]);
      });
    },
    close: async () => {
      await writing;
      clearInterval(timer);
      if (signing !== null) await unsignFolder(folder).catch(() => undefined);
    },
  };
}

function* linesOf(facts: object, checks: readonly PackedCheck[]): Generator<string> {
  yield JSON.stringify(facts);
  for (const check of checks) yield unpackedJson(check);
}
