import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import dnsPacket, { type Answer, type DecodedPacket } from 'dns-packet';
import { sampleZone, zoneAuthority, type Zone, type ZoneName, type ZoneRecord } from './dns-zone.ts';
import { closer, listen } from './tcp-target.ts';

export type DnsTargetOptions = {
  host?: string;
  port?: number;
  /** Names that are answered in addition to the sample zone's, lower case, without a final dot. */
  zone?: Zone;
};

export type DnsTarget = {
  /** The same for UDP and TCP. */
  port: number;
  /** Number of queries so far, over UDP and TCP. */
  queries: () => number;
  close: () => Promise<void>;
};

type Transport = 'udp' | 'tcp';

// Bits of a header's flags (RFC 1035 section 4.1.1, RFC 4035 section 3.2.3).
const authoritative = 1 << 10;
const truncatedBit = 1 << 9;
const recursionDesired = 1 << 8;
const recursionAvailable = 1 << 7;
const authenticData = 1 << 5;

/** An authoritative server of the sample zone over UDP and TCP. Names outside the zone are NXDOMAIN. */
export async function startDnsTarget(options: DnsTargetOptions = {}): Promise<DnsTarget> {
  const host = options.host ?? '127.0.0.1';
  const zone: Zone = { ...sampleZone, ...options.zone };
  const timers = new Set<NodeJS.Timeout>();
  let queries = 0;

  const receive = (message: Buffer, transport: Transport, reply: (answer: Buffer) => void): void => {
    queries += 1;
    const answer = answerTo(message, transport, zone);
    if (answer === null) return;
    if (answer.delayMs === 0) return reply(answer.message);
    const timer = setTimeout(() => {
      timers.delete(timer);
      reply(answer.message);
    }, answer.delayMs);
    timers.add(timer);
  };

  const tcp = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    readMessages(socket, (message) =>
      receive(message, 'tcp', (answer) => {
        if (!socket.destroyed)
          socket.write(Buffer.concat([Buffer.from([answer.length >> 8, answer.length & 0xff]), answer]));
      }),
    );
  });
  const closeTcp = closer(tcp);
  const port = await listen(tcp, { ...options, host });
  let udp: UdpSocket;
  try {
    udp = await bindUdp(host, port);
  } catch (error) {
    await closeTcp();
    // With port 0 any port is fine, so an occupied UDP port only means another try.
    if ((options.port ?? 0) === 0) return startDnsTarget(options);
    throw error;
  }
  udp.on('message', (message: Buffer, from: RemoteInfo) =>
    receive(message, 'udp', (answer) => udp.send(answer, from.port, from.address)),
  );

  let closed: Promise<void> | undefined;
  return {
    port,
    queries: () => queries,
    close: () =>
      (closed ??= (async () => {
        for (const timer of timers) clearTimeout(timer);
        await Promise.all([closeTcp(), new Promise<void>((resolve) => udp.close(() => resolve()))]);
      })()),
  };
}

async function bindUdp(host: string, port: number): Promise<UdpSocket> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.bind(port, host);
  try {
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
  socket.on('error', () => undefined);
  return socket;
}

/** Splits a TCP stream into its messages, each preceded by its length in two bytes (RFC 1035 section 4.2.2). */
function readMessages(socket: Socket, receive: (message: Buffer) => void): void {
  let buffered: Buffer = Buffer.alloc(0);
  socket.on('data', (part: Buffer) => {
    buffered = Buffer.concat([buffered, part]);
    while (buffered.length >= 2) {
      const end = 2 + buffered.readUInt16BE(0);
      if (buffered.length < end) return;
      receive(buffered.subarray(2, end));
      buffered = buffered.subarray(end);
    }
  });
}

function answerTo(
  message: Buffer,
  transport: Transport,
  zone: Zone,
): { message: Buffer; delayMs: number } | null {
  let query: DecodedPacket;
  try {
    query = dnsPacket.decode(message);
  } catch {
    return null;
  }
  const question = query.questions?.[0];
  if (question === undefined || query.type !== 'query') return null;
  const found = lookUp(zone, question.name.toLowerCase());
  if (found.silent === true) return null;
  const delayMs = found.delayMs ?? 0;
  if (found.garbage !== undefined)
    return { message: Buffer.concat([message.subarray(0, 2), found.garbage]), delayMs };

  const answers = answersOf(zone, question.name, typeName(question.type));
  const edns = query.additionals?.find((record) => record.type === 'OPT');
  const flags =
    authoritative |
    recursionAvailable |
    ((query.flags ?? 0) & recursionDesired) |
    (found.authentic === true ? authenticData : 0) |
    (found.rcode ?? 0);
  const response = {
    type: 'response' as const,
    id: query.id ?? 0,
    flags,
    questions: [question],
    answers,
    authorities: answers.length === 0 && (found.rcode ?? 0) !== 2 ? [zoneAuthority] : [],
    additionals: edns === undefined ? [] : [optRecord()],
  };
  const encoded = withClassOf(message, dnsPacket.encode(response));
  const room = edns !== undefined && 'udpPayloadSize' in edns ? Math.max(512, edns.udpPayloadSize) : 512;
  if (transport === 'udp' && (found.truncated === true || encoded.length > room)) {
    const cut = { ...response, flags: flags | truncatedBit, answers: [], authorities: [] };
    return { message: withClassOf(message, dnsPacket.encode(cut)), delayMs };
  }
  return { message: encoded, delayMs };
}

/** Repeats the class of the question: the library encodes those that it does not know as 0. */
function withClassOf(query: Buffer, answer: Buffer): Buffer {
  let at = 12;
  for (let label = query[at] ?? 0; label > 0 && label < 64; label = query[at] ?? 0) at += 1 + label;
  query.copy(answer, at + 3, at + 3, at + 5);
  return answer;
}

function lookUp(zone: Zone, name: string): ZoneName {
  return Object.hasOwn(zone, name) ? (zone[name] ?? {}) : { rcode: 3 };
}

/** Records of the requested type; a CNAME is followed by its target's records. */
function answersOf(zone: Zone, name: string, type: string): Answer[] {
  const answers: Answer[] = [];
  let owner = name;
  for (let hops = 0; hops < 8; hops += 1) {
    const records = lookUp(zone, owner.toLowerCase()).records ?? [];
    const wanted = records.filter((record) => type === 'ANY' || record.type === type);
    answers.push(...wanted.map((record) => answerOf(owner, record)));
    const alias = records.find((record) => record.type === 'CNAME');
    if (wanted.length > 0 || alias === undefined) break;
    answers.push(answerOf(owner, alias));
    owner = String(alias.data);
  }
  return answers;
}

// dns-packet does not support HTTPS and SVCB; it accepts any type by number, with bytes as data.
const numbered: { readonly [type: string]: string } = {
  HTTPS: 'UNKNOWN_65',
  SVCB: 'UNKNOWN_64',
  URI: 'UNKNOWN_256',
};
const named = Object.fromEntries(Object.entries(numbered).map(([name, number]) => [number, name]));

function typeName(type: string): string {
  return named[type] ?? type;
}

function answerOf(name: string, record: ZoneRecord): Answer {
  // The zone has no fixed types, so that it can contain types that dns-packet does not name.
  return {
    name,
    type: numbered[record.type] ?? record.type,
    ttl: record.ttl ?? 60,
    data: record.data,
  } as Answer;
}

function optRecord(): Answer {
  // Only the fields that matter on the wire; dns-packet fills in the rest.
  return { type: 'OPT', name: '.', udpPayloadSize: 1232, flags: 0, options: [] } as unknown as Answer;
}
