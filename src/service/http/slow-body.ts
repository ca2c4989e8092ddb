import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Bodies that may take longer than any other request: large uploads over slow lines. They have bounds of their own. */

const allowed = new WeakSet<Socket>();

/** Whether the request that is under way on a connection may take longer than the server's `requestTimeout`. */
export function mayBeSlow(socket: Socket): boolean {
  return allowed.has(socket);
}

/**
 * Runs `read`, which reads the body, without the server's bound on the time of a request. Its signal fires when `totalMs`
 * are over, or when nothing has come for `idleMs`.
 */
export async function withSlowBody<T>(
  request: IncomingMessage,
  { totalMs, idleMs }: { totalMs: number; idleMs: number },
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { socket } = request;
  const controller = new AbortController();
  const stop = () => controller.abort(new BodyTooSlow('the body took too long'));
  const timer = setTimeout(stop, totalMs);
  allowed.add(socket);
  // Of the request, not of the socket: without a listener of its own the server would end the connection.
  request.setTimeout(idleMs, stop);
  try {
    return await read(controller.signal);
  } finally {
    clearTimeout(timer);
    allowed.delete(socket);
    socket.setTimeout(0);
    request.off('timeout', stop);
    // What was not read of a refused body stands before the next request of its connection.
    if (!request.destroyed && !request.complete) request.resume();
  }
}

export class BodyTooSlow extends Error {}
