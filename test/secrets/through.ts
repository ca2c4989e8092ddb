import type { Scrubber } from '../../src/secrets/scrubber/scrubber.ts';

/** Sends `text` through the scrubber's stream in the given pieces (sizes, the last one repeated), and returns what came out. */
export async function throughStream(
  scrubber: Scrubber,
  text: Buffer,
  sizes: readonly number[],
): Promise<Buffer> {
  const stream = scrubber.stream();
  const out: Buffer[] = [];
  const done = new Promise<void>((resolve, reject) => {
    stream.on('data', (piece: Buffer) => out.push(Buffer.from(piece)));
    stream.on('end', resolve);
    stream.on('error', reject);
  });
  let at = 0;
  for (let i = 0; at < text.length; i++) {
    const size = sizes[Math.min(i, sizes.length - 1)] ?? 1;
    stream.write(text.subarray(at, at + size));
    at += size;
  }
  stream.end();
  await done;
  return Buffer.concat(out);
}

/** The same text by every door that takes one: they must agree. */
export async function byAllDoors(scrubber: Scrubber, text: string): Promise<string[]> {
  const bytes = Buffer.from(text);
  return [
    scrubber.text(text),
    scrubber.bytes(bytes).toString(),
    (await throughStream(scrubber, bytes, [bytes.length || 1])).toString(),
    (await throughStream(scrubber, bytes, [1])).toString(),
    (await throughStream(scrubber, bytes, [Math.max(1, bytes.length >> 1), 3])).toString(),
  ];
}

/** Seeded, so that a failure can be repeated (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
