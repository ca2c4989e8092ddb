import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

export type TcpTarget = { port: number; close: () => Promise<void> };

/** How each sample server treats a connection. */
export const tcpBehaviours = {
  /** Sends back what it receives. */
  echo: (socket) => void socket.pipe(socket),
  /** Greets first, then answers each chunk with one line. */
  banner: (socket) => {
    socket.write('220 sample ready\r\n');
    socket.on('data', () => socket.write('250 ok\r\n'));
  },
  /** Accepts the connection and all data, and never sends anything. */
  silent: (socket) => void socket.resume(),
  /** Closes each connection at once. */
  closing: (socket) => void socket.end(),
  /** Resets each connection at once. */
  resetting: (socket) => void socket.resetAndDestroy(),
} as const satisfies Record<string, (socket: Socket) => void>;
export type TcpBehaviour = keyof typeof tcpBehaviours;

/** A TCP server on `host` that treats each connection as `behaviour` says. Port 0 = any free one. */
export async function startTcpTarget(
  behaviour: TcpBehaviour | ((socket: Socket) => void),
  options: { host?: string; port?: number } = {},
): Promise<TcpTarget> {
  const behave = typeof behaviour === 'string' ? tcpBehaviours[behaviour] : behaviour;
  const server = createServer({ allowHalfOpen: false }, (socket) => {
    socket.on('error', () => socket.destroy());
    behave(socket);
  });
  const port = await listen(server, options);
  return { port, close: closer(server) };
}

/** Listens and resolves with the port. Rejects with the system's error, for example EADDRINUSE. */
export async function listen(server: Server, options: { host?: string; port?: number }): Promise<number> {
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

/** Closes a server together with its open connections. Call it before the first connection comes. */
export function closer(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  let closed: Promise<void> | undefined;
  return () =>
    (closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    }));
}
