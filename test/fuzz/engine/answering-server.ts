import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server on loopback that answers each connection's first bytes with the input of the moment. */
export type AnsweringServer = {
  /** Starts it at the first call, and sets what it answers. Returns its port. */
  answerWith: (data: Buffer) => Promise<number>;
  close: () => void;
};

/** `send` writes the answer and ends the connection. Nothing is started yet. */
export function createAnsweringServer(send: (socket: Socket, answer: Buffer) => void): AnsweringServer {
  let server: Server | null = null;
  let answer: Buffer = Buffer.alloc(0);
  return {
    answerWith: async (data) => {
      answer = data;
      if (server === null) {
        server = createServer((socket) => {
          socket.on('error', () => undefined);
          socket.once('data', () => send(socket, answer));
        }).listen(0, '127.0.0.1');
        await once(server, 'listening');
        server.unref();
      }
      return (server.address() as AddressInfo).port; // it listens on TCP
    },
    close: () => void server?.close(),
  };
}
