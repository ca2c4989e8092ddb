import { appendFileSync, rmSync } from 'node:fs';
import { createGunzip, createGzip } from 'node:zlib';
import { maxDepth, Unscrubbable, type ArtifactScrubbing } from './artifact-scrubbing.ts';
import {
  contentOfFile,
  filePieces,
  headOf,
  inPieces,
  through,
  type Content,
  type Pieces,
} from './content.ts';
import { kindOf } from './content-kind.ts';
import { readableLines } from './readable-lines.ts';
import { scrubEmbedded } from './scrub-embedded.ts';
import { scrubJsonDocument, scrubJsonLines } from './scrub-json.ts';
import { scrubZip } from './scrub-zip.ts';
import { scrubChunkBytes } from '../scrubber/scrubber.ts';
import { codeOf } from '../../system-errors.ts';

/**
 * Scrubs `content` of any kind. `depth` counts the surrounding archives. Throws Unscrubbable if it cannot be scrubbed;
 * pieces that were yielded before must then be discarded.
 */
export async function* scrubbedPieces(
  content: Content,
  scrubbing: ArtifactScrubbing,
  depth: number,
): AsyncGenerator<Buffer> {
  const kind = kindOf({ name: content.name, head: await headOf(content, 16) });
  if (typeof kind === 'object') throw new Unscrubbable(`a file in the unsupported format ${kind.packedAs}`);
  if (kind === 'zip') yield* zipPieces(content, scrubbing, depth);
  else if (kind === 'gzip') yield* gzipPieces(content, scrubbing, depth);
  else if (kind === 'trace') {
    yield* scrubEmbedded(scrubJsonLines(content.pieces(), scrubbing), scrubbing, {
      archive: (path) => embeddedFile(path, scrubbing, depth),
      sieve: null,
    });
  } else {
    const archive = (path: string): Promise<string> => embeddedFile(path, scrubbing, depth);
    const document =
      kind === 'json' ? await scrubJsonDocument(content, scrubbing, { numbers: depth === 0 }) : null;
    if (document !== null) {
      yield* scrubEmbedded(inPieces(document), scrubbing, { archive, sieve: null });
    } else {
      const lines = readableLines(content.pieces(), scrubbing);
      yield* scrubEmbedded(lines, scrubbing, { archive, sieve: () => scrubbing.scrubber.sieve() });
    }
  }
}

/** Scrubs an archive that was part of a text, now in a file, into a new file; returns the new path. */
async function embeddedFile(source: string, scrubbing: ArtifactScrubbing, depth: number): Promise<string> {
  const target = scrubbing.newFile();
  const content = contentOfFile('embedded', source);
  for await (const piece of scrubbedPieces(content, scrubbing, depth)) {
    appendFileSync(target, piece, { mode: 0o600 });
  }
  return target;
}

/** Scrubs the archive in a file into a new file; returns the new path. */
async function unpackedZip(
  source: string | Buffer,
  scrubbing: ArtifactScrubbing,
  depth: number,
): Promise<string> {
  if (depth > maxDepth) throw new Unscrubbable(`archives within archives, more than ${maxDepth} deep`);
  const target = scrubbing.newFile();
  const piecesOf = (content: Content) => scrubbedPieces(content, scrubbing, depth);
  await scrubZip(source, target, { scrubbing, piecesOf });
  return target;
}

async function* zipPieces(
  content: Content,
  scrubbing: ArtifactScrubbing,
  depth: number,
): AsyncGenerator<Buffer> {
  let source = content.buffer ?? content.path;
  let spilled: string | null = null;
  if (source === null) {
    spilled = scrubbing.newFile();
    source = spilled;
    for await (const piece of content.pieces()) appendFileSync(spilled, piece, { mode: 0o600 });
  }
  scrubbing.changed();
  const target = await unpackedZip(source, scrubbing, depth + 1);
  if (spilled !== null) rmSync(spilled);
  yield* filePieces(target);
  rmSync(target, { force: true });
}

async function* gzipPieces(
  content: Content,
  scrubbing: ArtifactScrubbing,
  depth: number,
): AsyncGenerator<Buffer> {
  if (depth >= maxDepth) throw new Unscrubbable(`archives within archives, more than ${maxDepth} deep`);
  const unpacked = (): Pieces => gunzipped(content.pieces(), scrubbing);
  const inner: Content = {
    name: content.name.replace(/\.gz$/i, ''),
    pieces: unpacked,
    buffer: null,
    path: null,
  };
  // Always compressed again: the header contains a file name, and anything may follow the end.
  scrubbing.changed();
  yield* through(
    createGzip({ level: 1, chunkSize: scrubChunkBytes }),
    scrubbedPieces(inner, scrubbing, depth + 1),
  );
}

async function* gunzipped(pieces: Pieces, scrubbing: ArtifactScrubbing): AsyncGenerator<Buffer> {
  try {
    for await (const piece of through(createGunzip({ chunkSize: scrubChunkBytes }), pieces)) {
      scrubbing.chargeBytes(piece.length);
      yield piece;
    }
  } catch (error) {
    if (String(codeOf(error)).startsWith('Z_')) {
      throw new Unscrubbable('a broken gzip file');
    }
    throw error;
  }
}
