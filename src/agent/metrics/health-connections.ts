import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { isUnread } from '../../unread-answers.ts';

/** Connections to the health port at a time. Probes and Prometheus need a few. */
const maxConnections = 64;

/**
 * Keeps slow clients from filling the health port: while it is full, a new connection closes the oldest one that has
 * no complete request, or else one whose client does not read its answer, so that a probe is always answered.
 */
export function boundConnections(server: Server, most = maxConnections): void {
  // Each in the order in which they came.
  const waiting = new Set<Socket>();
  const answering = new Set<Socket>();
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open += 1;
    waiting.add(socket);
    socket.once('close', () => {
      open -= 1;
      waiting.delete(socket);
      answering.delete(socket);
    });
    if (open <= most) return;
    const [oldest] = waiting;
    const unread = oldest === socket ? [...answering].find(isUnread) : undefined;
    (unread ?? oldest ?? socket).destroy();
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    waiting.delete(socket);
    answering.add(socket);
    // A kept-alive connection waits again.
    response.once('finish', () => {
      answering.delete(socket);
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
