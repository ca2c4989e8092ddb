import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodes, FatalError } from '../errors.ts';

/** Runs the work in a folder that is removed afterwards, also after Ctrl-C: `signal` fires then. */
export async function inTemporaryFolder<T>(
  work: (folder: string, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'location-agent-'));
  const interrupted = new AbortController();
  const stop = () =>
    interrupted.abort(new FatalError('CONFIGURATION', 'interrupted', { exitCode: exitCodes.couldNotRun }));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(folder, interrupted.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    await rm(folder, { recursive: true, force: true });
  }
}
