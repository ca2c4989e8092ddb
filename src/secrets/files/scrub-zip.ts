import type { Entry } from 'yauzl';
import { Unscrubbable, type ArtifactScrubbing } from './artifact-scrubbing.ts';
import { contentOfBuffer, headOf, joined, type Content } from './content.ts';
import { isPacked } from './content-kind.ts';
import { isSmall, openZip, type ZipReader } from './zip-reader.ts';
import { ZipWriter, type ZipEntryHead } from './zip-writer.ts';

const deflated = 8;

type ZipScrubbing = {
  readonly scrubbing: ArtifactScrubbing;
  /** Returns the scrubbed content of one entry; archives within it are scrubbed too. */
  readonly piecesOf: (content: Content) => AsyncGenerator<Buffer>;
};

/**
 * Writes the archive `source` (a path or its bytes) to the new file `target`, every entry scrubbed: its content,
 * archives within it, its name. Unchanged entries are copied in compressed form. Comments, extra fields and bytes
 * between entries are dropped. An entry that cannot be scrubbed is replaced by a line that says so.
 */
export async function scrubZip(
  source: string | Buffer,
  target: string,
  { scrubbing, piecesOf }: ZipScrubbing,
): Promise<void> {
  const reader = await openZip(source);
  try {
    const writer = new ZipWriter(target);
    try {
      const taken = new Set<string>();
      for await (const entry of reader.entries()) {
        scrubbing.chargeEntry(entry.fileNameRaw.length);
        scrubbing.chargeBytes(Math.max(entry.compressedSize, entry.uncompressedSize));
        const head = headOfEntry(entry, scrubbing, taken);
        try {
          await scrubEntry(entry, head, { reader, writer, scrubbing, piecesOf });
        } catch (error) {
          if (!(error instanceof Unscrubbable) || error.dropsAll) throw error;
          scrubbing.withhold(error.message);
          const why = Buffer.from(
            `This file was dropped because it could not be scrubbed: ${error.message}\n`,
          );
          await writer.add(head, why, { pack: false });
        }
      }
      writer.finish();
    } finally {
      writer.close();
    }
  } finally {
    reader.close();
  }
}

type Parts = ZipScrubbing & {
  readonly reader: ZipReader;
  readonly writer: ZipWriter;
};

async function scrubEntry(entry: Entry, head: ZipEntryHead, parts: Parts): Promise<void> {
  const { reader, writer, scrubbing, piecesOf } = parts;
  const name = entry.fileNameRaw.toString();
  const copy = (): Promise<void> =>
    writer.copy(
      head,
      { method: entry.compressionMethod, crc: entry.crc32, unpacked: entry.uncompressedSize },
      reader.packed(entry),
    );
  const pack = entry.compressionMethod === deflated;
  if (isSmall(entry)) {
    const { bytes, exact } = reader.inOnePiece(entry);
    const before = scrubbing.changes;
    const clean = await joined(piecesOf(contentOfBuffer(name, bytes)), bytes.length);
    if (exact && scrubbing.changes === before) await copy();
    else await writer.add(head, clean, { pack: pack && !isPacked(clean) });
    return;
  }
  const content: Content = { name, pieces: () => reader.content(entry), buffer: null, path: null };
  // An archive is always compressed again: checking first whether it changes would double the work.
  const changed = isPacked(await headOf(content, 4)) || (await scrubbing.wouldChange(piecesOf(content)));
  if (!changed && reader.exact) await copy();
  else await writer.add(head, piecesOf(content), { pack });
}

/** Names by which traces refer to their files: a digest, or a page and a time. They contain no secrets. */
const referenceName =
  /^(?:[a-z]{1,12}\/)?(?:(?:[a-z]{1,12}@)?[0-9a-f]{40}|page@[0-9a-f]{32}-\d+)(?:\.[a-z0-9]{1,8})?$/i;

/** Part of a digest may equal a short secret; only a secret of a digest's length is masked. */
function isReferenceName(name: string, { scrubber }: ArtifactScrubbing): boolean {
  if (!referenceName.test(name)) return false;
  const spans = scrubber.find(Buffer.from(name));
  return (spans[1] ?? 0) - (spans[0] ?? 0) < 32;
}

function headOfEntry(entry: Entry, scrubbing: ArtifactScrubbing, taken: Set<string>): ZipEntryHead {
  const raw = entry.fileNameRaw;
  const utf8 = (entry.generalPurposeBitFlag & 0x0800) !== 0;
  let text = raw.toString('latin1');
  if (!isReferenceName(text, scrubbing)) {
    text = scrubbing.scrubber.bytes(raw).toString('latin1');
    const safe = safeName(text);
    if (safe !== text) scrubbing.changed();
    text = safe;
    if (text !== raw.toString('latin1')) {
      // Two names may have become equal, and readers would see only one file.
      for (let n = 2, base = text; taken.has(text); n++) text = `${base}.${n}`;
    }
  }
  taken.add(text);
  return {
    name: Buffer.from(text, 'latin1'),
    utf8,
    time: entry.lastModFileTime,
    date: entry.lastModFileDate,
  };
}

/** Makes a name that stays within the folder where the archive is unpacked. */
function safeName(name: string): string {
  if (!/\\|^\/|^[A-Za-z]:|(?:^|\/)\.\.(?:\/|$)|\0|^$/.test(name)) return name;
  const parts = name
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:/, '')
    .replaceAll('\0', '_')
    .split('/');
  const kept = parts.map((part) => (part === '..' ? '_' : part)).join('/');
  return kept.replace(/^\/+/, '') || '_';
}
