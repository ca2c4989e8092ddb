import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { scrubArtifact } from '../../../src/secrets/files/scrub-artifact.ts';
import { makeZip } from './make-zip.ts';
import { leaksIn, openEverything } from '../open-everything.ts';

/** Random secrets, encodings, places and wrappings, across the borders of chunks and entries; seeded. */

const folder = mkdtempSync(join(tmpdir(), 'scrub-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const encodings: readonly ((value: string) => Buffer | string)[] = [
  (value) => value,
  (value) => encodeURIComponent(value),
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(JSON.stringify({ value })),
  (value) => Buffer.from(value).toString('base64'),
  (value) => Buffer.from(`x${value}yz`).toString('base64'),
  (value) => Buffer.from(value).toString('hex'),
  (value) => Buffer.from(value, 'utf16le'),
  (value) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
];

test('no secret survives in any wrapping', { timeout: 60_000 }, async () => {
  const random = seeded(20_261_121);
  const int = (below: number): number => Math.floor(random() * below);
  const pick = <T>(list: readonly T[]): T => list[int(list.length)] as T; // never empty
  const alphabet = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789/+"&<é €%';
  const newSecret = (): string =>
    Array.from({ length: 8 + int(30) }, () => pick(Array.from(alphabet)))
      .join('')
      .replaceAll(/^ | $/g, '_');
  const borders = [0, 10, 3000, 262_144 - 5];
  let planted = 0;

  for (let round = 0; round < 8; round++) {
    const secrets = Array.from({ length: 1 + int(4) }, newSecret);
    const filled = (): Buffer => {
      planted++;
      const text = Buffer.from(pick(encodings)(pick(secrets)));
      return Buffer.concat([Buffer.alloc(pick(borders), 'lorem ipsum\n'), text, Buffer.alloc(int(100), '.')]);
    };
    const event = (): string => `${JSON.stringify({ type: 'x', n: random(), text: filled().toString() })}\n`;
    const wrap = async (content: Buffer): Promise<readonly [string, Buffer]> => {
      const name = `e${int(1e9)}`;
      switch (int(5)) {
        case 0:
          return [`${name}.zip`, await makeZip([['inner.txt', content]], { stored: random() < 0.5 })];
        case 1:
          return [`${name}.gz`, gzipSync(content)];
        case 2: {
          const zip = await makeZip([['in.txt', content]], { stored: random() < 0.5 });
          return [
            `${name}.html`,
            Buffer.from(`<p>data:application/zip;base64,${zip.toString('base64')}</p>`),
          ];
        }
        case 3:
          return [`${name}.trace`, Buffer.from(event() + event())];
        default:
          return [`${name}.txt`, content];
      }
    };
    const entries: (readonly [string, Buffer])[] = [];
    for (let i = 1 + int(3); i > 0; i--) entries.push(await wrap(filled()));
    const zip = await makeZip(entries, { stream: random() < 0.5 });
    const source = join(folder, 'in.zip');
    const target = join(folder, 'out.zip');
    writeFileSync(source, zip);
    // The control: what goes in is found.
    expect(leaksIn('in', zip, secrets), `round ${round}`).not.toEqual([]);
    await scrubArtifact(source, target, {
      name: 'in.zip',
      type: 'trace',
      contentType: '',
      secrets: secrets.map((value, i) => ({ name: `S${i}`, value })),
    });
    const out = readFileSync(target);
    expect(leaksIn('out', out, secrets), `round ${round}: ${JSON.stringify(secrets)}`).toEqual([]);
    for (const { name, bytes } of openEverything('out', out)) {
      if (!name.endsWith('.trace')) continue;
      for (const line of bytes.toString().trimEnd().split('\n')) JSON.parse(line);
    }
  }
  expect(planted).toBeGreaterThan(12);
});
