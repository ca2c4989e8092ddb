import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** A forward proxy for HTTP and, by CONNECT, for everything else. */
export type ForwardProxy = {
  port: number;
  /** What it was asked for, with the headers. */
  asked: { line: string; headers: IncomingMessage['headers'] }[];
  close: () => Promise<void>;
};

export async function startForwardProxy(): Promise<ForwardProxy> {
  const asked: ForwardProxy['asked'] = [];
  const sockets = new Set<Socket>();
  const remember = ({ method, url, headers }: IncomingMessage) =>
    asked.push({ line: `${method} ${url}`, headers });
  const server = createServer((incoming, outgoing) => {
    remember(incoming);
    const { url = '', method, headers } = incoming;
    const onward = httpRequest(url, { method, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    remember(incoming);
    const { hostname, port } = new URL(`http://${incoming.url}`);
    const target = connect(Number(port) || 80, hostname, () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    client.on('error', () => target.destroy());
    client.on('close', () => target.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    asked,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
