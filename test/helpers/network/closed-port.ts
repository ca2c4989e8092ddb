import { createServer } from 'node:net';

/** A port of 127.0.0.1 on which no process listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number }; // it listens on TCP
  await new Promise((closed) => server.close(closed));
  return port;
}
