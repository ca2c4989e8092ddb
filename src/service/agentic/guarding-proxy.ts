import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { kindOfAddress } from '../../addresses/address-kind.ts';
import { checkedLookup, checkLiteral, type AddressRule } from '../engine/target-address.ts';

/**
 * The proxy through which the browser of an agentic check reaches the network, including redirects, sockets and
 * popups.
 * It checks the addresses that it connects to and refuses link-local ones, where clouds serve credentials, under any
 * name.
 */
export type GuardingProxy = { url: string; close: () => Promise<void> };

/** Connections of one browser. */
const max = { connections: 256, connectMs: 15_000 };

const rule: AddressRule = {
  allowPrivate: true,
  refusal: 'is a blocked address',
  kindOf: kindOfAddress,
};

/** Listens on a loopback port. */
export async function startGuardingProxy(): Promise<GuardingProxy> {
  const open = new Set<Duplex>();
  const keep = <S extends Duplex>(socket: S): S => {
    open.add(socket);
    // Either side may disconnect at any moment.
    socket.on('error', () => undefined);
    return socket.once('close', () => open.delete(socket));
  };
  const server = createServer({ requestTimeout: 0 }, (incoming, outgoing) => {
    try {
      forward(incoming, outgoing);
    } catch {
      outgoing.writeHead(502, { connection: 'close' }).end();
    }
  });
  server.maxConnections = max.connections;
  server.on('connection', keep);
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const target = dial(incoming.url ?? '');
    if (target === null) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    keep(target);
    target.setTimeout(max.connectMs, () => target.destroy());
    target.once('connect', () => {
      target.setTimeout(0);
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      if (head.length > 0) target.write(head);
      client.pipe(target).pipe(client);
    });
    client.once('close', () => target.destroy());
    target.once('close', () => client.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Parses an authority as in CONNECT (`name:443`, `[::1]:443`); null when it is not valid. */
function dial(authority: string): Socket | null {
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(authority) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return null;
  try {
    checkLiteral(host, rule);
  } catch {
    return null;
  }
  return connect({ host: host.replace(/^\[|\]$/g, ''), port: Number(port), lookup: checkedLookup(rule) });
}

/** Parses a request without TLS. Throws when the request must not be forwarded. */
function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const url = new URL(incoming.url ?? '');
  if (url.protocol !== 'http:') throw new TypeError('only http:// is forwarded');
  checkLiteral(url.hostname, rule);
  const { 'proxy-connection': _own, 'proxy-authorization': _never, ...headers } = incoming.headers;
  const sent = request({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 80 : Number(url.port),
    method: incoming.method,
    path: url.pathname + url.search,
    headers,
    lookup: checkedLookup(rule),
    agent: false,
  });
  sent.once('response', (answer) => {
    try {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    } catch {
      // The status or a header is not valid and cannot be forwarded.
      return void outgoing.destroy();
    }
    answer.once('error', () => outgoing.destroy());
    answer.pipe(outgoing);
  });
  sent.once('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502, { connection: 'close' }).end();
  });
  outgoing.once('close', () => sent.destroy());
  incoming.pipe(sent);
}
