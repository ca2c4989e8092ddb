/**
 * Looks for a secret in scrubbed bytes the way a reader who wants it would: by decoding everything that can be decoded,
 * layer upon layer. Shares no code with the scrubber.
 */

type Decode = (text: string) => string[];

// All texts are byte strings: one UTF-16 unit for each byte.
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
const char = (code: number): string => (code <= 0x10ffff ? bytesOf(String.fromCodePoint(code)) : '');

const percent: Decode = (text) => {
  const decode = (source: string): string =>
    source.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  return [decode(text), decode(text.replaceAll('+', ' '))];
};

const simpleEscapes: { readonly [letter: string]: string } = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
const backslashes: Decode = (text) => [
  text.replaceAll(
    /(?:\\u[0-9A-Fa-f]{4})+|\\x([0-9A-Fa-f]{2})|\\([^ux])/g,
    (escape: string, hex: string | undefined, letter: string | undefined) => {
      if (letter !== undefined) return simpleEscapes[letter] ?? letter;
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      return bytesOf(
        String.fromCharCode(
          ...(escape.match(/[0-9A-Fa-f]{4}/g) ?? []).map((digits) => Number.parseInt(digits, 16)),
        ),
      );
    },
  ),
];

const names: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  eacute: char(0xe9),
  uuml: char(0xfc),
};
const entities: Decode = (text) => [
  text.replaceAll(
    /&(?:#(\d+)|#[xX]([0-9A-Fa-f]+)|([a-z]+));/g,
    (all, dec?: string, hex?: string, name?: string) => {
      if (dec !== undefined) return char(Number(dec));
      if (hex !== undefined) return char(Number.parseInt(hex, 16));
      return names[name ?? ''] ?? all;
    },
  ),
];

const runs = (text: string, pattern: RegExp, decode: (run: string) => string): string =>
  (text.match(pattern) ?? []).map(decode).join('\n');

const base64: Decode = (text) =>
  [0, 1, 2, 3].map((skip) =>
    runs(text.replaceAll('\\/', '/'), /[A-Za-z0-9+/_-]{6,}/g, (run) =>
      Buffer.from(run.slice(skip), 'base64').toString('latin1'),
    ),
  );
const hex: Decode = (text) =>
  [0, 1].map((skip) =>
    runs(text, /[0-9A-Fa-f]{10,}/g, (run) => Buffer.from(run.slice(skip), 'hex').toString('latin1')),
  );
const utf16: Decode = (text) =>
  [0, 1].flatMap((skip) => {
    const little = Buffer.from(text.slice(skip), 'latin1');
    const even = little.subarray(0, little.length & ~1);
    return [even.toString('utf16le'), Buffer.from(even).swap16().toString('utf16le')].map(bytesOf);
  });

const decoders: readonly Decode[] = [percent, backslashes, entities, base64, hex, utf16];

/** The number of encoding layers around the secret in `output`; null if it cannot be decoded. */
export function leakDepth(output: Buffer, secret: string, deepest = 2): number | null {
  let found: number | null = null;
  eachLayer(output, deepest, (layer, depth) => {
    if (contains(layer, bytesOf(secret))) found = depth;
    return found === null;
  });
  return found;
}

/** Those of the secrets that can be read out of `output`. */
export function readableIn(output: Buffer, secrets: readonly string[], deepest = 2): string[] {
  const found = new Set<string>();
  eachLayer(output, deepest, (layer) => {
    for (const secret of secrets)
      if (!found.has(secret) && contains(layer, bytesOf(secret))) found.add(secret);
    return found.size < secrets.length;
  });
  return [...found];
}

function contains(layer: ReadonlySet<string>, sought: string): boolean {
  for (const text of layer) if (text.includes(sought)) return true;
  return false;
}

/** `look` says whether to go on, to what a further decoding brings. */
function eachLayer(
  output: Buffer,
  deepest: number,
  look: (layer: ReadonlySet<string>, depth: number) => boolean,
): void {
  let layer = new Set([output.toString('latin1')]);
  for (let depth = 0; look(layer, depth) && depth < deepest; depth++) {
    layer = new Set(
      [...layer].flatMap((text) => decoders.flatMap((decode) => decode(text))).filter((t) => t !== ''),
    );
  }
}
