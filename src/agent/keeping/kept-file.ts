import { createHash, randomUUID } from 'node:crypto';
import { promises as fs } from 'node:fs';
import { join } from 'node:path';
import { Compile } from 'typebox/compile';
import { SharedVariables } from '../../protocol/assignments.ts';
import { parsedJson } from '../../json-values.ts';
import {
  beatFolder,
  beatsOf,
  isOwnerGone,
  ownerBeatMs,
  ownerFiles,
  signFolder,
  unsignFolder,
} from '../folders/owner.ts';
import { readAssignments, unpackedJson, type PackedCheck } from './packed.ts';
import { readSealedLines, writeSealedLines } from './sealed-lines.ts';

/**
 * Keeps the held checks over a restart, in a folder of each process below `assignments/` of the data directory. They
 * contain variables and certificates, so the files are encrypted with a key that follows from the agent's API key. The
 * checks are written when they have changed; a small file has what changes with each run.
 */
export type KeptFile = {
  /** Takes over the checks of dead processes of this data directory. Never rejects. */
  adopt: () => Promise<Adopted | null>;
  /** Replaces what is kept, one call after the other. Resolves with false if it could not be written. Never rejects. */
  save: (kept: Kept) => Promise<boolean>;
  /** Replaces the facts only. Before the first `save`, it does nothing. Never rejects. */
  saveFacts: (facts: KeptFacts) => Promise<boolean>;
  /** Resolves when nothing is being written; what is kept stays for the next process. */
  close: () => Promise<void>;
};

/** What changes with each run. */
export type KeptFacts = {
  /** The ids under which the agent held them. */
  holders: string[];
  reportedTo: number | null;
  /** When the agent last heard of the service, by the service's clock. */
  heardAt: number;
  /** They are stopped while the service is away. */
  stopsInOutages: boolean;
};

export type Kept = KeptFacts & {
  checks: PackedCheck[];
  /** Of the account, for checks whose jobs are without them. */
  variables: SharedVariables | null;
};

export type Adopted = Kept & {
  /**
   * The dead processes. The service may have given one of them checks whose answer to hello never came, or was not written
   * here, so that its id is not known.
   */
  instances: string[];
};

/** Each process that says hello names the earlier ones, so that those before the last few no longer matter. */
const mostInstances = 8;

/** Agents of an earlier release do not read it: they would run the checks without the variables that are apart. */
const fileName = 'held-apart';
/** Facts that are newer than those in the file of the checks. */
const factsName = 'held-facts';
/** What agents of that release write: one line. */
const earlierFileName = 'held';
const sharedVariables = Compile(SharedVariables);

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
      join(folder, fileName),
      key,
      linesOf({ ...facts, instances, version: next }, checks),
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
    adopt: async () => {
      let found: Adopted | null = null;
      try {
        const entries = await fs.readdir(root, { withFileTypes: true }).catch(() => []);
        if (entries.length === 0) return null;
        await sign();
        const dead: string[] = [];
        for (const entry of entries) {
          const other = join(root, entry.name);
          if (!entry.isDirectory() || entry.name === instanceId) continue;
          const isDead = await isOwnerGone(other, join(folder, ownerFiles.alive), (names) =>
            names.some((name) => name === fileName || name === earlierFileName),
          ).catch(() => false);
          if (!isDead) continue;
          const kept =
            (await readKept(other, fileName, key)) ?? (await readKept(other, earlierFileName, key));
          if (kept !== null) {
            kept.instances.push(entry.name);
            found = found === null ? kept : merged(found, kept);
          }
          dead.push(other);
        }
        // First, because this process may be killed at any moment, too.
        if (found !== null) {
          found.instances = instances = found.instances.slice(-mostInstances);
          await write(found);
        }
        for (const other of dead) {
          await unsignFolder(other).catch(() => undefined);
          await fs.rm(other, { recursive: true, force: true });
        }
      } catch (error) {
        onError(error);
      }
      return found;
    },
    save: (kept) => inTurn(() => write(kept)),
    saveFacts: (facts) =>
      inTurn(async () => {
        if (version === null) return;
        await writeSealedLines(join(folder, factsName), key, [JSON.stringify({ ...facts, version })]);
      }),
    close: async () => {
      await writing;
      clearInterval(timer);
      if (signing !== null) await unsignFolder(folder).catch(() => undefined);
    },
  };
}

/** Of two processes that shared the folder. The same check in both: what the one that heard of the service last has. */
function merged(a: Adopted, b: Adopted): Adopted {
  const [older, newer] = a.heardAt < b.heardAt ? [a, b] : [b, a];
  const checks = new Map([...older.checks, ...newer.checks].map((check) => [check.checkId, check]));
  return {
    holders: [...new Set([...a.holders, ...b.holders])],
    instances: [...new Set([...a.instances, ...b.instances])],
    checks: [...checks.values()],
    reportedTo: a.reportedTo === null || b.reportedTo === null ? null : Math.min(a.reportedTo, b.reportedTo),
    heardAt: newer.heardAt,
    stopsInOutages: newer.stopsInOutages,
    variables: newer.variables ?? older.variables,
  };
}

function* linesOf(facts: object, checks: readonly PackedCheck[]): Generator<string> {
  yield JSON.stringify(facts);
  for (const check of checks) yield unpackedJson(check);
}

async function readKept(folder: string, name: string, key: Buffer): Promise<Adopted | null> {
  const lines = await readSealedLines(join(folder, name), key);
  if (lines === null) return null;
  const first = parsedJson(lines.next().value ?? '') as
    (Partial<Adopted> & { version?: unknown }) | undefined; // checked below
  const [last] = (await readSealedLines(join(folder, factsName), key)) ?? [];
  const later = parsedJson(last ?? '') as (Partial<KeptFacts> & { version?: unknown }) | undefined; // checked below
  const isLater = typeof later?.version === 'string' && later.version === first?.version;
  const { holders, reportedTo, heardAt, stopsInOutages } = { ...first, ...(isLater ? later : {}) };
  if (!Array.isArray(holders) || typeof heardAt !== 'number') return null;
  // Earlier releases write no instances, and everything in one line.
  const { instances = [], variables } = first ?? {};
  const checks = Array.isArray(first?.checks) ? first.checks : parsedLines(lines);
  return {
    holders: holders.filter((id) => typeof id === 'string'),
    instances: Array.isArray(instances) ? instances.filter((id) => typeof id === 'string') : [],
    checks: readAssignments(checks).checks,
    reportedTo: typeof reportedTo === 'number' ? reportedTo : null,
    heardAt,
    stopsInOutages: stopsInOutages === true,
    variables: sharedVariables.Check(variables) ? variables : null,
  };
}

function* parsedLines(lines: Iterable<string>): Generator<unknown> {
  for (const line of lines) yield parsedJson(line);
}
