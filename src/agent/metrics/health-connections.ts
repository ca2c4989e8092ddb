import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Connections to the health port at a time. Probes and Prometheus need a few. */
const maxConnections = 64;

/**
 * Keeps slow clients from filling the health port: while it is full, a new connection closes the oldest one that has
 * no complete request, so that a probe is always answered.
 */
export function boundConnections(server: Server, most = maxConnections): void {
  const waiting = new Set<Socket>(); // in the order in which they came
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    waiting.add(socket);
    socket.once('close', () => {
      open -= 1;
      waiting.delete(socket);
    });
    if (open <= most) return;
    const [oldest = socket] = waiting;
    oldest.destroy();
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    waiting.delete(socket);
    // A kept-alive connection waits again.
    response.once('finish', () => {
      if (!socket.destroyed) waiting.add(socket);
    });
  });
}

/** Calls `make` once for all who ask while it runs. */
export function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= make().finally(() => {
      running = null;
    });
    return running;
  };
}
