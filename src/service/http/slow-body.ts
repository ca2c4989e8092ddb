import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Bodies that may take longer than any other request: large uploads over slow lines. They have time limits of their
 * own.
 */

const allowed = new WeakSet<Socket>();

/** Whether the current request of a connection may take longer than the server's `requestTimeout`. */
export function mayBeSlow(socket: Socket): boolean {
  return allowed.has(socket);
}

/**
 * Runs `read`, which reads the body, without the server's request timeout. Its signal fires after `totalMs`, or when
 * nothing has arrived for `idleMs`.
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
  // Set on the request, not on the socket. Without its own listener, the server would close the connection.
  request.setTimeout(idleMs, stop);
  try {
    return await read(controller.signal);
  } finally {
    clearTimeout(timer);
    allowed.delete(socket);
    socket.setTimeout(0);
    request.off('timeout', stop);
    // The unread rest of a refused body precedes the next request on the connection.
    if (!request.destroyed && !request.complete) request.resume();
  }
}

export class BodyTooSlow extends Error {}
