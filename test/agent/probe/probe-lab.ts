import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { runningAgent } from '../../helpers/running-agent.ts';
import { startHealthServer, type HealthServer } from '../../../src/agent/metrics/health.ts';
import { createProbeEndpoint, type ProbeEndpointOptions } from '../../../src/agent/probe/endpoint.ts';
import { createAuthority } from '../../../src/targets/certificates.ts';
import { startTargets, type Targets } from '../../../src/targets/targets.ts';
import { startTokenServer } from './token-server.ts';
import { startForwardProxy, type ForwardProxy } from './forward-proxy.ts';
import type { MorePorts } from './probe-cases.ts';

/** Whether a program of Debian's packages is on this machine. */
export const hasProgram = (name: string): boolean => spawnSync(name, ['--version']).error === undefined;

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until a URL answers with 200. */
export async function untilAnswers(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    if (tries > 300) throw new Error(`${url} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A program whose output is thrown away. `stop` waits for its end. */
export function startProgram(name: string, args: readonly string[]): { stop: () => Promise<void> } {
  const child: ChildProcess = spawn(name, args, { stdio: 'ignore' });
  const closed = once(child, 'close');
  return {
    stop: async () => {
      child.kill();
      await closed;
    },
  };
}

/** The endpoint on a port of its own, as the agent opens it. */
export async function startProbe(
  options: Partial<ProbeEndpointOptions> & { file: string },
): Promise<HealthServer> {
  const probe = await createProbeEndpoint({
    targets: ['*'],
    token: null,
    proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
    useOsDnsResolver: false,
    now: Date.now,
    ...options,
  });
  return startHealthServer({
    port: 0,
    host: '127.0.0.1',
    view: () => runningAgent,
    metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: '' }),
    probe,
  });
}

export type ProbeLab = {
  folder: string;
  /** Path of the PEM of the authority. */
  ca: string;
  targets: Targets;
  ports: MorePorts;
  proxy: ForwardProxy;
  close: () => Promise<void>;
};

/** All sample targets, and those that only these tests have. */
export async function startProbeLab(): Promise<ProbeLab> {
  const folder = mkdtempSync(join(tmpdir(), 'probe-'));
  const targets = await startTargets();
  const authority = await createAuthority({ commonName: 'Probe' });
  const certificate = await authority.issue({
    commonName: 'localhost',
    names: ['localhost', '127.0.0.1'],
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 86_400_000 * 30),
  });
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, `${targets.caCertificate}\n${authority.certificate.cert}`);
  const grpc = createSecureServer({ ...certificate, allowHTTP1: false });
  grpc.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  });
  grpc.on('sessionError', () => undefined).listen(0, '127.0.0.1');
  const mail = createServer((socket) => greet(socket, createSecureContext(certificate))).listen(
    0,
    '127.0.0.1',
  );
  await Promise.all([once(grpc, 'listening'), once(mail, 'listening')]);
  const proxy = await startForwardProxy();
  const tokens = await startTokenServer();
  const portOf = (server: { address: () => unknown }) => (server.address() as AddressInfo).port; // they listen on TCP
  return {
    folder,
    ca,
    targets,
    proxy,
    ports: { grpcTls: portOf(grpc), startTls: portOf(mail), closed: await freePort(), tokens: tokens.port },
    close: async () => {
      grpc.close();
      mail.close();
      await proxy.close();
      await tokens.close();
      await targets.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A mail server that knows STARTTLS and QUIT. */
function greet(socket: Socket, secureContext: ReturnType<typeof createSecureContext>): void {
  socket.on('error', () => undefined).write('220 mail ready\r\n');
  socket.once('data', () => {
    socket.write('220 go ahead\r\n', () => {
      const secure = new TLSSocket(socket, { isServer: true, secureContext });
      secure.on('error', () => undefined).once('data', () => secure.end('221 bye\r\n'));
    });
  });
}
