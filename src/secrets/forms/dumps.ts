/** A value's bytes as programs print them: buffers of Node, and strings of DNS records. The caller removes duplicates. */

/** Bytes that Node prints of a buffer before it writes how many more there are. */
const printedBytes = 50;
/** Bytes of one part of a long list of numbers: each part is also searched for alone. */
const listPart = 64;
/** Bytes of one string of a TXT record (RFC 1035 section 3.3). */
const dnsStringBytes = 255;

/** `<Buffer 61 62 …>`: pairs of digits; of a long value also the part that Node prints. */
export function spacedHex(bytes: Buffer): string[] {
  const pairs = bytes.toString('hex').replaceAll(/..(?!$)/g, '$& ');
  return bytes.length > printedBytes ? [pairs, pairs.slice(0, printedBytes * 3 - 1)] : [pairs];
}

/** `{"type":"Buffer","data":[97,98,…]}` and printed arrays; a long list also in parts. */
export function numberLists(bytes: Buffer): string[] {
  const lists = [bytes.join(','), bytes.join(', ')];
  for (let at = 0; bytes.length > listPart && at + 8 <= bytes.length; at += listPart) {
    lists.push(bytes.subarray(at, at + listPart).join(','));
  }
  return lists;
}

/**
 * Strings of DNS records: `\DDD` for bytes that cannot be printed, with or without `\"`, `\\` and `\;`; and the parts
 * of 255 bytes of a longer value.
 */
export function dnsWritings(bytes: Buffer): string[] {
  const text = bytes.toString('latin1');
  const writings = /^[ !#-:<-[\]-~]*$/.test(text)
    ? []
    : ['', '"\\', '"\\;', '"'].map((special) => escapedBytes(bytes, special));
  for (let at = 0; isLongRecord(bytes) && at < bytes.length; at += dnsStringBytes) {
    const part = bytes.subarray(at, at + dnsStringBytes);
    if (part.length >= 8) writings.push(part.toString('latin1'), escapedBytes(part, '"\\'));
  }
  return writings;
}

/** Whether a value fills several strings. Records beyond this size do not occur, and would need many parts. */
const isLongRecord = (bytes: Buffer): boolean => bytes.length > dnsStringBytes && bytes.length <= 4096;

function escapedBytes(bytes: Buffer, special: string): string {
  return bytes.toString('latin1').replaceAll(/[^]/g, (unit) => {
    const code = unit.charCodeAt(0);
    if (code < 0x20 || code >= 0x7f) return `\\${String(code).padStart(3, '0')}`;
    return special.includes(unit) ? `\\${unit}` : unit;
  });
}
