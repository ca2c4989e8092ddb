import { once } from 'node:events';
import { createSecureServer, createServer, type ServerHttp2Stream } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { toError } from '../../errors.ts';
import { codeOf } from '../../system-errors.ts';
import { emptyAnswer, makeCall, openSession } from '../../executors/grpc/call.ts';
import { frameOf } from '../../executors/grpc/frames.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

/** Calls over HTTP/2 to this machine itself, as gRPC checks make them. `host`: where the server listens. */
export function grpcProbes(host = '127.0.0.1'): Probe[] {
  return [{ name: 'gRPC', run: (signal) => calls(host, signal) }];
}

type Way = 'plain text' | 'TLS';
// Anonymous, because it needs no certificate.
const anonymous = { ciphers: 'AECDH-AES128-SHA:@SECLEVEL=0', maxVersion: 'TLSv1.2' } as const;

async function calls(host: string, signal: AbortSignal): Promise<Omit<Finding, 'name'>> {
  for (const way of ['plain text', 'TLS'] as const) {
    try {
      await call(way, host, signal);
    } catch (error: unknown) {
      // The packets came through: OpenSSL itself has refused.
      if (codeOf(error)?.startsWith('ERR_SSL_') === true) {
        return note(
          `HTTP/2 in plain text; by TLS it was not tried, because this machine's OpenSSL refuses TLS 1.2 without a certificate (${codeOf(error)})`,
        );
      }
      return problem(
        `a call to this machine in ${way} failed: ${toError(error).message}`,
        'check whether a firewall or sandbox stops connections to this machine itself; gRPC checks fail in this way, too',
      );
    }
  }
  return ok(`HTTP/2 in plain text and by TLS (nghttp2 ${process.versions['nghttp2']})`);
}

/** Asks the health service of a server that lives as long as the call. */
async function call(way: Way, host: string, signal: AbortSignal): Promise<void> {
  const isSecure = way === 'TLS';
  const server = isSecure ? createSecureServer(anonymous) : createServer();
  server.on('stream', answerServing).on('sessionError', () => undefined);
  let socket: Socket | null = null;
  try {
    server.listen(0, host);
    await once(server, 'listening', { signal });
    const { port } = server.address() as AddressInfo; // of a listening TCP server
    socket = isSecure
      ? connectTls({ host, port, ...anonymous, ALPNProtocols: ['h2'], rejectUnauthorized: false })
      : connect(port, host);
    socket.on('error', () => undefined);
    await once(socket, isSecure ? 'secureConnect' : 'connect', { signal });
    const authority = `${host}:${port}`;
    const session = openSession(socket, `${isSecure ? 'https' : 'http'}://${authority}`);
    const answer = emptyAnswer();
    await makeCall(
      session,
      {
        path: '/grpc.health.v1.Health/Check',
        authority,
        secure: isSecure,
        metadata: [],
        messages: [await frameOf(Buffer.alloc(0), 'none')],
        compression: 'none',
        timeoutMs: null,
        userAgent: 'doctor',
      },
      { answer, signal, limits: { maxMessageBytes: 1024, maxMessages: 1, isStream: false } },
    );
    if (answer.status !== 0) throw new Error(`the status is ${answer.status ?? 'missing'}`);
  } finally {
    socket?.destroy();
    server.close();
  }
}

/** A HealthCheckResponse whose status is SERVING. */
const serving = Buffer.from([0, 0, 0, 0, 2, 0x08, 1]);

function answerServing(stream: ServerHttp2Stream): void {
  stream.on('error', () => undefined);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(serving);
}
