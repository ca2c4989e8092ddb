import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ScrubArtifactTask, ScrubbedArtifact } from './scrub-task.ts';
import { inTurn, runOnThread, threadLoads } from './scrub-thread.ts';
import type { NamedSecret } from '../scrubber/scrubber.ts';

export type ScrubArtifactOptions = {
  /** The artifact's name in the result; its ending helps to determine its kind. */
  readonly name: string;
  /** `log`, `trace`, `video`, `screenshot`, `report`, `pcap` or `file`. */
  readonly type: string;
  readonly contentType: string;
  readonly secrets: readonly NamedSecret[];
  readonly signal?: AbortSignal;
  /** Maximum size of the artifact with all its content unpacked; default 1 GiB. */
  readonly maxBytes?: number;
};

const defaultMaxBytes = 1024 ** 3;

/**
 * Writes the artifact `source` to `target` with all secrets and sensitive headers masked, also inside archives, traces
 * and reports. It runs off the main thread, one artifact at a time, in constant memory. `target` appears when it is
 * complete (mode 0600). Rejects with the signal's reason, with errors of the file system, or, if the artifact cannot be
 * scrubbed, with an error of code `UNSCRUBBABLE` whose message gives the reason without quoting the artifact; `target`
 * is then unchanged.
 */
export async function scrubArtifact(
  source: string,
  target: string,
  options: ScrubArtifactOptions,
): Promise<ScrubbedArtifact> {
  return inTurn(() => scrubNow(source, target, options));
}

async function scrubNow(
  source: string,
  target: string,
  { name, type, contentType, secrets, signal, maxBytes = defaultMaxBytes }: ScrubArtifactOptions,
): Promise<ScrubbedArtifact> {
  signal?.throwIfAborted();
  const part = `${target}.${randomUUID()}.part`;
  const folder = `${part}.unpacked`;
  const task: ScrubArtifactTask = {
    kind: 'artifact',
    source,
    target: part,
    folder,
    name,
    type,
    contentType,
    secrets: secrets.map((secret) => ({ name: secret.name, value: secret.value })),
    maxBytes,
  };
  try {
    await mkdir(dirname(target), { recursive: true });
    await mkdir(folder, { mode: 0o700 });
    const scrubbed = threadLoads ? await runOnThread(task, signal) : await scrubHere(task, signal);
    await rename(part, target);
    return scrubbed;
  } catch (error) {
    await rm(part, { force: true });
    signal?.throwIfAborted();
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** For uncompiled sources (tests): runs on this thread, in pieces. */
async function scrubHere(
  task: ScrubArtifactTask,
  signal: AbortSignal | undefined,
): Promise<ScrubbedArtifact> {
  const { scrubArtifactHere } = await import('./scrub-artifact-here.ts');
  return scrubArtifactHere(task, signal);
}
