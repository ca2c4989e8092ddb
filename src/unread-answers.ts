import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Clients that do not read their answers. The kernel of such a client keeps its connection alive, so without limits its
 * answers would stay in memory, and its connection open, for as long as it likes.
 */

export type AnswerLimits = {
  /** A connection is closed if no byte of a waiting answer could be sent for this long, in milliseconds. */
  unreadMs: number;
  /** Requests of one connection that may wait for their answers. A client that sends more without reading is disconnected. */
  waiting: number;
};

/** Called with each request before anything else answers it. False = the connection is closed: do nothing for this request. */
export type LimitAnswer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Creates the limits of one server. */
export function createAnswerLimits({ unreadMs, waiting }: AnswerLimits): LimitAnswer {
  const waitingOf = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // The rest of what had arrived is still parsed after the connection was closed.
    if (socket.destroyed) return false;
    const count = (waitingOf.get(socket) ?? 0) + 1;
    if (count > waiting) {
      socket.destroy();
      return false;
    }
    waitingOf.set(socket, count);
    response.once('close', () => waitingOf.set(socket, (waitingOf.get(socket) ?? 1) - 1));
    // Node starts this time again whenever a part of the answer was sent. An answer that is still being made has nothing to send.
    response.setTimeout(unreadMs, () => {
      if (isUnread(socket)) socket.destroy();
    });
    return true;
  };
}

/** Whether bytes wait that the client has not taken. */
export const isUnread = (socket: Socket): boolean => socket.writableLength > 0;
