import { createServer, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

export type GrpcTarget = { port: number; close: () => Promise<void> };

/** The types of the sample service, for checks that bring them as text. */
export const shopProto = `syntax = "proto3";
package sample;
service Shop {
  rpc GetProduct (ProductRequest) returns (Product);
}
message ProductRequest { string name = 1; }
message Product { string name = 1; int32 price = 2; }
`;

const ok = 0;
const notFound = 5;
const unimplemented = 12;
/** The answer of the service named slow takes this long, in milliseconds. */
const slowMs = 600;

/** The state of a service by its name: 1 = serving, 2 = not serving; undefined = there is none. */
type StateOf = (service: string) => number | undefined;

/** Health of the sample services. */
const health = new Map([
  ['', 1],
  ['shop', 1],
  ['slow', 1],
  ['closed', 2],
]);

/** The first field of a request, a text; every request of this server has no other. */
function nameIn(frame: Buffer): string {
  const message = frame.subarray(5);
  return message[0] === 0x0a ? message.subarray(2, 2 + (message[1] ?? 0)).toString('utf8') : '';
}

const frameOf = (message: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);

function answer(stream: ServerHttp2Stream, status: number, message: Buffer | null): void {
  const head = { ':status': 200, 'content-type': 'application/grpc' };
  if (message === null) {
    stream.respond({ ...head, 'grpc-status': String(status) }, { endStream: true });
    return;
  }
  stream.respond({ ...head, 'x-served-by': 'sample' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(status) }));
  stream.end(frameOf(message));
}

type Call = { path: string; body: Buffer };

function respond(stream: ServerHttp2Stream, { path, body }: Call, stateOf: StateOf): void {
  const name = nameIn(body);
  if (path === '/sample.Shop/GetProduct') {
    const text = Buffer.from(name === '' ? 'lamp' : name);
    const product = Buffer.concat([Buffer.from([0x0a, text.length]), text, Buffer.from([0x10, 12])]);
    answer(stream, text.length > 100 ? notFound : ok, text.length > 100 ? null : product);
    return;
  }
  if (path !== '/grpc.health.v1.Health/Check') {
    answer(stream, unimplemented, null);
    return;
  }
  const state = stateOf(name);
  answer(stream, state === undefined ? notFound : ok, state === undefined ? null : Buffer.from([8, state]));
}

/** A gRPC server in plain text: the health service and a shop. Port 0 = any free one. `stateOf`: other services' health. */
export async function startGrpcTarget(
  options: { host?: string; port?: number; stateOf?: StateOf } = {},
): Promise<GrpcTarget> {
  const stateOf = options.stateOf ?? ((service) => health.get(service));
  const sessions = new Set<Http2Session>();
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session)).on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => {
    const path = String(headers[':path']);
    const parts: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (part: Buffer) => {
      // Requests of the samples are small; nobody may fill the memory.
      if (parts.length < 100) parts.push(part);
    });
    stream.on('end', () => {
      const body = Buffer.concat(parts);
      const wait = nameIn(body) === 'slow' ? slowMs : 0;
      setTimeout(() => {
        if (!stream.destroyed) respond(stream, { path, body }, stateOf);
      }, wait);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port, // of a listening TCP server
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}
