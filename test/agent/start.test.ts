import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo, type Socket } from 'node:net';
import { fatalLines } from '../helpers/fatal-line.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { killAll, startProgram, until, type Program } from '../e2e/program.ts';
import { builtProgram } from '../helpers/build.ts';
import { ownError, peerKey, startProtocolPeer, tcpJob, type ProtocolPeer } from './link/protocol-peer.ts';

/** `location-agent start` as a process: signals, exit codes, what it writes. */

let main: string;
let folder: string;
let peer: ProtocolPeer;
const sockets = new Set<Socket>();
const silent = net.createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined);
});

beforeAll(async () => {
  main = await builtProgram();
}, 180_000);
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'start-'));
  peer = await startProtocolPeer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  killAll();
  await peer.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  silent.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(env: Record<string, string> = {}): Program {
  return startProgram(main, ['start'], {
    API_KEY: peerKey,
    SERVICE_URL: peer.url.href,
    AGENT_HEALTH_PORT: '0',
    AGENT_DATA_DIR: folder,
    ...env,
  });
}

const healthUrl = (program: Program) =>
  until(() => /"healthUrl":"(http:[^"]+)"/.exec(program.stderr())?.[1], 'the health port');

/** A job that runs until it is killed. */
async function startLongJob(program: Program): Promise<void> {
  await healthUrl(program);
  peer.add(tcpJob((silent.address() as AddressInfo).port, { request: { data: 'x' } }));
  await until(() => sockets.size > 0, 'the connection of the job');
}

test('an agent that never reached the service exits without error messages', async () => {
  const program = start({ SERVICE_URL: 'http://127.0.0.1:9' });
  await until(() => program.stderr().includes('hello not accepted'), 'a hello in vain');
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  expect(program.stderr()).not.toContain('"level":"ERROR"');
});

