import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { NamedSecret } from '../../src/secrets/scrubber/scrubber.ts';

/**
 * Writes a zip like a Playwright trace: a third of its bytes are snapshots, a tenth requests, the rest resources (mostly scripts
 * and pages). One line of `every` and one resource of 20 contain a secret.
 */
export async function writeSampleTrace(
  path: string,
  {
    unpackedBytes,
    every,
    secrets,
  }: { unpackedBytes: number; every: number; secrets: readonly NamedSecret[] },
  random: () => number,
): Promise<void> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T; // never empty
  const hex = (length: number): string =>
    Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('');
  const words = Array.from({ length: 4000 }, () => hex(2 + Math.floor(random() * 10)));
  const prose = (length: number): string => {
    let text = '';
    while (text.length < length) text += `${pick(words)} `;
    return text;
  };
  const pages = Array.from({ length: 40 }, () => prose(60_000));
  const page = `page@${hex(32)}`;
  let line = 0;
  const secret = (): string => (line++ % every === 0 ? pick(secrets).value : 'none');
  const part = (length: number): string => {
    const from = pick(pages);
    const at = Math.floor(random() * (from.length - length));
    return from.slice(at, at + length);
  };
  const snapshot = (): string =>
    JSON.stringify({
      type: 'frame-snapshot',
      snapshot: {
        callId: `call@${line}`,
        pageId: page,
        frameUrl: `https://shop.example/?token=${encodeURIComponent(secret())}`,
        html: [
          'HTML',
          {},
          ['BODY', {}, ...Array.from({ length: 30 }, () => ['P', { class: part(12) }, part(300)])],
        ],
        timestamp: random() * 1e6,
      },
    });
  const request = (): string =>
    JSON.stringify({
      type: 'resource-snapshot',
      snapshot: {
        pageref: page,
        time: random() * 100,
        request: {
          method: 'GET',
          url: `https://shop.example/${hex(20)}?token=${secret()}`,
          cookies: [{ name: 'sid', value: hex(20) }],
          headers: Array.from({ length: 14 }, () => ({ name: part(10), value: part(30) })).concat({
            name: 'cookie',
            value: `sid=${hex(20)}`,
          }),
        },
        response: { content: { size: 1000, _sha1: `${hex(40)}.js` } },
      },
    });
  const lines = (make: () => string, bytes: number): Readable =>
    Readable.from(
      (function* () {
        for (let left = bytes; left > 0;) {
          const text = `${make()}\n`;
          left -= text.length;
          yield Buffer.from(text);
        }
      })(),
    );
  const zip = new ZipFile();
  const written = pipeline(zip.outputStream, createWriteStream(path));
  zip.addReadStream(lines(snapshot, unpackedBytes / 3), '0-trace.trace');
  zip.addReadStream(lines(request, unpackedBytes / 10), '0-trace.network');
  for (let left = unpackedBytes * (1 - 1 / 3 - 1 / 10), i = 0; left > 0; i++) {
    const body = Buffer.from(part(50_000) + (i % 20 === 0 ? pick(secrets).value : ''));
    left -= body.length;
    zip.addBuffer(body, `resources/${hex(40)}.js`);
  }
  zip.end();
  await written;
}
