import { createSocket } from 'node:dgram';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import dnsPacket from 'dns-packet';
import { closer, listen } from '../../src/targets/tcp-target.ts';
import type { Notification, Probe } from './facts.ts';

/** Targets that record every probe, with the name of the check in it. */

export type Targets = {
  httpPort: number;
  dnsPort: number;
  /** A port of its own for each TCP check: there is no other name in a connection. */
  tcpPort: (check: string) => Promise<number>;
  probes: Probe[];
  /** Makes the target of a check answer wrongly from now on, or well again. */
  setBad: (check: string, isBad: boolean) => void;
  close: () => Promise<void>;
};

/** Starts targets on `host`, DNS on each of `addresses`. HTTP serves /p/CHECK, DNS answers CHECK.chaos.test with 192.0.2.1. */
export async function startTargets(
  host = '127.0.0.1',
  addresses: readonly string[] = [host],
): Promise<Targets> {
  const probes: Probe[] = [];
  const bad = new Set<string>();
  const closers: (() => Promise<unknown>)[] = [];
  const http = createHttpServer((request, response) => {
    const check = decodeURIComponent((request.url ?? '').split('/')[2] ?? '');
    probes.push({ check, at: Date.now() });
    response.writeHead(bad.has(check) ? 500 : 200, { 'content-type': 'text/plain' }).end('ok\n');
  });
  // Answers must not depend on sockets that an agent kept open before a fault.
  http.keepAliveTimeout = 1_000;
  closers.push(closer(http));
  const httpPort = await listen(http, { host });

  const answerTo = (message: Buffer): Buffer => {
    const query = dnsPacket.decode(message);
    const name = query.questions?.[0]?.name ?? '';
    const check = name.split('.')[0] ?? '';
    probes.push({ check, at: Date.now() });
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
    dns.on('message', (message, from) => dns.send(answerTo(message), from.port, from.address));
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
  return {
    httpPort,
    dnsPort,
    tcpPort,
    probes,
    setBad: (check, isBad) => void (isBad ? bad.add(check) : bad.delete(check)),
    close: async () => {
      await Promise.all(closers.map((close) => close()));
    },
  };
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
