import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server on loopback that speaks first, and answers each message of the client with the next part of the input. */
export type ConversingServer = {
  /** Starts it at the first call, and sets the parts. Returns its port. */
  say: (parts: readonly Buffer[]) => Promise<number>;
  close: () => void;
};

/** A client that waits for more gets the next part after this time. */
const patienceMs = 40;
const maxParts = 20;

/** After the last part the server ends the connection, so that nobody waits. Nothing is started yet. */
export function createConversingServer({ greets }: { greets: boolean }): ConversingServer {
  let server: Server | null = null;
  let parts: readonly Buffer[] = [];
  const converse = (socket: Socket): void => {
    const left = [...parts];
    let waiting: NodeJS.Timeout | undefined;
    const next = (): void => {
      clearTimeout(waiting);
      if (left.length > 1) waiting = setTimeout(next, patienceMs);
      const part = left.shift();
      if (left.length === 0) socket.end(part ?? Buffer.alloc(0));
      else if (part !== undefined) socket.write(part);
    };
    socket.on('error', () => undefined).on('close', () => clearTimeout(waiting));
    socket.on('data', next);
    if (greets) next();
  };
  return {
    say: async (said) => {
      parts = said;
      if (server === null) {
        server = createServer(converse).listen(0, '127.0.0.1');
        await once(server, 'listening');
        server.unref();
      }
      return (server.address() as AddressInfo).port; // it listens on TCP
    },
    close: () => void server?.close(),
  };
}

/** The parts of an input: whatever is between two bytes of zero. */
export function partsOf(data: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = data.indexOf(0); at >= 0 && parts.length < maxParts; at = data.indexOf(0, from)) {
    parts.push(data.subarray(from, at));
    from = at + 1;
  }
  return [...parts, data.subarray(from)];
}