test('an idle agent exits with 0 on SIGTERM, and never logs its key', async () => {
  const program = start();
  await until(() => program.stderr().includes('hello accepted'), 'hello');
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  expect(program.stdout()).toBe('');
  expect(program.stderr()).not.toContain(peerKey);
  for (const line of program.stderr().trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
});

test('a second SIGTERM aborts running jobs: exit code 75, and the job is handed back', async () => {
  const program = start({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
  await startLongJob(program);
  const url = await healthUrl(program);
  program.kill('SIGTERM');
  await until(async () => (await fetch(`${url}/-/readiness`)).status === 503, 'readiness to go');
  program.kill('SIGTERM');
  expect(await program.exited).toBe(75);
  expect(peer.releases).toMatchObject([{ reason: 'draining', nextAttempt: 1 }]);
});

test('the end of the grace period does the same', async () => {
  const program = start({ AGENT_SHUTDOWN_GRACE_SECONDS: '0' });
  await startLongJob(program);
  program.kill('SIGINT');
  expect(await program.exited).toBe(75);
  expect(peer.releases).toHaveLength(1);
});

test('a misspelt variable is one line before all others', async () => {
  const program = start({ API_KEY: '', API_KYE: peerKey });
  expect(await program.exited).toBe(78);
  const [first = ''] = program.stderr().split('\n');
  expect(JSON.parse(first)).toMatchObject({ level: 'WARN', variable: 'API_KYE', nearest: 'API_KEY' });
  expect(program.stderr()).not.toContain(peerKey);
  expect(fatalLines(program.stderr())).toHaveLength(1);
});

test('LOG_FORMAT=text writes lines for people, without colour outside a terminal', async () => {
  const program = start({ LOG_FORMAT: 'text' });
  await until(() => program.stderr().includes('hello accepted'), 'hello');
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  for (const line of program.stderr().trim().split('\n')) expect(line).toMatch(/^\d\d:\d\d:\d\d [A-Z]+ +\w/);
});

test.each([
  [
    { API_KEY: 'pl_' },
    78,
    'CONFIGURATION: API_KEY is not a key of a private location: set it to one, which begins with pl_; the API key of an account belongs in SERVICE_API_KEY',
  ],
  [
    { AGENT_DATA_DIR: '/dev/null/x' },
    78,
    'CONFIGURATION: AGENT_DATA_DIR: cannot write in /dev/null/x (ENOTDIR): choose a folder that this user may write to: see location-agent start --help',
  ],
  [
    { AGENT_DATA_DIR: '/proc/x' },
    78,
    'CONFIGURATION: AGENT_DATA_DIR: cannot write in /proc/x (ENOENT): choose a folder that this user may write to: see location-agent start --help',
  ],
  [
    { NODE_EXTRA_CA_CERTS: '/etc/hostname' },
    78,
    'CONFIGURATION: NODE_EXTRA_CA_CERTS: cannot use /etc/hostname (it contains no PEM certificate): see location-agent start --help',
  ],
] as const)('%j is one line', async (env, code, line) => {
  const program = start(env);
  expect(await program.exited).toBe(code);
  // Newer Nodes call a parent that is no folder EEXIST.
  expect(program.stderr().trimEnd()).not.toContain('\n');
  expect(fatalLines(program.stderr().replace('EEXIST', 'ENOTDIR'))).toEqual([line]);
});

test('/probe is on the health port if PROBE_CONFIG names a file', async () => {
  const file = join(folder, 'blackbox.yml');
  writeFileSync(file, 'modules: {tcp: {prober: tcp, timeout: 5s}}');
  const program = start({ PROBE_CONFIG: file, PROBE_TARGETS: '127.0.0.1' });
  const { port } = silent.address() as AddressInfo; // it listens on TCP
  const answer = await fetch(`${await healthUrl(program)}/probe?module=tcp&target=127.0.0.1:${port}`);
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('\nprobe_success 1\n')]);
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  const without = start();
  expect((await fetch(`${await healthUrl(without)}/probe?target=127.0.0.1`)).status).toBe(404);
});

test('a field of PROBE_CONFIG that is not supported is one line and 78', async () => {
  const file = join(folder, 'blackbox.yml');
  writeFileSync(file, 'modules: {http_2xx: {prober: http, http: {enable_http3: true}}}');
  const program = start({ PROBE_CONFIG: file, PROBE_TARGETS: '*' });
  expect(await program.exited).toBe(78);
  expect(fatalLines(program.stderr())).toEqual([
    `CONFIGURATION: PROBE_CONFIG: ${file}: modules.http_2xx.http.enable_http3 is not supported: see location-agent start --help`,
  ]);
});

test('a refused key is one line of its own and 77', async () => {
  peer.misbehave('hello', (_request, response) => {
    response.writeHead(401).end(JSON.stringify(ownError('no such key')));
    return true;
  });
  const program = start({ LOG_LEVEL: 'ERROR' });
  expect(await program.exited).toBe(77);
  expect(fatalLines(program.stderr())).toEqual([
    `KEY_REFUSED: API_KEY was refused by ${peer.url.origin}: set it to an active key of the private location`,
  ]);
  expect(program.stderr().trimEnd()).not.toContain('\n');
});

test('kill -9 loses no result that was finished', async () => {
  peer.misbehave('results', (_request, response) => {
    response.destroy();
    return true;
  });
  const program = start();
  await healthUrl(program);
  const closed = net.createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const jobs = Array.from({ length: 20 }, () => peer.add(tcpJob(port)));
  await until(
    () =>
      peer.calls.some(
        ({ route, body }) => route === 'results' && JSON.stringify(body).includes(jobs.at(-1)?.jobId ?? ''),
      ),
    'all results in a batch',
  );
  program.kill('SIGKILL');
  await program.exited;
  expect(peer.results).toEqual([]);
  peer.behave();
  start();
  await until(() => peer.results.length === 20, 'the results of the killed agent');
  expect(new Set(peer.results.map(({ jobId }) => jobId))).toEqual(new Set(jobs.map(({ jobId }) => jobId)));
});
