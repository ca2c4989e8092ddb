/** Reading and writing of DER (ITU-T X.690), as far as certificates, OCSP and revocation lists need it. */

/** One element. `content` is its value, `whole` includes tag and length. Both are views, not copies. */
export type Element = { tag: number; content: Buffer; whole: Buffer };

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

/** Bytes that are not DER, or not what was expected there. */
export class DerError extends Error {
  override readonly name = 'DerError';
}

/** Where an element is: its content is from `start` to `end`. */
export type Bounds = { tag: number; start: number; end: number };

/**
 * The bounds of the element at `at`, without views of the bytes: lists may have millions of elements. Throws DerError if
 * it is cut off or has no definite length.
 */
export function boundsOf(bytes: Buffer, at: number): Bounds {
  const tag = bytes[at];
  const first = bytes[at + 1];
  if (tag === undefined || first === undefined) throw new DerError('cut off');
  if ((tag & 0x1f) === 0x1f) throw new DerError('a tag of several bytes');
  let length = first;
  let start = at + 2;
  if (first >= 0x80) {
    const size = first & 0x7f;
    if (size === 0 || size > 4) throw new DerError('a length that DER does not allow');
    length = 0;
    for (let index = 0; index < size; index++) {
      const byte = bytes[start + index];
      if (byte === undefined) throw new DerError('cut off');
      length = length * 256 + byte;
    }
    start += size;
  }
  if (start + length > bytes.length) throw new DerError('cut off');
  return { tag, start, end: start + length };
}

/** The element at `at`. Throws DerError. */
export function readElement(bytes: Buffer, at = 0): Element {
  const { tag, start, end } = boundsOf(bytes, at);
  return { tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) };
}

/** The elements inside of `content`, one at a time, so that a caller may stop early. */
export function* eachIn(content: Buffer): Generator<Element> {
  for (let at = 0; at < content.length;) {
    const element = readElement(content, at);
    yield element;
    at += element.whole.length;
  }
}

/** The parts of a certificate or an answer; a longer list is none that a reader would want at once. */
const maxChildren = 4096;

/** All elements inside of an element that must have the tag. Throws DerError, also if there are too many. */
export function childrenOf(element: Element | undefined, tag: number = tags.sequence): Element[] {
  if (element?.tag !== tag) throw new DerError(`expected tag ${tag}, found ${element?.tag ?? 'nothing'}`);
  const children: Element[] = [];
  for (const child of eachIn(element.content)) {
    if (children.length === maxChildren) throw new DerError(`more than ${maxChildren} elements`);
    children.push(child);
  }
  return children;
}

/** An object identifier as text, such as `1.2.840.113549.1.1.11`. */
export function oidOf(element: Element | undefined): string {
  if (element?.tag !== tags.oid) throw new DerError('expected an object identifier');
  const parts: number[] = [];
  let value = 0;
  for (const byte of element.content) {
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) throw new DerError('an object identifier that is too large');
    if (byte >= 0x80) continue;
    if (parts.length === 0) {
      const head = Math.min(2, Math.floor(value / 40));
      parts.push(head, value - head * 40);
    } else parts.push(value);
    value = 0;
  }
  return parts.join('.');
}

/** UTCTime or GeneralizedTime in UTC (RFC 5280, section 4.1.2.5), milliseconds since the epoch. */
export function timeOf(element: Element | undefined): number {
  const text = element?.content.toString('latin1') ?? '';
  const short = element?.tag === tags.utcTime;
  const match = (short ? /^(\d\d)(\d{10})Z$/ : /^(\d{4})(\d{10})(?:\.\d+)?Z$/).exec(text);
  if (match === null) throw new DerError('expected a time');
  const [, yearText = '', rest = ''] = match;
  const year = short ? Number(yearText) + (Number(yearText) < 50 ? 2000 : 1900) : Number(yearText);
  const [month = '', day = '', hour = '', minute = '', second = ''] = rest.match(/\d\d/g) ?? [];
  return Date.UTC(year, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}

/** Bits of a BIT STRING that has only complete bytes. */
export function bitsOf(element: Element | undefined): Buffer {
  if (element?.tag !== tags.bitString || element.content[0] !== 0)
    throw new DerError('expected a bit string');
  return element.content.subarray(1);
}

/** Writes one element. */
export function encode(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) size.unshift(rest & 0xff);
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length, ...size]), content]);
}

/** Writes an object identifier. */
export function encodeOid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes: number[] = [];
  for (const part of [first * 40 + second, ...rest]) {
    const groups = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left % 128) | 0x80);
    bytes.push(...groups);
  }
  return encode(tags.oid, Buffer.from(bytes));
}
