import { createHash } from 'node:crypto';
import { gunzipSync, inflateRawSync } from 'node:zlib';
import { readableIn } from './leak-oracle.ts';

/**
 * Everything that a reader who wants it finds in a file: archives unpacked, base64 of archives decoded, names of entries.
 * Reads zips by their local headers as well as by nothing at all: the raw bytes are looked at too. No code of the scrubber.
 */
export function openEverything(name: string, bytes: Buffer, depth = 0): { name: string; bytes: Buffer }[] {
  const all = [
    { name, bytes },
    { name: `${name} (its name)`, bytes: Buffer.from(name) },
  ];
  if (depth > 6) return all;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    all.push(...openEverything(`${name}/gunzipped`, gunzipSync(bytes), depth + 1));
  }
  for (const place of zipEntries(name, bytes, depth)) all.push(place);
  for (const match of bytes.toString('latin1').matchAll(/(?:UEsDB|H4sI)[A-Za-z0-9+/]{20,}={0,2}/g)) {
    try {
      all.push(
        ...openEverything(`${name}/base64@${match.index}`, Buffer.from(match[0], 'base64'), depth + 1),
      );
    } catch {
      // Looked like an archive.
    }
  }
  return all;
}

/** Entries of a zip by its directory, found from the end. */
function zipEntries(name: string, bytes: Buffer, depth: number): { name: string; bytes: Buffer }[] {
  if (bytes.length < 22 || bytes.readUInt32BE(0) !== 0x504b0304) return [];
  const found: { name: string; bytes: Buffer }[] = [];
  let at = bytes.readUInt32LE(bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6])) + 16);
  while (bytes.readUInt32BE(at) === 0x504b0102) {
    const method = bytes.readUInt16LE(at + 10);
    const packed = bytes.readUInt32LE(at + 20);
    const nameLength = bytes.readUInt16LE(at + 28);
    const local = bytes.readUInt32LE(at + 42);
    const entry = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(start, start + packed);
    const content = method === 0 ? data : inflateRawSync(data);
    found.push(...openEverything(`${name}/${entry}`, content, depth + 1));
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return found;
}

/**
 * Where in a file, opened as far as it can be, a secret can be read: names of the places. What is in `looked` (digests) has been
 * looked at before, and what is looked at now is added to it.
 */
export function leaksIn(
  name: string,
  bytes: Buffer,
  secrets: readonly string[],
  looked = new Set<string>(),
): string[] {
  return openEverything(name, bytes).flatMap((place) => {
    const digest = createHash('sha1').update(place.bytes).digest('hex');
    if (looked.has(digest)) return [];
    looked.add(digest);
    return readableIn(place.bytes, secrets, deepestFor(place.bytes.length)).map(
      (secret) => `${secret} in ${place.name}`,
    );
  });
}

// Each layer multiplies the amount to read.
const deepestFor = (length: number): number => (length < 20_000 ? 2 : length < 1_000_000 ? 1 : 0);
