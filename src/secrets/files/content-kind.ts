/** The kind of a file, which decides how it is scrubbed. */
export type Kind = 'zip' | 'gzip' | 'trace' | 'json' | 'text' | { packedAs: string };

const packedForms: readonly (readonly [name: string, head: string])[] = [
  ['7z', '377abcaf271c'],
  ['xz', 'fd377a585a00'],
  ['zstd', '28b52ffd'],
  ['rar', '526172211a07'],
  ['lz4', '04224d18'],
  ['lzip', '4c5a4950'],
  ['compress', '1f9d'],
  ['cab', '4d534346'],
  ['lzop', '894c5a4f'],
];

/** Packed forms by the name's ending: Brotli and LZMA have no first bytes of their own. */
const packedEndings: { readonly [ending: string]: string } = {
  br: 'Brotli',
  tbr: 'Brotli',
  lzma: 'lzma',
  zst: 'zstd',
  tzst: 'zstd',
  xz: 'xz',
  txz: 'xz',
  '7z': '7z',
  rar: 'rar',
  bz2: 'bzip2',
  tbz2: 'bzip2',
  lz4: 'lz4',
  lz: 'lzip',
};

const packedTypes: readonly (readonly [type: RegExp, ending: string])[] = [
  [/\bx?-?(?:brotli|br)\b/, 'br'],
  [/\bx?-?zstd\b/, 'zst'],
  [/\bx-xz\b|\bxz\b/, 'xz'],
  [/\bx-7z-compressed\b/, '7z'],
  [/\bvnd\.rar\b|\bx-rar/, 'rar'],
  [/\bx-bzip2?\b/, 'bz2'],
  [/\bx-lz4\b/, 'lz4'],
  [/\bx-lzma\b/, 'lzma'],
  [/\bx-lzip\b/, 'lz'],
];

/** The ending of a packed form that a content type names, or null. */
export function packedEndingOf(contentType: string): string | null {
  return packedTypes.find(([type]) => type.test(contentType.toLowerCase()))?.[1] ?? null;
}

/** Whether bytes are already compressed, so that compressing them again is useless. */
export function isPacked(bytes: Buffer): boolean {
  return isZip(bytes) || isGzip(bytes);
}

const isZip = (head: Buffer): boolean =>
  head.length >= 4 && head[0] === 0x50 && head[1] === 0x4b && (head[2] === 3 || head[2] === 5);
const isGzip = (head: Buffer): boolean =>
  head.length >= 3 && head[0] === 0x1f && head[1] === 0x8b && head[2] === 8;

// Bodies and attachments keep their own form, whatever their name is.
const foreign = /(?:^|\/)(?:resources|attachments|src)\//;

/** Determines the kind of a file from its name and its first 16 bytes (`head`). */
export function kindOf({ name, head }: { name: string; head: Buffer }): Kind {
  if (isZip(head)) return 'zip';
  if (isGzip(head)) return 'gzip';
  if (/^BZh[1-9]1AY&SY/.test(head.toString('latin1'))) return { packedAs: 'bzip2' };
  const hex = head.toString('hex');
  const packed = packedForms.find(([, start]) => hex.startsWith(start));
  if (packed !== undefined) return { packedAs: packed[0] };
  const ending = /\.([a-z0-9]{2,4})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  if (head.length > 0 && Object.hasOwn(packedEndings, ending)) {
    return { packedAs: packedEndings[ending] ?? ending };
  }
  if (head.length > 0 && /\.zip$/i.test(name)) return 'zip';
  if (foreign.test(name)) return 'text';
  const first = head.toString('latin1').trimStart()[0];
  if (first === '{' && /\.(?:trace|network|stacks|jsonl)$/.test(name)) return 'trace';
  if ((first === '{' || first === '[') && /\.(?:json|har)$/i.test(name)) return 'json';
  return 'text';
}
