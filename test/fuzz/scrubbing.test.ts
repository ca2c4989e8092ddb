import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import * as artifact from './targets/scrub-artifact.ts';
import * as text from './targets/scrub-text.ts';
import { makeZip } from '../secrets/files/make-zip.ts';
import { seededRandom } from '../secrets/through.ts';

/** A short, seeded run of each target; FUZZ_ROUNDS makes it longer. */
// eslint-disable-next-line node/no-process-env -- an option of this test alone
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 150);
const secret = 'walnut-tree-in-bloom-4711';

const mutated = (bytes: Buffer, random: () => number): Buffer => {
  const copy = Buffer.from(bytes);
  for (let n = Math.floor(random() * 6); n > 0 && copy.length > 0; n--) {
    copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256);
  }
  return random() < 0.2 ? copy.subarray(0, Math.floor(random() * copy.length)) : copy;
};

test('texts', () => {
  const random = seededRandom(1);
  const words = [
    '4711',
    '\\n',
    '\n',
    'MIIEvQIBADANBgkqhkiG9w0BAQEF',
    '…',
    '" "',
    '87, 97, ',
    '\x1b[32m',
    'set-cookie: ',
    'é',
    '\0',
    '<"',
    "' +\n  '",
    'A'.repeat(64),
  ];
  for (let round = 0; round < rounds * 5; round++) {
    const parts = Array.from(
      { length: Math.floor(random() * 30) },
      () => words[Math.floor(random() * words.length)],
    );
    text.run(mutated(Buffer.from(parts.join('')), random));
  }
  expect(text.name).toBe('scrub-text');
});

test('artifacts', async () => {
  const random = seededRandom(2);
  const zip = await makeZip([
    ['a.txt', `x ${secret} y`],
    ['b.trace', `{"type":"log","text":"${secret}"}\n`],
  ]);
  const bases = [
    zip,
    gzipSync(`x ${secret}`),
    Buffer.from(`{"type":"event","headers":[{"name":"cookie","value":"${secret}"}]}\n`),
  ];
  bases.push(Buffer.from(`<script>data:application/zip;base64,${zip.toString('base64')}</script>`));
  for (let round = 0; round < rounds; round++) {
    const base = bases[round % bases.length] ?? zip;
    await artifact.run(Buffer.concat([Buffer.from([Math.floor(random() * 256)]), mutated(base, random)]));
  }
  expect(artifact.name).toBe('scrub-artifact');
}, 120_000);
