import { createHash } from 'node:crypto';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { ArtifactScrubbing, Unscrubbable } from './artifact-scrubbing.ts';
import { packedEndingOf } from './content-kind.ts';
import { contentOfFile } from './content.ts';
import { scrubbedPieces } from './scrub-content.ts';
import type { ScrubArtifactTask, ScrubbedArtifact } from './scrub-task.ts';
import { scrubberOf, type Scrubber } from '../scrubber/scrubber.ts';
import { buildTables, type NamedSecret, type ScrubberTables } from '../scrubber/tables.ts';

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
  const scrubber = scrubberFor(task.secrets);
  if (scrubber.withheld !== null) throw unscrubbable(scrubber.withheld);
  const scrubbing = new ArtifactScrubbing(scrubber, {
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
    throw unscrubbable(error.message);
  }
}

function unscrubbable(why: string): Error {
  return Object.assign(new Error(`the artifact cannot be scrubbed: ${why}`), {
    code: new Unscrubbable(why).code,
  });
}

let last: { secrets: readonly NamedSecret[]; tables: ScrubberTables } | null = null;

/** A new scrubber for these secrets. The files of a run have the same ones, so their tables are built once. */
function scrubberFor(secrets: readonly NamedSecret[]): Scrubber {
  const isSame =
    last !== null &&
    last.secrets.length === secrets.length &&
    secrets.every(({ value }, i) => last?.secrets[i]?.value === value);
  if (last === null || !isSame) last = { secrets, tables: buildTables(secrets) };
  return scrubberOf(last.tables);
}

/** The name, with an ending from the content type if the name has none. */
function nameWithEnding({ name, contentType }: ScrubArtifactTask): string {
  const packed = packedEndingOf(contentType);
  if (packed !== null) return `${name}.${packed}`;
  if (/\bjson\b/.test(contentType) && !/\.json$/i.test(name)) return `${name}.json`;
  if (/\bzip\b/.test(contentType) && !/\.zip$/i.test(name)) return `${name}.zip`;
  return name;
}
