import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * A proxy between the service and PostgreSQL that breaks the connection at a chosen statement: `before` the server gets
 * it, or `after` the server has carried it out and before the client gets the answer. For a `commit`, `after` is the case
 * in which nobody but the server knows that the transaction has taken effect.
 */
export type CuttingProxy = {
  port: number;
  /** Cuts at the n-th statement from now on (from 1), once. */
  cutAt(statement: number, when: 'before' | 'after'): void;
  /** Disarms the proxy. Returns whether it has cut since `cutAt`, and the statements that it saw since then. */
  disarm(): { hasCut: boolean; statements: number };
  close(): Promise<void>;
};

/** `q`: a simple query; `S`: the end of a prepared one. */
const ends = new Set(['Q', 'S']);

export async function startCuttingProxy(target: { host: string; port: number }): Promise<CuttingProxy> {
  let armed: { statement: number; when: 'before' | 'after' } | null = null;
  let statements = 0;
  let hasCut = false;
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    const upstream = connect(target);
    /** The server carries out the statement after whose answer the client is cut off. */
    let isLast = false;
    const cut = () => {
      hasCut = true;
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      // One statement is several small messages: otherwise each waits 40 ms for the acknowledgement of the last one.
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    // The first message of a client has no type.
    const fromClient = messages({ typed: false }, (type, bytes) => {
      if (ends.has(type)) {
        statements += 1;
        if (armed?.statement === statements) {
          const { when } = armed;
          armed = null;
          if (when === 'before') return cut();
          isLast = true;
        }
      }
      if (!upstream.destroyed) upstream.write(bytes);
    });
    const fromServer = messages({ typed: true }, (type, bytes) => {
      if (!isLast) client.write(bytes);
      else if (type === 'Z') cut(); // ready for the next statement: this one is complete
    });
    client.on('data', fromClient);
    upstream.on('data', fromServer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cutAt: (statement, when) => {
      armed = { statement, when };
      statements = 0;
      hasCut = false;
    },
    disarm: () => {
      armed = null;
      return { hasCut, statements };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Splits a stream of the protocol into messages: one byte for the type, then the length of the rest. */
function messages(from: { typed: boolean }, each: (type: string, bytes: Buffer) => void) {
  let { typed } = from;
  let left = Buffer.alloc(0);
  return (chunk: Buffer) => {
    left = Buffer.concat([left, chunk]);
    for (;;) {
      const head = typed ? 1 : 0;
      if (left.length < head + 4) return;
      const length = head + left.readUInt32BE(head);
      if (left.length < length) return;
      const bytes = left.subarray(0, length);
      left = left.subarray(length);
      each(typed ? String.fromCharCode(bytes[0] ?? 0) : '', bytes);
      typed = true;
    }
  };
}
