import { isUtf8 } from 'node:buffer';
import type { DnsReader } from './reader.ts';
import { DnsMalformed } from './message.ts';
import { typeName } from './types.ts';

/** Parts of the presentation form that several record types share. */

export function ipv4Text(bytes: Buffer): string {
  return bytes.join('.');
}

/** RFC 5952. */
export function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2));
  // The URL parser finds the run of zeros to shorten, but writes mapped IPv4 addresses in hexadecimal.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return `::ffff:${ipv4Text(bytes.subarray(12))}`;
  }
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`).hostname.slice(1, -1);
}

/** Text of a string's bytes: unchanged if it is UTF-8 without control characters, else with `\DDD` escapes. */
export function domainText(bytes: Buffer): string {
  // eslint-disable-next-line no-control-regex -- matches control characters on purpose
  if (isUtf8(bytes) && !/[\x00-\x1f\x7f]/.test(bytes.toString())) return bytes.toString();
  return escapedBytes(bytes, '');
}

/** A character-string between quotes (RFC 1035 section 5.1). */
export function quoted(bytes: Buffer): string {
  return `"${escapedBytes(bytes, '"\\')}"`;
}

/** Printable ASCII unchanged, `special` characters after a backslash, other bytes as `\DDD`. */
export function escapedBytes(bytes: Buffer, special: string): string {
  let text = '';
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x7f) text += `\\${String(byte).padStart(3, '0')}`;
    else text += special.includes(character) ? `\\${character}` : character;
  }
  return text;
}

const base32hexDigits = '0123456789ABCDEFGHIJKLMNOPQRSTUV';

/** RFC 4648 section 7, without padding, as in NSEC3. */
export function base32hex(bytes: Buffer): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += base32hexDigits[(held >>> bits) & 31];
      held &= (1 << bits) - 1;
    }
  }
  return bits === 0 ? text : text + base32hexDigits[(held << (5 - bits)) & 31];
}

/** Seconds since the epoch as YYYYMMDDHHmmSS (RFC 4034 section 3.2). */
export function signatureTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\D/g, '').slice(0, 14);
}

/** The rest of the data as a bitmap of types (RFC 4034 section 4.1.2). */
export function typeBitmap(reader: DnsReader): string[] {
  const names: string[] = [];
  while (reader.left > 0) {
    const window = reader.u8();
    const bits = reader.string();
    if (bits.length === 0 || bits.length > 32) throw new DnsMalformed('a bitmap of types has a bad length');
    for (const [index, byte] of bits.entries()) {
      for (let bit = 0; bit < 8; bit += 1) {
        if ((byte & (0x80 >> bit)) !== 0) names.push(typeName(window * 256 + index * 8 + bit));
      }
    }
  }
  return names;
}
