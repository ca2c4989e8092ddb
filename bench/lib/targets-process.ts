/**
 * Child process of the benchmarks: an HTTP, an HTTPS, a TCP and a gRPC server on loopback. Arguments: certificate and key files.
 * `/delay?ms=50` answers after about that time; `x-delay-ms` has the actual delay.
 */
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { startGrpcTarget } from '../../src/targets/grpc-target.ts';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';

const [certFile = '', keyFile = ''] = process.argv.slice(2);
const body = Buffer.from('x'.repeat(512));

const answer: RequestListener = (request, response) => {
  const url = request.url ?? '/';
  if (!url.startsWith('/delay')) {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length }).end(body);
    return;
  }
  const started = performance.now();
  setTimeout(
    () => {
      const waited = performance.now() - started;
      response.writeHead(200, { 'content-length': 2, 'x-delay-ms': waited.toFixed(3) }).end('ok');
    },
    Number(new URL(url, 'http://localhost').searchParams.get('ms') ?? 50),
  );
};

const listen = (server: Server | TcpServer) =>
  new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', 1024, () => resolve((server.address() as AddressInfo).port)); // a TCP server's address
  });

const http = await listen(createHttpServer({ keepAlive: false }, answer));
const https = await listen(
  createHttpsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, answer),
);
const tcp = await listen(createTcpServer((socket) => socket.on('error', () => socket.destroy()).resume()));
const { port: grpc } = await startGrpcTarget();
console.log(JSON.stringify({ http, https, tcp, grpc }));
// Exit when the benchmark does, even if it crashes.
process.stdin.on('end', () => process.exit(0)).resume();
process.on('SIGTERM', () => process.exit(0));
