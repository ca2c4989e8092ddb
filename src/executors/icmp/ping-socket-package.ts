import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { SocketAddress } from 'node:net';
import type { IpFamily } from '../interface/network.ts';
import { createPingSocket, type EchoEvents, type EchoPort } from './ping-socket-requests.ts';
import type { PingSocket } from '../interface/ping-socket.ts';

/** The parts of the raw-socket package that are used; it has no types. */
type RawSocketPackage = {
  createSocket: (options: { protocol: number; addressFamily: number; bufferSize: number }) => RawSocket;
  AddressFamily: { IPv4: number; IPv6: number };
  Protocol: { ICMP: number; ICMPv6: number };
  SocketLevel: { IPPROTO_IP: number; IPPROTO_IPV6: number };
  SocketOption: { IP_TTL: number; IPV6_UNICAST_HOPS: number };
  writeChecksum: (buffer: Buffer, offset: number, checksum: number) => void;
  createChecksum: (buffer: Buffer) => number;
};
type RawSocket = {
  on: ((event: 'message', listener: (packet: Buffer, source: string) => void) => void) &
    ((event: 'error', listener: (error: Error) => void) => void);
  send: (
    buffer: Buffer,
    offset: number,
    length: number,
    address: string,
    before: () => void,
    after: (error: Error | null) => void,
  ) => void;
  setOption: (level: number, option: number, value: number) => void;
  close: () => void;
};

type Request = { address: string; payload: Buffer; sentAt: number };

const echoTypes: { readonly [F in IpFamily]: { request: number; reply: number } } = {
  4: { request: 8, reply: 0 },
  6: { request: 128, reply: 129 },
};
const headerBytes = 8;
const tokenBytes = 8;
const defaultTtl = 64;

/**
 * A PingSocket over the optional raw-socket package, for hosts where the addon could not be built. It reports no ICMP
 * errors and no hop limits over IPv6, and measures times with this process's clock. Throws if the package is missing
 * or sockets are refused.
 */
export function openPackagePingSocket(family: IpFamily): PingSocket {
  // As in the package's documentation; it has no types.
  const rawSocket = createRequire(import.meta.url)('raw-socket') as RawSocketPackage;
  const socket = rawSocket.createSocket({
    protocol: family === 4 ? rawSocket.Protocol.ICMP : rawSocket.Protocol.ICMPv6,
    addressFamily: family === 4 ? rawSocket.AddressFamily.IPv4 : rawSocket.AddressFamily.IPv6,
    bufferSize: 2048,
  });
  return createPingSocket('raw', (events) => createPort(rawSocket, socket, family, events));
}

function createPort(
  rawSocket: RawSocketPackage,
  socket: RawSocket,
  family: IpFamily,
  events: EchoEvents,
): EchoPort {
  const id = randomBytes(2).readUInt16BE();
  const types = echoTypes[family];
  const inFlight = new Map<number, Request>();
  const setTtl = (ttl: number): void =>
    family === 4
      ? socket.setOption(rawSocket.SocketLevel.IPPROTO_IP, rawSocket.SocketOption.IP_TTL, ttl)
      : socket.setOption(rawSocket.SocketLevel.IPPROTO_IPV6, rawSocket.SocketOption.IPV6_UNICAST_HOPS, ttl);

  socket.on('message', (packet, source) => {
    const now = performance.now();
    // IPv4 packets include the IP header, IPv6 packets do not.
    const start = family === 4 ? ((packet[0] ?? 0) & 0x0f) * 4 : 0;
    const icmp = packet.subarray(start);
    if (
      icmp.length < headerBytes ||
      icmp[0] !== types.reply ||
      icmp[1] !== 0 ||
      icmp.readUInt16BE(4) !== id
    ) {
      return;
    }
    const sequence = icmp.readUInt16BE(6);
    const request = inFlight.get(sequence);
    if (request === undefined || !icmp.subarray(headerBytes).equals(request.payload)) return;
    if (source !== request.address && !/^(?:0\.0\.0\.0|::)$/.test(request.address)) return;
    inFlight.delete(sequence);
    events.answered(sequence, {
      rttMs: now - request.sentAt,
      size: request.payload.length,
      ttl: family === 4 ? (packet[8] ?? null) : null,
      type: types.reply,
      code: 0,
      error: null,
    });
  });
  // An error of the socket itself; the pending requests time out.
  socket.on('error', () => undefined);

  return {
    send: (sequence, address, payloadBytes, ttl) => {
      if (payloadBytes < tokenBytes || payloadBytes > 1400) return 'EMSGSIZE';
      const target = canonicalAddress(address, family);
      if (target === null) return 'EINVAL';
      const packet = Buffer.alloc(headerBytes + payloadBytes);
      packet[0] = types.request;
      packet.writeUInt16BE(id, 4);
      packet.writeUInt16BE(sequence, 6);
      randomBytes(tokenBytes).copy(packet, headerBytes);
      for (let i = tokenBytes; i < payloadBytes; i++) packet[headerBytes + i] = i & 0xff;
      rawSocket.writeChecksum(packet, 2, rawSocket.createChecksum(packet));
      const request: Request = { address: target, payload: packet.subarray(headerBytes), sentAt: 0 };
      inFlight.set(sequence, request);
      const beforeSending = (): void => {
        setTtl(ttl ?? defaultTtl);
        request.sentAt = performance.now();
      };
      socket.send(packet, 0, packet.length, address, beforeSending, (error) => {
        if (error !== null && inFlight.get(sequence) === request) {
          events.unsent(sequence, errnoNameOf(error.message));
        }
      });
      return null;
    },
    forget: (sequence) => inFlight.delete(sequence),
    close: () => socket.close(),
  };
}

/** An address in the system's form, so that texts can be compared. */
function canonicalAddress(address: string, family: IpFamily): string | null {
  try {
    return new SocketAddress({ address, family: family === 4 ? 'ipv4' : 'ipv6' }).address;
  } catch {
    return null;
  }
}

/** The package reports a failed system call only by its text (strerror(3)). */
function errnoNameOf(message: string): string {
  return errnoNames.find(([text]) => message.includes(text))?.[1] ?? 'EIO';
}

const errnoNames = [
  ['Network is unreachable', 'ENETUNREACH'],
  ['No route to host', 'EHOSTUNREACH'],
  ['Operation not permitted', 'EPERM'],
  ['Permission denied', 'EACCES'],
  ['Cannot assign requested address', 'EADDRNOTAVAIL'],
  ['Resource temporarily unavailable', 'EAGAIN'],
  ['No buffer space available', 'ENOBUFS'],
  ['Invalid argument', 'EINVAL'],
] as const;
