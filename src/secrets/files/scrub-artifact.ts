import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ScrubArtifactTask, ScrubbedArtifact } from './scrub-task.ts';
import { inTurn, runOnThread, threadLoads } from './scrub-thread.ts';
import type { NamedSecret } from '../scrubber/scrubber.ts';

export type ScrubArtifactOptions = {
  /** The artifact's name as the result has it; its ending helps to tell what it is. */
  readonly name: string;
  /** `log`, `trace`, `video`, `screenshot`, `report`, `pcap` or `file`. */
  readonly type: string;
  readonly contentType: string;
  readonly secrets: readonly NamedSecret[];
  readonly signal?: AbortSignal;
  /** Bytes that the artifact may have with everything in it unpacked, 1 GiB unless told. */
  readonly maxBytes?: number;
};

const defaultMaxBytes = 1024 ** 3;

/**
 * Writes the artifact `source` to `target` with all secrets masked, also inside archives, traces and reports, and sensitive
 * headers with them: off the main thread, one at a time, in constant memory. `target` appears when it is complete (mode
 * 0600). Rejects with the signal's reason, with what the file system said, or, where the artifact can't be scrubbed, with an
 * error of code `UNSCRUBBABLE` whose message says why without quoting the artifact; then `target` is as it was.
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

/** For sources that run as they are (tests): on this thread, in pieces. */
async function scrubHere(
  task: ScrubArtifactTask,
  signal: AbortSignal | undefined,
): Promise<ScrubbedArtifact> {
  const { scrubArtifactHere } = await import('./scrub-artifact-here.ts');
  return scrubArtifactHere(task, signal);
}
