import { endianness } from 'node:os';
import { addressBytes } from './addresses.ts';
import type { Endpoint } from './capture-filter.ts';

/** A packet from the addon, from its IP header on. */
export type RawPacket = {
  seconds: number;
  nanoseconds: number;
  /** Length on the wire. */
  length: number;
  interface: number;
  bytes: Buffer;
};

/** A packet that belongs to an attempt, cut to the part that may be shown. */
export type Packet = RawPacket & { facts: PacketFacts };

export type PacketFacts =
  | {
      kind: 'tcp';
      /** Source and destination with their ports. */
      flow: string;
      outgoing: boolean;
      flags: number;
      sequence: number;
      payload: number;
    }
  | { kind: 'udp'; outgoing: boolean; dns: boolean }
  | { kind: 'icmp'; type: number; code: number; unreachable: boolean };

export const tcpFlags = { fin: 1, syn: 2, reset: 4, ack: 16 } as const;

/** The records of takeCapture (src/native/addon/capture.c), and the number of lost packets. */
export function readRecords(buffer: Buffer): { packets: RawPacket[]; lost: number } {
  const little = endianness() === 'LE';
  const word = (at: number) => (little ? buffer.readUInt32LE(at) : buffer.readUInt32BE(at));
  const half = (at: number) => (little ? buffer.readUInt16LE(at) : buffer.readUInt16BE(at));
  const packets: RawPacket[] = [];
  let at = 4;
  while (at + 20 <= buffer.length) {
    const captured = half(at + 12);
    packets.push({
      seconds: word(at),
      nanoseconds: word(at + 4),
      length: word(at + 8),
      interface: word(at + 16),
      bytes: buffer.subarray(at + 20, at + 20 + captured),
    });
    at += 20 + captured;
  }
  return { packets, lost: word(0) };
}

/** The endpoints of an attempt, and the names that it looked up. */
export type AttemptTraffic = {
  /** Targets of connections. */
  targets: readonly Endpoint[];
  nameServers: readonly Endpoint[];
  hostnames: readonly string[];
  /** A secret is part of a name: only the headers of DNS packets are kept too. Absent = false. */
  hidesNames?: boolean;
};

/**
 * The packets that belong to an attempt, in order and without duplicates, cut to their headers. No TCP or UDP payload
 * is kept except DNS questions and answers about the attempt's own names.
 */
export function keepPackets(packets: readonly RawPacket[], traffic: AttemptTraffic): Packet[] {
  const ends = endpointSet([...traffic.targets, ...traffic.nameServers]);
  const servers = endpointSet(traffic.nameServers);
  const names = traffic.hostnames.map((name) => name.toLowerCase().replace(/\.$/, ''));
  const interfaceOf = new Map<string, number>();
  return packets.flatMap((packet) => {
    const parsed = parse(packet);
    if (parsed === null) return [];
    const { source, destination, headers } = parsed;
    // A packet is seen on each interface that it passes; keep only the first.
    const way = `${source} ${destination} ${parsed.kind}`;
    const first = interfaceOf.get(way) ?? packet.interface;
    interfaceOf.set(way, first);
    if (first !== packet.interface) return [];
    const facts = factsOf(packet, parsed, { ends, servers, names });
    if (facts === null) return [];
    const isDns = facts.kind === 'udp' && facts.dns && traffic.hidesNames !== true;
    return [{ ...packet, bytes: isDns ? packet.bytes : packet.bytes.subarray(0, headers), facts }];
  });
}

type Parsed = {
  kind: 'tcp' | 'udp' | 'icmp';
  family: 4 | 6;
  /** Hexadecimal address and port; for an ICMP message only the address. */
  source: string;
  destination: string;
  /** Where the transport header starts, and where the headers end. */
  start: number;
  headers: number;
};

const endpointSet = (endpoints: readonly Endpoint[]): ReadonlySet<string> =>
  new Set(endpoints.map(({ address, port }) => `${addressBytes(address)?.toString('hex') ?? ''}.${port}`));

