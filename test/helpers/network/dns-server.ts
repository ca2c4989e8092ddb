import { execFileSync } from 'node:child_process';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { decode, encode, type Answer, type DecodedPacket, type Packet } from 'dns-packet';

export type DnsTransport = 'udp' | 'tcp' | 'dot' | 'doh';

/** What a test's server sends back. */
export type DnsReply =
  /** One message, or several, framed as the transport does. */
  | Buffer
  | Buffer[]
  /** Silence. */
  | null
  /** Bytes as they are, on a stream; then perhaps the end of it. */
  | { raw: Buffer; end?: boolean; reset?: boolean }
  /** DoH only. */
  | { status: number; contentType?: string; body: Buffer };

export type ReceivedQuery = {
  transport: DnsTransport;
  bytes: Buffer;
  packet: DecodedPacket;
  name: string;
  /** Number of the record type asked for. */
  type: number;
  /** DoH only. */
  http?: { version: string; method: string; path: string; contentType: string };
  /** A proper answer to this query; `overrides` for what is special about it, `rcode` by number. */
  reply: (answers?: Answer[], overrides?: Packet & { rcode?: number }) => Buffer;
};

export type DnsServerOptions = {
  answer: (query: ReceivedQuery) => DnsReply | Promise<DnsReply>;
  /** Adds the ports of DoT and DoH. */
  certificate?: { key: string; cert: string };
  /** Protocols that DoH offers. */
  alpn?: string[];
};

export type TestDnsServer = {
  address: string;
  /** UDP and TCP. */
  port: number;
  dotPort: number;
  dohPort: number;
  queries: ReceivedQuery[];
  close: () => Promise<void>;
};

/** Flag bits by their names in dig. */
export const flagBits = { aa: 1 << 10, tc: 1 << 9, rd: 1 << 8, ra: 1 << 7, ad: 1 << 5, cd: 1 << 4 } as const;

/** A self-signed certificate for localhost and 127.0.0.1. */
export function makeCertificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'dns-certificate-'));
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    execFileSync(
      'openssl',
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ${key} -out ${cert}`.split(
        ' ',
      ),
      { stdio: 'ignore' },
    );
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function received(transport: DnsTransport, bytes: Buffer): ReceivedQuery {
  const packet = decode(bytes);
  const question = packet.questions?.[0];
  const nameBytes = bytes.indexOf(0, 12);
  return {
    transport,
    bytes,
    packet,
    name: question?.name ?? '',
    type: bytes.readUInt16BE(nameBytes + 1),
    reply: (answers = [], { rcode = 0, ...overrides } = {}) =>
      encode({
        id: packet.id ?? 0,
        type: 'response',
        // dns-packet takes the rcode as the low bits of the flags.
        flags: flagBits.rd | flagBits.ra | (overrides.flags ?? 0) | rcode,
        questions: packet.questions ?? [],
        answers,
        ...(({ flags: _flags, ...rest }) => rest)(overrides),
      }),
  };
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** A name server on 127.0.0.1 that answers as the test says, well or badly. */
export async function startDnsServer({
  answer,
  certificate,
  alpn,
}: DnsServerOptions): Promise<TestDnsServer> {
  const queries: ReceivedQuery[] = [];
  let closed = false;
  const sockets = new Set<Socket>();
  const hold = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  /** A TLS socket can't reset its connection; the one below can. */
  const rawSocketOf = (socket: Socket) =>
    [...sockets].find(({ remotePort }) => remotePort === socket.remotePort) ?? socket;
  const note = (query: ReceivedQuery) => {
    queries.push(query);
    return answer(query);
  };

  const overStream = (transport: 'tcp' | 'dot') => (socket: Socket) => {
    let pending = Buffer.alloc(0);
    socket.on('data', async (chunk) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const length = pending.readUInt16BE(0);
        const query = received(transport, pending.subarray(2, 2 + length));
        pending = pending.subarray(2 + length);
        const reply = await note(query);
        if (reply === null || 'status' in reply) continue;
        if (Buffer.isBuffer(reply)) socket.write(framed(reply));
        else if (Array.isArray(reply)) socket.write(Buffer.concat(reply.map(framed)));
        else if (reply.reset) rawSocketOf(socket).resetAndDestroy();
        else if (reply.end) socket.end(reply.raw);
        else socket.write(reply.raw);
      }
    });
  };

  const tcp = createTcpServer();
  tcp.on('connection', hold);
  tcp.on('connection', overStream('tcp'));
  const { port, udp } = await onePort(tcp);
  udp.on('message', async (bytes, from) => {
    const reply = await note(received('udp', bytes));
    if (closed) return;
    for (const message of Buffer.isBuffer(reply) ? [reply] : Array.isArray(reply) ? reply : []) {
      udp.send(message, from.port, from.address);
    }
  });

  const servers: Server[] = [tcp];
  let dotPort = 0;
  let dohPort = 0;
  if (certificate !== undefined) {
    const dot = createTlsServer(certificate, overStream('dot'));
    dot.on('connection', hold);
    dotPort = await listen(dot);
    const offered = alpn ?? ['h2', 'http/1.1'];
    // node:http2 sets the list of protocols itself.
    const doh = offered.includes('h2')
      ? createSecureServer({ ...certificate, allowHTTP1: offered.includes('http/1.1') })
      : createHttpsServer(certificate);
    doh.on('connection', hold);
    const onRequest = async (
      request: IncomingMessage | Http2ServerRequest,
      response: ServerResponse | Http2ServerResponse,
    ) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set, so chunks are buffers
      const query = received('doh', Buffer.concat(chunks));
      query.http = {
        version: request.httpVersion,
        method: request.method ?? '',
        path: request.url ?? '',
        contentType: request.headers['content-type'] ?? '',
      };
      const reply = await note(query);
      if (reply === null || Array.isArray(reply) || 'raw' in reply) return;
      const { status, contentType, body } = Buffer.isBuffer(reply)
        ? { status: 200, contentType: undefined, body: reply }
        : reply;
      response.writeHead(status, { 'content-type': contentType ?? 'application/dns-message' });
      response.end(body);
    };
    doh.on('request', onRequest);
    dohPort = await listen(doh);
    servers.push(dot, doh);
  }

  return {
    address: '127.0.0.1',
    port,
    dotPort,
    dohPort,
    queries,
    close: async () => {
      closed = true;
      const ends = servers.map((server) => once(server, 'close'));
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all([...ends, new Promise<void>((resolve) => udp.close(() => resolve()))]);
    },
  };
}

/** Binds the same free port for both transports. A port that is free for one of them may be in use for the other. */
async function onePort(tcp: Server): Promise<{ port: number; udp: UdpSocket }> {
  for (;;) {
    const port = await listen(tcp);
    const udp = createSocket('udp4');
    udp.bind(port, '127.0.0.1');
    try {
      await once(udp, 'listening');
      return { port, udp };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      udp.close();
      tcp.close();
      await once(tcp, 'close');
    }
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // listening on TCP
}
