import { createHash } from 'node:crypto';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { ArtifactScrubbing, Unscrubbable } from './artifact-scrubbing.ts';
import { contentOfFile } from './content.ts';
import { scrubbedPieces } from './scrub-content.ts';
import type { ScrubArtifactTask, ScrubbedArtifact } from './scrub-task.ts';
import { createScrubber } from '../scrubber/scrubber.ts';

/** Sizes in archives have 32 bits. */
const maxArtifactBytes = 3 * 1024 ** 3;

/**
 * Scrubs one artifact on this thread, into the new file `task.target`. Unpacked content goes to `task.folder`. Throws
 * Unscrubbable, the signal's reason between two pieces, and errors of the file system.
 */
export async function scrubArtifactHere(
  task: ScrubArtifactTask,
  signal?: AbortSignal,
): Promise<ScrubbedArtifact> {
  const scrubbing = new ArtifactScrubbing(createScrubber(task.secrets), {
    folder: task.folder,
    maxBytes: Math.min(task.maxBytes, maxArtifactBytes),
    signal,
  });
  const bytesIn = statSync(task.source).size;
  try {
    scrubbing.chargeBytes(bytesIn);
    const content = contentOfFile(nameWithEnding(task), task.source);
    const fd = openSync(task.target, 'wx', 0o600);
    const hash = createHash('sha256');
    let bytesOut = 0;
    try {
      for await (const piece of scrubbedPieces(content, scrubbing, 0)) {
        signal?.throwIfAborted();
        for (let at = 0; at < piece.length;) at += writeSync(fd, piece, at);
        hash.update(piece);
        bytesOut += piece.length;
      }
    } finally {
      closeSync(fd);
    }
    const { note, maskedCount } = scrubbing;
    return {
      bytesIn,
      bytesOut,
      maskedCount,
      sha256: hash.digest('hex'),
      ...(note === undefined ? {} : { note }),
    };
  } catch (error) {
    if (!(error instanceof Unscrubbable)) throw error;
    throw Object.assign(new Error(`the artifact cannot be scrubbed: ${error.message}`), { code: error.code });
  }
}

/** The name, with an ending from the content type if the name has none. */
function nameWithEnding({ name, contentType }: ScrubArtifactTask): string {
  if (/\bjson\b/.test(contentType) && !/\.json$/i.test(name)) return `${name}.json`;
  if (/\bzip\b/.test(contentType) && !/\.zip$/i.test(name)) return `${name}.zip`;
  return name;
}
