/** Encodings of a value's bytes: percent, base64 and UTF-16, as strings or bytes. The caller removes duplicates. */

const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const graphic = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).join('');
const without = (set: string, dropped: string): string =>
  Array.from(set)
    .filter((c) => !dropped.includes(c))
    .join('');
const path = without(graphic, '"#<>?^`{}');

/** A pattern of the triplets that an encoder leaves as characters, beyond those of RFC 3986 section 2.3. */
const keeping = (set: string): RegExp =>
  new RegExp(
    Array.from(without(set, `${alphanumeric}-_.~`))
      .map((char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
      .join('|'),
    'g',
  );

// Common encoders by the characters they keep: encodeURIComponent, forms, path segments, encodeURI, and the sets of the
// URL Standard.
const component = keeping(`!*'()`);
const star = keeping('*');
const slash = keeping('/');
const others = [
  keeping(`!*'();,/?:@&=+$#`),
  keeping(`!*'();,/?:@&=+$`),
  keeping(`!*'(),:@&=+$;`),
  keeping(path),
  keeping(`${path}^`),
  keeping(without(graphic, '"#<>')),
  keeping(without(graphic, `"#<>'`)),
  keeping(without(path, '/:;=@[\\]|')),
  keeping(without(path, `/:;=@[\\]|'`)),
];

const unescapeTriplet = (triplet: string): string =>
  String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
const lowerTriplets = (text: string): string =>
  text.replaceAll(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase());
const both = (text: string): string[] => [text, lowerTriplets(text)];
const twice = (text: string): string => text.replaceAll('%', '%25').replaceAll('+', '%2B');

/**
 * Percent-encodes as in RFC 3986: all characters except letters, digits and `-_.~`. Lone surrogates become U+FFFD, as
 * in UTF-8.
 */
export const percentStrict = (text: string): string =>
  encodeURIComponent(Buffer.from(text).toString()).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
export const percentComponent = (text: string): string =>
  percentStrict(text).replaceAll(component, unescapeTriplet);
export const percentForm = (text: string): string => formOf(percentStrict(text));
const formOf = (strict: string): string =>
  strict.replaceAll(star, unescapeTriplet).replaceAll('~', '%7E').replaceAll('%20', '+');

/** Percent-encodes by every common rule, in both cases of hex digits, with + for a space, and twice. */
export function percentWritings(text: string): string[] {
  const everything = Buffer.from(text)
    .toString('hex')
    .toUpperCase()
    .replaceAll(/../g, (digits) => `%${digits}`);
  const nothingKept = [...both(everything), ...both(twice(everything))];
  const strict = percentStrict(text);
  if (!/[%~]/.test(strict)) return nothingKept;
  const loose = strict.replaceAll(component, unescapeTriplet);
  const narrow = strict.replaceAll('~', '%7E');
  const form = formOf(strict);
  const once = [strict, loose, form, narrow, narrow.replaceAll('%20', '+')];
  once.push(
    strict.replaceAll('%20', '+'),
    loose.replaceAll('%20', '+'),
    strict.replaceAll(slash, unescapeTriplet),
  );
  const more = others.map((kept) => strict.replaceAll(kept, unescapeTriplet));
  return [
    ...nothingKept,
    ...[...once, ...once.map(twice), ...more, ...more.map((t) => t.replaceAll(' ', '+'))].flatMap(both),
  ];
}

/**
 * The characters of base64 that depend only on `bytes`, for each of the three offsets at which they can begin in a
 * longer text, in cores of six characters and more; the first also complete, without and with its padding.
 */
export function base64Cores(bytes: Buffer): string[] {
  const whole = bytes.toString('base64');
  const cores = [whole.replace(/=+$/, ''), whole];
  for (const offset of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const first = Math.ceil((offset * 8) / 6);
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    if (end - first >= 6) cores.push(encoded.slice(first, end));
  }
  return cores;
}

/** Base64 in both alphabets, and as it appears in URLs and in JSON. */
export function base64Writings(bytes: Buffer): string[] {
  return base64Cores(bytes).flatMap((core) => {
    if (!/[+/=]/.test(core)) return [core];
    const inUrl = core.replaceAll('+', '%2B').replaceAll('/', '%2F').replaceAll('=', '%3D');
    const urlSafe = core.replaceAll('+', '-').replaceAll('/', '_');
    return [core, urlSafe, core.replaceAll('/', '\\/'), ...both(inUrl), urlSafe.replaceAll('=', '%3D')];
  });
}

/** Little endian, then big endian, without a byte order mark. */
export function utf16(text: string): [little: Buffer, big: Buffer] {
  const little = Buffer.from(text, 'utf16le');
  return [little, Buffer.from(little).swap16()];
}
