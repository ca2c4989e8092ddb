import { existsSync } from 'node:fs';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { SharedVariables } from '../../protocol/assignments.ts';
import { ownerBeatMs } from '../folders/owner.ts';
import type { HeldChecks } from './held-checks.ts';
import type { Adopted, KeptFacts } from './kept.ts';
import type { KeptFile } from './kept-file.ts';
import { createSaving } from './saving.ts';

/** What this process takes over from earlier ones on its data directory, and what it leaves to the next. */
export type Succession = {
  /** Takes over from the processes that are dead by now. Never rejects. */
  restore: () => Promise<void>;
  start: () => void;
  /** What hello says: the earlier agents and processes that this one continues. */
  continues: () => string[];
  /** The agent holds checks under this id. */
  addHolder: (agentId: string) => void;
  /** What is held, or what it needs, has changed. */
  changed: () => void;
  save: () => Promise<void>;
  /** Leaves the folder to the next process, which may take over at once. Nothing is written afterwards. Never rejects. */
  release: () => Promise<void>;
};

/** Holders, and as many processes: hello may name twice as many ids. */
const mostNamed = 8;

export function createSuccession(options: {
  /** The folder of all processes of this data directory. */
  folder: string;
  instanceId: string;
  apiKey: string;
  log: Log;
  held: HeldChecks;
  variables: () => SharedVariables | null;
  facts: () => Omit<KeptFacts, 'holders'>;
  /** The service is away, so it cannot give the checks of dead processes to others. */
  isAway: () => boolean;
  /** The service knows this process. It is told of no others any more: it would give them other checks. */
  isKnown: () => boolean;
  /** Takes over the checks of dead processes, unless it has others in their place. */
  take: (kept: Adopted) => void;
  /** How often it looks for processes that have died since, in milliseconds. */
  everyMs?: number | undefined;
}): Succession {
  const { folder, instanceId, apiKey, log, held, everyMs = ownerBeatMs } = options;
  const holders = new Set<string>();
  let named: Pick<Adopted, 'holders' | 'instances'> = { holders: [], instances: [] };
  let file: KeptFile | null = null;
  let isWritten = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let released: Promise<void> | null = null;

  const onError = (error: unknown): void =>
    log.warn({ err: toError(error) }, 'the held checks cannot be kept in the data folder');
  const openFile = async (): Promise<KeptFile> => {
    const { createKeptFile } = await import('./kept-file.ts');
    return (file ??= createKeptFile({ root: folder, instanceId, apiKey, onError }));
  };
  const facts = () => ({ ...options.facts(), holders: [...holders] });
  const kept = () => ({ ...facts(), checks: held.all(), variables: options.variables() });
  const openToWrite = () => {
    isWritten = true;
    return openFile();
  };
  const saving = createSaving({
    file: openToWrite,
    kept: () => (held.size() === 0 && !isWritten ? null : kept()),
    facts: () => (held.size() === 0 ? null : facts()),
  });

  const take = (found: Adopted, isNamed: boolean): void => {
    isWritten = true;
    for (const id of found.holders) holders.add(id);
    // It may have taken over from others before, of which the service does not know yet.
    if (isNamed) {
      const last = (of: 'holders' | 'instances') =>
        [...new Set([...named[of], ...found[of]])].slice(-mostNamed);
      named = { holders: last('holders'), instances: last('instances') };
    }
    if (found.checks.length === 0) return;
    options.take(found);
    saving.changed();
    log.info({ checks: held.size() }, 'continues the checks of an earlier agent on this data folder');
  };

  const adopt = async (): Promise<void> => {
    const found = await (await openFile()).adopt(kept());
    if (found === null) return;
    take(found, !options.isKnown());
    // Facts that were to be written meanwhile say nothing about these checks.
    await saving.save();
  };
  const lookAround = (): void => {
    if (looking !== null || released !== null || !options.isAway()) return;
    looking = adopt()
      .catch(onError)
      .finally(() => (looking = null));
  };

  const release = async (): Promise<void> => {
    saving.stop();
    clearInterval(timer);
    await looking;
    await saving.save();
    await file?.close();
  };

  return {
    restore: async () => {
      if (!existsSync(folder)) return;
      const found = await (await openFile()).adopt();
      if (found !== null) take(found, true);
    },
    start: () => {
      saving.start();
      timer = setInterval(lookAround, everyMs);
      timer.unref();
    },
    continues: () => [...named.holders, ...named.instances],
    addHolder: (agentId) => holders.add(agentId),
    changed: saving.changed,
    save: saving.save,
    release: () => (released ??= release()),
  };
}
