import { createScrubber, type Scrubber } from '../../../src/secrets/scrubber/scrubber.ts';

/** The scrubber for texts, bytes in pieces, and trees: no crash, no difference between its doors, and no leak. */

export const name = 'scrub-text';

const secret = `Walnut<"tree"> & 'bloom' 4711`;
let scrubber: Scrubber | null = null;

/** Throws if the scrubber fails or lets a planted secret through. */
export function run(data: Buffer): void {
  scrubber ??= createScrubber([
    { name: 'A', value: secret },
    {
      name: 'B',
      value: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nAgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4/M2',
    },
    { name: 'PIN', value: '4711' },
  ]);
  const at = data.length === 0 ? 0 : (data[0] ?? 0) % (data.length + 1);
  const planted = Buffer.concat([data.subarray(0, at), Buffer.from(secret), data.subarray(at)]);
  const sieve = scrubber.sieve();
  const pieces: Buffer[] = [];
  const size = 1 + ((data[1] ?? 7) % 97);
  for (let from = 0; from < planted.length; from += size) {
    pieces.push(...sieve.push(planted.subarray(from, from + size)).map((piece) => Buffer.from(piece)));
  }
  pieces.push(...sieve.end());
  const outputs = [
    scrubber.bytes(planted),
    Buffer.concat(pieces),
    Buffer.from(scrubber.text(planted.toString())),
  ];
  for (const output of outputs) {
    if (output.includes(secret)) throw new Error('the secret is in the output');
    if (output.length > planted.length + 9 * (planted.length + 1)) throw new Error('the output is too long');
  }
  const tree = scrubber.json({
    [planted.toString('latin1')]: [planted.toString(), [...planted.subarray(0, 400)]],
  });
  if (JSON.stringify(tree).includes(JSON.stringify(secret).slice(1, -1)))
    throw new Error('the tree has the secret');
}
