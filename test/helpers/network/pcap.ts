/** A packet of a pcap file: from its IP header on. */
export type PcapPacket = { length: number; bytes: Buffer; seconds: number };

/** Reads a pcap file as its format says (version 2.4, nanoseconds, packets without link headers). Throws where it is none. */
export function readPcap(file: Buffer): { snapLength: number; packets: PcapPacket[] } {
  const words = [0, 16, 20].map((at) => file.readUInt32LE(at));
  if (words[0] !== 0xa1b23c4d || words[2] !== 101) throw new Error('this is no pcap file of IP packets');
  const packets: PcapPacket[] = [];
  for (let at = 24; at < file.length;) {
    const captured = file.readUInt32LE(at + 8);
    const bytes = file.subarray(at + 16, at + 16 + captured);
    if (bytes.length < captured) throw new Error('the last packet is cut');
    packets.push({ seconds: file.readUInt32LE(at), length: file.readUInt32LE(at + 12), bytes });
    at += 16 + captured;
  }
  return { snapLength: words[1] ?? 0, packets };
}
