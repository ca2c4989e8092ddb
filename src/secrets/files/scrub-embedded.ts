import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { Unscrubbable, type ArtifactScrubbing } from './artifact-scrubbing.ts';
import { filePieces, type Pieces } from './content.ts';
import { mask } from '../secret.ts';
import type { Sieve } from '../matcher/sieve.ts';

/** Base64 of the first bytes of zip and gzip. HTML reports embed their data in this form, JSON reports their attachments. */
const archiveMarks = [Buffer.from('UEsDB'), Buffer.from('H4sI')];
const maxMarkLength = 5;
// An empty archive has 22 bytes: 30 characters.
const shortestRun = 30;

const isBase64 = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=') {
  isBase64[char.charCodeAt(0)] = 1;
}

type Ways = {
  /** Scrubs the archive in a file into a new file, and returns its path. */
  archive: (path: string) => Promise<string>;
  /** Scrubs the text around the archives; null = that is already done. */
  sieve: (() => Sieve) | null;
};

/** Yields `pieces` with the base64 archives in them scrubbed inside, and the text around them scrubbed by the sieve. */
export async function* scrubEmbedded(
  pieces: Pieces,
  scrubbing: ArtifactScrubbing,
  { archive, sieve: makeSieve }: Ways,
): AsyncGenerator<Buffer> {
  let sieve = makeSieve?.() ?? null;
  let waiting: Buffer = Buffer.alloc(0);
  let before = 0;
  let run: Base64Run | null = null;

  const text = (bytes: Buffer): Buffer[] => {
    before = bytes.at(-1) ?? before;
    if (bytes.length === 0) return [];
    return sieve === null ? [bytes] : sieve.push(bytes);
  };

  try {
    for await (const piece of pieces) {
      let rest: Buffer = waiting.length === 0 ? piece : Buffer.concat([waiting, piece]);
      waiting = Buffer.alloc(0);
      while (rest.length > 0) {
        if (run !== null) {
          const end = runEnd(rest);
          run.take(rest.subarray(0, end));
          if (end === rest.length) break;
          yield* await endRun(run);
          run = null;
          rest = rest.subarray(end);
        }
        const at = markIn(rest, before);
        if (at < 0) {
          const kept = Math.min(rest.length, maxMarkLength - 1);
          yield* text(rest.subarray(0, rest.length - kept));
          waiting = Buffer.from(rest.subarray(rest.length - kept));
          break;
        }
        yield* text(rest.subarray(0, at));
        rest = rest.subarray(at);
        run = new Base64Run(scrubbing);
      }
    }
    if (run !== null) yield* await endRun(run);
    run = null;
    yield* text(waiting);
    if (sieve !== null) yield* sieve.end();
  } finally {
    run?.drop();
  }

  async function endRun(ended: Base64Run): Promise<Iterable<Buffer> | AsyncIterable<Buffer>> {
    const short = ended.close();
    if (short !== null) return text(short);
    // A scrubbed archive must not be searched as text: its base64 may contain any few characters by chance.
    const flushed = sieve === null ? [] : sieve.end();
    sieve = makeSieve?.() ?? null;
    before = 0;
    scrubbing.changed();
    try {
      return concat(flushed, base64Of(await archive(ended.path)));
    } catch (error) {
      if (!(error instanceof Unscrubbable) || error.dropsAll) throw error;
      scrubbing.withhold(error.message);
      return [...flushed, Buffer.from(mask)];
    } finally {
      ended.drop();
    }
  }
}

function markIn(bytes: Buffer, before: number): number {
  const found = archiveMarks.map((mark) => oneMarkIn(bytes, mark, before)).filter((at) => at >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

function oneMarkIn(bytes: Buffer, mark: Buffer, before: number): number {
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
    const previous = (at === 0 ? before : bytes[at - 1]) ?? 0;
    // `;base64=` and similar texts end in a character of the alphabet.
    if (isBase64[previous] === 0 || previous === 0x3d) return at;
  }
  return -1;
}

function runEnd(bytes: Buffer): number {
  let end = 0;
  while (end < bytes.length && isBase64[bytes[end] ?? 0] === 1) end++;
  return end;
}

/** Decodes characters of base64 into a file. */
class Base64Run {
  readonly path: string;
  readonly #scrubbing: ArtifactScrubbing;
  #fd: number | null;
  #rest = '';
  #first = '';
  #length = 0;

  constructor(scrubbing: ArtifactScrubbing) {
    this.#scrubbing = scrubbing;
    this.path = scrubbing.newFile();
    this.#fd = openSync(this.path, 'wx', 0o600);
  }

  take(characters: Buffer): void {
    const text = this.#rest + characters.toString('latin1');
    if (this.#length < shortestRun) this.#first += characters.toString('latin1');
    this.#length += characters.length;
    const decodable = text.length - (text.length % 4);
    this.#rest = text.slice(decodable);
    this.#write(text.slice(0, decodable));
  }

  /** Ends the file; returns the characters instead if they are too few for an archive. */
  close(): Buffer | null {
    this.#write(this.#rest);
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
    if (this.#length >= shortestRun) return null;
    this.drop();
    return Buffer.from(this.#first, 'latin1');
  }

  drop(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
    rmSync(this.path, { force: true });
  }

  #write(characters: string): void {
    const bytes = Buffer.from(characters, 'base64');
    this.#scrubbing.chargeBytes(bytes.length);
    for (let at = 0; at < bytes.length && this.#fd !== null;) at += writeSync(this.#fd, bytes, at);
  }
}

async function* concat(first: readonly Buffer[], then: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* then;
}

/** Reads the file as base64 and removes it afterwards. */
async function* base64Of(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of filePieces(path)) {
    const bytes = Buffer.concat([rest, piece]);
    const decodable = bytes.length - (bytes.length % 3);
    yield Buffer.from(bytes.toString('base64', 0, decodable), 'latin1');
    rest = bytes.subarray(decodable);
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1');
  rmSync(path, { force: true });
}
