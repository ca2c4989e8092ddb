import { createSocket } from 'node:dgram';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { createSecureContext, createServer as createTlsServer, type SecureContext } from 'node:tls';
import dnsPacket from 'dns-packet';
import { dayMs } from '../../src/durations.ts';
import { createAuthority } from '../../src/targets/certificates.ts';
import { startGrpcTarget } from '../../src/targets/grpc-target.ts';
import { closer, listen } from '../../src/targets/tcp-target.ts';
import type { Notification, Probe } from './facts.ts';

/** States of the health service. */
const serving = 1;
const notServing = 2;

/** Targets that record every probe, with the name of the check in it. */

export type Targets = {
  httpPort: number;
  dnsPort: number;
  /** A port of its own for each TCP check: there is no other name in a connection. */
  tcpPort: (check: string) => Promise<number>;
  /** A server for all SSL checks, which name themselves in the name that they ask for: CHECK.chaos.test. */
  tlsPort: () => Promise<number>;
  /** A health service for all gRPC checks, which name themselves in the service that they ask for. */
  grpcPort: () => Promise<number>;
  /** A port of its own for each traceroute check, which accepts connections and sends nothing. */
  tracePort: (check: string) => Promise<number>;
  probes: Probe[];
  /** Makes the target of a check answer wrongly from now on, or well again. */
  setBad: (check: string, isBad: boolean) => void;
  close: () => Promise<void>;
};

/** Starts targets on `host`, DNS on each of `addresses`. HTTP serves /p/CHECK and /p/CHECK/FORM, DNS answers CHECK.chaos.test with 192.0.2.1. */
export async function startTargets(
  host = '127.0.0.1',
  addresses: readonly string[] = [host],
): Promise<Targets> {
  const probes: Probe[] = [];
  const bad = new Set<string>();
  const closers: (() => Promise<unknown>)[] = [];
  const http = createHttpServer((request, response) => {
    const [, , name = '', form] = (request.url ?? '').split('/');
    const check = decodeURIComponent(name);
    probes.push({ check, at: Date.now(), ...(form === undefined ? {} : { form: Number(form) }) });
    request.resume();
    response
      .writeHead(bad.has(check) ? 500 : 200, { 'content-type': 'application/json' })
      .end('{"state":"running"}\n');
  });
  // Answers must not depend on sockets that an agent kept open before a fault.
  http.keepAliveTimeout = 1_000;
  closers.push(closer(http));
  const httpPort = await listen(http, { host });

  const answerTo = (message: Buffer, port: number): Buffer => {
    const query = dnsPacket.decode(message);
    const name = query.questions?.[0]?.name ?? '';
    const check = name.split('.')[0] ?? '';
    probes.push({ check, at: Date.now(), query: `${port} ${query.id}` });
    return dnsPacket.encode({
      type: 'response',
      id: query.id ?? 0,
      flags: bad.has(check) ? 3 : 0, // 3 = NXDOMAIN
      questions: query.questions ?? [],
      answers: bad.has(check) ? [] : [{ type: 'A', name, ttl: 5, data: '192.0.2.1' }],
    });
  };
  // A socket for each address, so that an answer comes from the address that was asked.
  let dnsPort = 0;
  for (const address of addresses) {
    const dns = createSocket('udp4');
    dns.on('message', (message, from) => dns.send(answerTo(message, from.port), from.port, from.address));
    // While the way back is gone.
    dns.on('error', () => undefined);
    await new Promise<void>((resolve) => dns.bind(dnsPort, address, resolve));
    dnsPort = dns.address().port;
    closers.push(async () => dns.close());
  }

  const tcpPort = async (check: string): Promise<number> => {
    const server = createTcpServer((socket) => {
      probes.push({ check, at: Date.now() });
      socket.on('error', () => socket.destroy());
      socket.end(bad.has(check) ? 'broken\r\n' : '220 ready\r\n');
    });
    closers.push(closer(server));
    return listen(server, { host });
  };
  const tracePort = async (check: string): Promise<number> => {
    const server = createTcpServer((socket) => {
      probes.push({ check, at: Date.now() });
      // A probe ends its connection with a reset.
      socket.on('error', () => socket.destroy()).on('end', () => socket.destroy());
      socket.resume();
    });
    closers.push(closer(server));
    return listen(server, { host });
  };
  let grpc: Promise<number> | undefined;
  const grpcPort = (): Promise<number> =>
    (grpc ??= startGrpcTarget({
      host,
      stateOf: (check) => {
        probes.push({ check, at: Date.now() });
        return bad.has(check) ? notServing : serving;
      },
    }).then(({ port, close }) => {
      closers.push(close);
      return port;
    }));
  let tls: Promise<number> | undefined;
  const tlsPort = (): Promise<number> =>
    (tls ??= startTlsTarget({ host, bad, probes }).then(({ port, close }) => {
      closers.push(close);
      return port;
    }));
  return {
    httpPort,
    dnsPort,
    tcpPort,
    tlsPort,
    grpcPort,
    tracePort,
    probes,
    setBad: (check, isBad) => void (isBad ? bad.add(check) : bad.delete(check)),
    close: async () => {
      await Promise.all(closers.map((close) => close()));
    },
  };
}

type TlsTarget = { host: string; bad: ReadonlySet<string>; probes: Probe[] };

/** A check that is bad gets a certificate that has expired. */
async function startTlsTarget({
  host,
  bad,
  probes,
}: TlsTarget): Promise<{ port: number; close: () => Promise<void> }> {
  const authority = await createAuthority({ commonName: 'chaos' });
  const contextOf = async (from: number, to: number): Promise<SecureContext> => {
    const { cert, key } = await authority.issue({
      commonName: '*.chaos.test',
      notBefore: new Date(Date.now() + from),
      notAfter: new Date(Date.now() + to),
    });
    return createSecureContext({ cert: cert + authority.certificate.cert, key });
  };
  const good = await contextOf(-dayMs, 90 * dayMs);
  const expired = await contextOf(-90 * dayMs, -dayMs);
  const server = createTlsServer({
    SNICallback: (name, done) => {
      const check = name.split('.')[0] ?? '';
      probes.push({ check, at: Date.now() });
      done(null, bad.has(check) ? expired : good);
    },
  });
  server.on('secureConnection', (socket) => socket.on('error', () => socket.destroy()).resume());
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  const close = closer(server);
  return { port: await listen(server, { host }), close };
}

export type Receiver = {
  url: string;
  notifications: Notification[];
  /** Answers 503 to everything from now on, or takes it again. */
  setBroken: (isBroken: boolean) => void;
  close: () => Promise<void>;
};

/** The receiving end of a webhook channel whose template is `{"check","type","id"}`. */
export async function startReceiver(): Promise<Receiver> {
  const notifications: Notification[] = [];
  let broken = false;
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => response.destroy());
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as {
        check: string;
        type: string;
        id: string;
      };
      notifications.push({
        at: Date.now(),
        checkId: body.check,
        type: body.type,
        id: `${body.check} ${body.type} ${body.id}`,
        accepted: !broken,
      });
      response.writeHead(broken ? 503 : 200).end();
    });
  });
  const close = closer(server);
  const port = await listen(server, {});
  return {
    url: `http://127.0.0.1:${port}/notify`,
    notifications,
    setBroken: (isBroken) => void (broken = isBroken),
    close,
  };
}
