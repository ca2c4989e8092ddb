import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { scrubFileHere } from './scrub-file-here.ts';
import type { ScrubArtifactTask, ScrubbedArtifact } from './scrub-task.ts';
import { scrubChunkBytes } from './scrubber.ts';

/** Scrubs one artifact on this thread, into the new file `task.target`. What it unpacks goes to `task.folder`. */
export async function scrubArtifactHere(
  task: ScrubArtifactTask,
  signal?: AbortSignal,
): Promise<ScrubbedArtifact> {
  await Promise.resolve();
  signal?.throwIfAborted();
  if (/zip|gzip|html/.test(task.contentType)) {
    throw Object.assign(new Error('archives cannot be scrubbed yet'), { code: 'UNSCRUBBABLE' });
  }
  const scrubbed = scrubFileHere({ ...task, kind: 'file' });
  return { ...scrubbed, sha256: sha256Of(task.target) };
}

function sha256Of(path: string): string {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(scrubChunkBytes);
  const fd = openSync(path, 'r');
  try {
    for (let read = readSync(fd, chunk); read > 0; read = readSync(fd, chunk))
      hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(fd);
  }
  return hash.digest('hex');
}
