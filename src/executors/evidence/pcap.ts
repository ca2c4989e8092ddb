import type { RawPacket } from './packets.ts';

/** linktype 101 of the pcap format: packets start with their IPv4 or IPv6 header. */
const linkTypeRaw = 101;
/** Marks the byte order, and that times are in nanoseconds. */
const magic = 0xa1b2_3c4d;

/** Packets as a pcap file (version 2.4). */
export function pcapFile(packets: readonly RawPacket[], snapLength: number): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(magic, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(snapLength, 16);
  head.writeUInt32LE(linkTypeRaw, 20);
  return Buffer.concat([head, ...packets.flatMap((packet) => [recordHead(packet), packet.bytes])]);
}

function recordHead({ seconds, nanoseconds, length, bytes }: RawPacket): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(seconds, 0);
  head.writeUInt32LE(nanoseconds, 4);
  head.writeUInt32LE(bytes.length, 8);
  head.writeUInt32LE(Math.max(length, bytes.length), 12);
  return head;
}
