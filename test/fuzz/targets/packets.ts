import { summaryOf } from '../../../src/executors/evidence/capture-summary.ts';
import { keepPackets, readRecords } from '../../../src/executors/evidence/packets.ts';
import { pcapFile } from '../../../src/executors/evidence/pcap.ts';

/** Captured packets: the network wrote every byte of them. Only headers and own DNS packets are kept. */

export const name = 'packets';

const traffic = {
  targets: [
    { address: '10.0.0.1', port: 443 },
    { address: '2001:db8::1', port: 443 },
  ],
  nameServers: [{ address: '10.0.0.2', port: 53 }],
  hostnames: ['shop.test'],
};

/** Throws if a packet leads to an error, or if a packet is kept that is longer than it was. */
export function run(data: Buffer): void {
  if (data.length < 4) return; // the addon always sends the number of lost packets
  for (const hidesNames of [false, true]) {
    const { packets, lost } = readRecords(data);
    const kept = keepPackets(packets, { ...traffic, hidesNames });
    summaryOf(kept, lost);
    if (pcapFile(kept, 160).length > 24 + packets.length * 40 + data.length)
      throw new Error('too many bytes');
  }
}

const record = (bytes: Buffer): Buffer => {
  const head = Buffer.alloc(20);
  head.writeUInt32LE(1_700_000_000, 0);
  head.writeUInt32LE(bytes.length, 8);
  head.writeUInt16LE(bytes.length, 12);
  head.writeUInt32LE(2, 16);
  return Buffer.concat([head, bytes]);
};
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const dns = '1267 0100 0001 0000 0000 0000 0473686f70 0474657374 00 0001 0001';
const packetsOf = [
  // TCP SYN, UDP to the name server with a query, ICMP unreachable about the SYN, TCP and ICMP over IPv6.
  '45000028 00010000 40060000 0a000009 0a000001 c35001bb 00000001 00000000 50020200 00000000',
  `4500003a 00010000 40110000 0a000009 0a000002 c3500035 00260000 ${dns}`,
  '45000044 00010000 40010000 0a000007 0a000009 0301 0000 00000000 45000028 00010000 40060000 0a000009 0a000001 c35001bb 00000001',
  '60000000 00140640 20010db8000000000000000000000009 20010db8000000000000000000000001 c35001bb 00000001 00000000 50020200 00000000',
  '60000000 00303a40 20010db8000000000000000000000007 20010db8000000000000000000000009 0104 0000 00000000 60000000 00140640 20010db8000000000000000000000009 20010db8000000000000000000000001 c35001bb 00000001',
];

export const seeds = (): Buffer[] => [
  Buffer.concat([Buffer.alloc(4), ...packetsOf.map((text) => record(hex(text)))]),
  ...packetsOf.map((text) => Buffer.concat([Buffer.alloc(4), record(hex(text))])),
];

export const dictionary = [
  hex('0a000001'),
  hex('01bb'),
  hex('0035'),
  hex(dns),
  hex('c00c'),
  hex('45'),
  hex('60'),
];
