/**
 * Runs in a container of the full image: what agents are pointed at, and what stands between them and the service. All on
 * fixed ports of a private network:
 *   80 sample pages and /held/… below · 443 the same over TLS · 7 echo · 53 names · 3128 a proxy · 50051 gRPC
 *   4401 the service, while the gate is open · 4402 and 4443 (TLS) always · 4873 a registry with Playwright's packages
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect, createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createAuthority } from '/app/dist/targets/certificates.js';
import { startDnsTarget } from '/app/dist/targets/dns-target.js';
import { startGrpcTarget } from '/app/dist/targets/grpc-target.js';
import { startHttpTarget } from '/app/dist/targets/http-target.js';
import { startTcpTarget } from '/app/dist/targets/tcp-target.js';

const host = '0.0.0.0';
const modules = '/app/runtimes/2026.04/node_modules';
const say = (response, value) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

/** Requests of /hold/NAME that wait for /release/NAME. */
const held = new Map();
/** Those that the proxy was asked for. */
const proxied = [];
let gateIsOpen = true;
const throughGate = new Set();

const routes = {
  hold: ({ response, argument }) => {
    held.set(argument, response);
    response.on('close', () => held.get(argument) === response && held.delete(argument));
  },
  held: ({ response }) => say(response, [...held.keys()]),
  release: ({ response, argument }) => {
    held.get(argument)?.end('released');
    say(response, held.delete(argument));
  },
  gate: ({ response, argument }) => {
    gateIsOpen = argument === 'open';
    if (!gateIsOpen) for (const socket of throughGate) socket.destroy();
    say(response, gateIsOpen);
  },
  proxied: ({ response }) => say(response, proxied),
};

const day = 86_400_000;
const authority = await createAuthority({ commonName: 'Authority of the tests' });
const certificate = await authority.issue({
  commonName: 'targets',
  names: ['targets'],
  notBefore: new Date(Date.now() - day),
  notAfter: new Date(Date.now() + 90 * day),
});
writeFileSync('/tmp/authority.pem', authority.certificate.cert);

function pipe(from, to) {
  from.on('error', () => to.destroy()).on('close', () => to.destroy());
  to.on('error', () => from.destroy()).on('close', () => from.destroy());
  from.pipe(to).pipe(from);
}
const toService = (socket) => pipe(socket, connect(4400, 'service'));
const toServiceWhileOpen = (socket) => {
  if (!gateIsOpen) return void socket.destroy();
  throughGate.add(socket.on('close', () => throughGate.delete(socket)));
  toService(socket);
};

const proxy = http.createServer((request, response) => {
  proxied.push(`${request.method} ${request.url}`);
  const { method, headers } = request;
  const onward = http.request(request.url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.on('error', () => onward.destroy());
  request.pipe(onward);
});
proxy.on('connect', (request, socket, head) => {
  proxied.push(`CONNECT ${request.url}`);
  const [name, port] = request.url.split(':');
  const onward = connect(Number(port), name, () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    if (head.length > 0) onward.write(head);
    pipe(socket, onward);
  });
  onward.on('error', () => socket.destroy());
  socket.on('error', () => onward.destroy());
});

/** Packages of the runtime, as a registry has them: enough for a suite to install Playwright. */
const registry = http.createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://targets:4873');
  const [name, file] = decodeURIComponent(pathname.slice(1)).split('/-/');
  try {
    const { version, ...manifest } = JSON.parse(readFileSync(`${modules}/${name}/package.json`, 'utf8'));
    if (file !== undefined) {
      const tar = ['-czf', '-', '-C', `${modules}/${name}`, '--transform', 's,^\\.,package,', '.'];
      return void response.end(execFileSync('tar', tar, { maxBuffer: 2 ** 28 }));
    }
    const dist = { tarball: `http://targets:4873/${name}/-/package.tgz` };
    say(response, {
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...manifest, version, dist } },
    });
  } catch {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"no such package"}');
  }
});

const listening = (server, port) => new Promise((resolve) => server.listen(port, host, resolve));
await Promise.all([
  startHttpTarget({ host, port: 80, routes }),
  startHttpTarget({ host, port: 443, routes, certificate }),
  startTcpTarget('echo', { host, port: 7 }),
  startDnsTarget({ host, port: 53 }),
  startGrpcTarget({ host, port: 50051 }),
  listening(proxy, 3128),
  listening(createServer(toServiceWhileOpen), 4401),
  listening(createServer(toService), 4402),
  listening(createTlsServer(certificate, toService), 4443),
  listening(registry, 4873),
]);
process.on('SIGTERM', () => process.exit(0));
process.stdout.write('targets are ready\n');