/** Null for a packet that the filter should not have accepted. */
function parse({ bytes }: { bytes: Buffer }): Parsed | null {
  const version = (bytes[0] ?? 0) >> 4;
  const isV4 = version === 4;
  if (!isV4 && version !== 6) return null;
  const start = isV4 ? ((bytes[0] ?? 0) & 15) * 4 : 40;
  const protocol = bytes[isV4 ? 9 : 6];
  if (bytes.length < start + 8 || (isV4 && start < 20)) return null;
  const [from, to] = isV4
    ? [bytes.toString('hex', 12, 16), bytes.toString('hex', 16, 20)]
    : [bytes.toString('hex', 8, 24), bytes.toString('hex', 24, 40)];
  const family = isV4 ? 4 : 6;
  if (protocol === (isV4 ? 1 : 58)) {
    const inner = parse({ bytes: bytes.subarray(start + 8) });
    const headers = start + 8 + (inner === null ? 0 : inner.headers);
    return { kind: 'icmp', family, source: from, destination: to, start, headers };
  }
  const source = `${from}.${bytes.readUInt16BE(start)}`;
  const destination = `${to}.${bytes.readUInt16BE(start + 2)}`;
  if (protocol === 17) return { kind: 'udp', family, source, destination, start, headers: start + 8 };
  if (protocol !== 6) return null;
  // An ICMP message may contain no more than eight bytes of it.
  const own = bytes.length > start + 12 ? ((bytes[start + 12] ?? 0) >> 4) * 4 : 8;
  return { kind: 'tcp', family, source, destination, start, headers: Math.min(start + own, bytes.length) };
}

type Wanted = { ends: ReadonlySet<string>; servers: ReadonlySet<string>; names: readonly string[] };

function factsOf(packet: RawPacket, parsed: Parsed, { ends, servers, names }: Wanted): PacketFacts | null {
  const { bytes, length } = packet;
  const { kind, source, destination, start, headers, family } = parsed;
  if (kind === 'icmp') {
    const about = parse({ bytes: bytes.subarray(start + 8) });
    if (about === null || !ends.has(about.destination)) return null;
    if (servers.has(about.destination)) {
      const question = about.kind === 'udp' ? questionIn(bytes, start + 8 + about.headers) : null;
      if (question !== null && !isAbout(question, names)) return null;
    }
    const [type = 0, code = 0] = bytes.subarray(start);
    return { kind, type, code, unreachable: type === (family === 4 ? 3 : 1) };
  }
  const outgoing = ends.has(destination);
  if (!outgoing && !ends.has(source)) return null;
  if (kind === 'udp') {
    // A port may be a name server's or the target's: of UDP datagrams, only DNS lookups are the attempt's own.
    const question = questionIn(bytes, headers);
    if (question === null || !isAbout(question, names)) return null;
    return { kind, outgoing, dns: servers.has(outgoing ? destination : source) };
  }
  if (bytes.length < start + 20) return null;
  return {
    kind,
    flow: `${source} ${destination}`,
    outgoing,
    flags: bytes[start + 13] ?? 0,
    sequence: bytes.readUInt32BE(start + 4),
    payload: Math.max(0, packetLength(bytes, family, length) - headers),
  };
}

/** The length in the IP header, because short frames are padded on the wire. */
function packetLength(bytes: Buffer, family: 4 | 6, wireLength: number): number {
  const headerPacketLength = family === 4 ? bytes.readUInt16BE(2) : 40 + bytes.readUInt16BE(4);
  const hasHeaderLength = headerPacketLength > (family === 4 ? 0 : 40); // zero if segments are merged to more than 64 KiB
  return hasHeaderLength ? Math.min(headerPacketLength, wireLength) : wireLength;
}

/** The name in a DNS message's first question, in lower case; null if there is none. */
function questionIn(bytes: Buffer, at: number): string | null {
  if (bytes.length < at + 13 || bytes.readUInt16BE(at + 4) !== 1) return null;
  const labels: string[] = [];
  for (let next = at + 12; ;) {
    const length = bytes[next];
    if (length === undefined || length > 63 || labels.length > 127) return null;
    if (length === 0) return labels.join('.');
    // The snap length may have cut a long name; compare the part that is left.
    labels.push(bytes.toString('latin1', next + 1, next + 1 + length).toLowerCase());
    next += 1 + length;
    if (next >= bytes.length) return labels.join('.');
  }
}

/** The name is queried as it is, or with a domain of the search list after it. */
function isAbout(question: string, names: readonly string[]): boolean {
  return names.some(
    (name) =>
      question === name ||
      question.startsWith(`${name}.`) ||
      (question.length > 100 && name.startsWith(question)),
  );
}
