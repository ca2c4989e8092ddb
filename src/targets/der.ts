/** A writer for the few forms of DER (ITU-T X.690) that a certificate is made of. */

/** One element: tag, length, content. */
export function element(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = hexBytes(body.length.toString(16));
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

export const sequence = (...content: Uint8Array[]): Buffer => element(0x30, ...content);
export const set = (...content: Uint8Array[]): Buffer => element(0x31, ...content);
export const octetString = (content: Uint8Array): Buffer => element(0x04, content);
export const utf8String = (text: string): Buffer => element(0x0c, Buffer.from(text, 'utf8'));
export const boolean = (value: boolean): Buffer => element(0x01, Buffer.from([value ? 0xff : 0]));

/** A bit string whose last byte has `unused` bits that don't count. */
export const bitString = (content: Uint8Array, unused = 0): Buffer =>
  element(0x03, Buffer.from([unused]), content);

/** A non-negative integer from big-endian bytes: without leading zeros, but never with the sign bit set. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const trimmed = bytes.subarray(start);
  return element(0x02, (trimmed[0] ?? 0) & 0x80 ? Buffer.from([0]) : Buffer.alloc(0), trimmed);
}

/** An object identifier from its dotted form. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Buffer.from(bytes));
}

/** A moment as UTCTime until 2049 and GeneralizedTime from 2050 on (RFC 5280 section 4.1.2.5). */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`;
  const year = date.getUTCFullYear();
  return year >= 1950 && year < 2050
    ? element(0x17, Buffer.from(digits.slice(2), 'ascii'))
    : element(0x18, Buffer.from(digits, 'ascii'));
}

function hexBytes(hex: string): Buffer {
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}
