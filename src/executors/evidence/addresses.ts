import { isIP, SocketAddress } from 'node:net';

/** An address in the canonical form of the system, without a zone; the text itself if it is not an address. */
export function plainAddress(text: string): string {
  const [address = ''] = text.split('%', 1);
  const version = isIP(address);
  if (version === 0) return text;
  return new SocketAddress({ address, family: version === 6 ? 'ipv6' : 'ipv4' }).address;
}

/** Its 4 or 16 bytes; null if it is not an address. */
export function addressBytes(text: string): Buffer | null {
  const plain = plainAddress(text);
  if (isIP(plain) === 4) return Buffer.from(plain.split('.').map(Number));
  if (isIP(plain) !== 6) return null;
  // The last 32 bits may be written like an IPv4 address.
  const words = plain.replace(/[\d.]+\.[\d.]+$/, (tail) => {
    const [a = 0, b = 0, c = 0, d = 0] = tail.split('.').map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = '', tail] = words.split('::');
  const parse = (part: string | undefined) => (part === undefined || part === '' ? [] : part.split(':'));
  const [before, after] = [parse(head), parse(tail)];
  const all = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  const bytes = Buffer.alloc(16);
  for (const [index, word] of all.entries()) bytes.writeUInt16BE(parseInt(word, 16), index * 2);
  return bytes;
}

/** The address text for the bytes of addressBytes. */
export function addressText(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const words = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return plainAddress(words.join(':'));
}
