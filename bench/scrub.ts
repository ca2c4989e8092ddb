import { createReadStream, mkdtempSync, openSync, readSync, closeSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { spawnSync } from 'node:child_process';
import { encodedForms } from '../src/secrets/forms/forms.ts';
import { scrubFile } from '../src/secrets/files/scrub-file.ts';
import { createScrubber, scrubChunkBytes } from '../src/secrets/scrubber/scrubber.ts';
import { sampleSecrets, seededRandom, writeSample } from './scrub/sample-text.ts';

/**
 * Scrubs a stream of 150 MB of 100 secrets in all their forms. Compared with one regular expression of the same forms. Each variant
 * reads the text from a file and runs in a separate process, so that its peak memory can be measured.
 */

const megabyte = 1_000_000;
const textBytes = 150 * megabyte;
// The regular expression is too slow for the whole text.
const regexpBytes = 15 * megabyte;
const rounds = 4;
const secrets = sampleSecrets(100, seededRandom(7));

type Measured = { megabytesPerSecond: number; peakMegabytes: number; baseMegabytes: number; masked: number };

const peak = (): number => (process.resourceUsage().maxRSS * 1024) / megabyte;

async function fastest(bytes: number, round: () => Promise<number> | number): Promise<Measured> {
  const baseMegabytes = peak();
  let seconds = Infinity;
  let masked = 0;
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    masked = await round();
    seconds = Math.min(seconds, (performance.now() - start) / 1000);
  }
  return { megabytesPerSecond: bytes / megabyte / seconds, peakMegabytes: peak(), baseMegabytes, masked };
}

const discard = (): Writable =>
  new Writable({ highWaterMark: 1 << 20, write: (_chunk, _encoding, done) => done() });

async function streamIn(chunkBytes: number, file: string): Promise<Measured> {
  const scrubber = createScrubber(secrets);
  return await fastest(textBytes, async () => {
    const before = scrubber.maskedCount;
    await pipeline(createReadStream(file, { highWaterMark: chunkBytes }), scrubber.stream(), discard());
    return scrubber.maskedCount - before;
  });
}

const ways: { readonly [name: string]: (file: string) => Promise<Measured> } = {
  stream: (file) => streamIn(scrubChunkBytes, file),
  largeChunks: (file) => streamIn(1024 * 1024, file),
  smallChunks: (file) => streamIn(64 * 1024, file),
  // Including thread, tables and the written file.
  file: (file) => fastest(textBytes, async () => (await scrubFile(file, `${file}.out`, secrets)).maskedCount),
  regexp(file) {
    const sources = secrets
      .flatMap(({ value }) => encodedForms(value))
      .map((form) => form.toString('latin1'))
      .sort((a, b) => b.length - a.length)
      .map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
    const pattern = new RegExp([...new Set(sources)].join('|'), 'g');
    const input = openSync(file, 'r');
    const bytes = Buffer.alloc(regexpBytes);
    readSync(input, bytes, 0, regexpBytes, 0);
    closeSync(input);
    return fastest(regexpBytes, () => {
      let masked = 0;
      for (let at = 0; at < regexpBytes; at += 1 << 20) {
        const text = bytes.toString('latin1', at, Math.min(regexpBytes, at + (1 << 20)));
        const clean = text.replace(pattern, () => {
          masked++;
          return '*********';
        });
        Buffer.from(clean, 'latin1');
      }
      return masked;
    });
  },
};

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'scrub-'));
  try {
    const file = join(folder, 'sample.txt');
    const planted = writeSample(file, { bytes: textBytes, every: 16_384, secrets }, seededRandom(11));
    const forms = secrets.reduce((sum, { value }) => sum + encodedForms(value).length, 0);
    console.log(
      `${textBytes / megabyte} MB, ${secrets.length} secrets in ${forms} forms, ${planted} planted`,
    );
    const results = Object.keys(ways).map((name) => {
      const child = spawnSync(process.execPath, [process.argv[1] ?? '', name, file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return { name, ...(JSON.parse(child.stdout) as Measured) }; // this program's own output
    });
    const row = (cells: readonly (string | number)[]): void =>
      console.log(
        cells.map((cell, i) => (i === 0 ? String(cell).padEnd(36) : String(cell).padStart(13))).join(''),
      );
    const titles: { readonly [name: string]: string } = {
      stream: `stream, chunks of ${scrubChunkBytes / 1024} KiB`,
      largeChunks: 'stream, chunks of 1 MiB',
      smallChunks: 'stream, chunks of 64 KiB',
      file: 'scrubFile, thread and writing too',
      regexp: `RegExp alternation (${regexpBytes / megabyte} MB of it)`,
    };
    row(['', 'MB/s', 'peak RSS MB', 'before MB', 'masks']);
    for (const { name, megabytesPerSecond, peakMegabytes, baseMegabytes, masked } of results) {
      row([
        titles[name] ?? name,
        Math.round(megabytesPerSecond),
        Math.round(peakMegabytes),
        Math.round(baseMegabytes),
        masked,
      ]);
    }
    const speed = (name: string): number =>
      results.find((result) => result.name === name)?.megabytesPerSecond ?? 0;
    const ours = Math.round(speed('stream'));
    const peer = Math.round(speed('regexp') * 10) / 10;
    const ratio = Math.round((ours / peer) * 10) / 10;
    const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`;
    console.log(JSON.stringify({ name: 'scrub', unit: 'MB/s', ours, peer, limit: 500, ratio, machine }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const way = ways[process.argv[2] ?? ''];
if (way === undefined) await main();
else console.log(JSON.stringify(await way(process.argv[3] ?? '')));
