import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import net, { type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  resultOf,
  type AgentService,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { startArtifactAgent, type ArtifactAgent } from '../../helpers/service/artifact-agent.ts';
import { builtProgram } from '../../helpers/build.ts';
import { anyDatabase } from '../../helpers/service/database.ts';

/** Artifacts from an attempt's folder to the service, over connections that break, stall and come back. */

const clock = createClock('2026-03-04T05:06:07.000Z');
let db: Db;
let folder: string;
let workDir: string;
let service: AgentService;
let link: Awaited<ReturnType<typeof startLink>>;
let key: string;
let tester: TestAgent;
let job: TestJob;
let agents: ArtifactAgent[] = [];

beforeAll(async () => {
  db = await anyDatabase.open();
});
afterAll(() => anyDatabase.close());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-artifacts-'));
  workDir = join(folder, 'work');
  mkdirSync(workDir);
  clock.set('2026-03-04T05:06:07.000Z');
  await emptyAccounts(db);
  service = await startReplica();
  link = await startLink((service.app.server.address() as AddressInfo).port);
  const accountId = await addAccount(db);
  ({ key } = await addLocation(db, { accountId, slug: 'office' }));
  tester = await connectAgent(service.app, { key });
  await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
  clock.advance(60_000);
  await tester.claim(0);
  await service.scheduler.tick();
  const [claimed] = await tester.claim();
  if (claimed === undefined) throw new Error('no job');
  job = claimed;
});
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.stop();
  await link.close();
  await service.app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startReplica(port = 0): Promise<AgentService> {
  const files = createArtifactFiles(join(folder, 'service'), { reserveBytes: 0 });
  const replica = await createAgentService(db, clock, files);
  await replica.app.listen({ host: '127.0.0.1', port });
  return replica;
}

/** The way to the service, on which a test can do what networks do. */
async function startLink(port: number) {
  const sockets = new Set<Socket>();
  const way = { port: 0, to: port, up: 0, breakAfter: Infinity, breaks: 0, stalled: false };
  const server = net.createServer((client) => {
    const upstream = net.connect(way.to, '127.0.0.1');
    let sent = 0;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          client.destroy();
          upstream.destroy();
          sockets.delete(socket);
        });
    }
    upstream.pipe(client);
    client.on('data', (chunk: Buffer) => {
      if (way.stalled) return client.pause();
      way.up += chunk.length;
      sent += chunk.length;
      if (!upstream.write(chunk)) {
        client.pause();
        upstream.once('drain', () => client.resume());
      }
      if (sent > way.breakAfter && way.breaks > 0) {
        way.breaks -= 1;
        client.destroy();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  way.port = (server.address() as AddressInfo).port;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    way,
    url: `http://127.0.0.1:${way.port}`,
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function start(instanceId: string, more: Partial<Parameters<typeof startArtifactAgent>[0]> = {}) {
  const dataDir = join(folder, 'data');
  const agent = await startArtifactAgent({ serviceUrl: link.url, key, dataDir, instanceId, ...more });
  agents.push(agent);
  return agent;
}

function file(name: string, content: string | Buffer) {
  const path = join(workDir, name);
  writeFileSync(path, content);
  return { path, name, type: 'file' as const, contentType: 'application/octet-stream' };
}

const states = async () =>
  Object.fromEntries(
    (
      await db.query<{ name: string; state: string; size: number }>(
        'select name, state, size from artifacts order by name',
      )
    ).map(({ name, state, size }) => [name, `${state} ${size}`]),
  );
const isStored = (expected: object, timeout = 20_000) =>
  expect.poll(states, { timeout, interval: 50 }).toEqual(expected);
const onDisk = () =>
  readdirSync(join(folder, 'data', 'artifacts'), { recursive: true }).filter((name) =>
    /\.(bin|about|part)$/.test(String(name)),
  );

test('files are scrubbed, listed as pending at once, and stored; an empty one too', async () => {
  const agent = await start('one', { secrets: [{ name: 'TOKEN', value: 'planted-secret' }] });
  const listed = await agent.keep(job, workDir, [
    file('log.txt', 'a planted-secret b'),
    file('empty.txt', ''),
  ]);
  expect(listed).toEqual([
    { name: 'log.txt', type: 'file', size: 13, state: 'pending', url: null },
    { name: 'empty.txt', type: 'file', size: 0, state: 'pending', url: null },
  ]);
  await isStored({ 'empty.txt': 'stored 0', 'log.txt': 'stored 13' });
  await expect.poll(onDisk).toEqual([]);
  expect(agent.metrics).toMatchObject({ artifactsSent: 2, artifactBytesSent: 13, artifactsLost: 0 });
  expect(agent.faults).toEqual([]);
});

test('a file above the limit, a link and a missing file are reported, and the others are sent', async () => {
  const agent = await start('one');
  const large = file('large.bin', '');
  truncateSync(large.path, 150 * 1024 * 1024 + 1);
  writeFileSync(join(folder, 'outside'), 'the agent may read this');
  symlinkSync(join(folder, 'outside'), join(workDir, 'link'));
  linkSync(join(folder, 'outside'), join(workDir, 'hard'));
  const plain = { type: 'file' as const, contentType: 'text/plain' };
  const notes: string[] = [];
  const listed = await agent.keep(
    job,
    workDir,
    [
      large,
      { ...plain, path: join(workDir, 'link'), name: 'link' },
      { ...plain, path: join(workDir, 'hard'), name: 'hard' },
      { ...plain, path: join(workDir, '..', 'outside'), name: 'outside' },
      { ...plain, path: join(workDir, 'none'), name: 'none' },
      file('small.txt', 'abc'),
    ],
    notes,
  );
  expect(listed.map(({ name, state, size }) => [name, state, size])).toEqual([
    ['large.bin', 'refused', 157_286_401],
    ['link', 'refused', 0],
    ['hard', 'refused', 0],
    ['outside', 'refused', 0],
    ['none', 'lost', 0],
    ['small.txt', 'pending', 3],
  ]);
  expect(notes[0]).toBe(
    'large.bin was not sent: it has 157286401 bytes; an artifact may have at most 157286400',
  );
  expect(notes).toHaveLength(5);
  await isStored({ 'small.txt': 'stored 3' });
});

test('an upload whose connection breaks again and again is resumed, not begun anew', async () => {
  const size = 6_000_000;
  link.way.breakAfter = 1_500_000;
  link.way.breaks = 3;
  const agent = await start('one');
  await agent.keep(job, workDir, [file('trace.zip.bin', randomBytes(size))]);
  await isStored({ 'trace.zip.bin': `stored ${size}` });
  expect(link.way.breaks).toBe(0);
  // Begun anew each time it would be 10.5 MB; what was under way in buffers is sent twice.
  expect(link.way.up).toBeLessThan(9_500_000);
  await expect.poll(() => agent.metrics.artifactsSent).toBe(1);
});

test('uploads resume after an outage of the service', async () => {
  const size = 20_000_000;
  const port = (service.app.server.address() as AddressInfo).port;
  const agent = await start('one');
  await agent.keep(job, workDir, [file('video.bin', randomBytes(size))]);
  await expect.poll(() => link.way.up, { timeout: 10_000, interval: 1 }).toBeGreaterThan(100_000);
  await service.app.close();
  link.cut();
  service = await startReplica(port);
  await isStored({ 'video.bin': `stored ${size}` });
  expect(agent.faults).toEqual([]);
});

test('a stalled service holds up neither the result nor other files’ scrubbing', async () => {
  link.way.stalled = true;
  const agent = await start('one');
  const artifacts = await agent.keep(job, workDir, [file('a.bin', 'abc'), file('b.bin', 'abcd')]);
  expect(artifacts.map(({ state }) => state)).toEqual(['pending', 'pending']);
  const [answer] = await tester.report(resultOf(job, clock.now(), { artifacts }));
  expect(answer?.outcome).toBe('stored');
  link.way.stalled = false;
  link.cut();
  await isStored({ 'a.bin': 'stored 3', 'b.bin': 'stored 4' });
});

test('files of an unknown lease are dropped, and the agent logs it', async () => {
  const agent = await start('one');
  const stranger = { ...job, leaseToken: '00000000-0000-7000-8000-000000000000' };
  await agent.keep(stranger, workDir, [file('a.bin', 'abc')]);
  await expect.poll(() => agent.metrics.artifactsLost, { timeout: 10_000 }).toBe(1);
  await expect.poll(onDisk).toEqual([]);
  expect(await states()).toEqual({});
});

test('more than the cap drops the oldest, and the service learns of it', async () => {
  link.way.to = 1; // nobody is there
  const agent = await start('one', { limits: { capBytes: 2500, reserveBytes: 0 } });
  for (const name of ['one', 'two', 'three']) await agent.keep(job, workDir, [file(name, randomBytes(1000))]);
  expect(agent.delivery.status()).toEqual({ count: 2, bytes: 2000 });
  link.way.to = (service.app.server.address() as AddressInfo).port;
  await isStored({ one: 'lost 0', three: 'stored 1000', two: 'stored 1000' });
});

test('agents that share a data directory do not touch each other’s files', async () => {
  link.way.to = 1;
  const [one, two] = [await start('one'), await start('two')];
  await one.keep(job, workDir, [file('one', 'abc')]);
  await two.keep(job, workDir, [file('two', 'abc')]);
  const three = await start('three');
  expect([one, two, three].map(({ delivery }) => delivery.status().count)).toEqual([1, 1, 0]);
  // An agent that exits normally leaves its files to the next one.
  await one.stop();
  agents = agents.filter((agent) => agent !== one);
  const four = await start('four');
  expect(four.delivery.status().count).toBe(1);
  link.way.to = (service.app.server.address() as AddressInfo).port;
  await isStored({ one: 'stored 3', two: 'stored 3' });
  await expect.poll(onDisk).toEqual([]);
});

test('files of an agent that was killed while it adopted them are found', async () => {
  link.way.to = 1;
  const one = await start('one');
  await one.keep(job, workDir, [file('one', 'abc')]);
  await one.stop();
  agents = agents.filter((agent) => agent !== one);
  // As it is on disk when the bytes have been moved, and what says what they are has not.
  const home = join(folder, 'data', 'artifacts', 'one');
  mkdirSync(join(home, 'from-zero'));
  const said = readdirSync(home).find((name) => name.endsWith('.about')) ?? '';
  renameSync(join(home, said), join(home, 'from-zero', said));
  await start('two');
  link.way.to = (service.app.server.address() as AddressInfo).port;
  await isStored({ one: 'stored 3' });
  await expect.poll(onDisk).toEqual([]);
});

test('an agent whose folder was taken for a dead one’s keeps files again', async () => {
  const one = await start('one');
  await one.keep(job, workDir, [file('first', 'abc')]);
  await isStored({ first: 'stored 3' });
  rmSync(join(folder, 'data', 'artifacts', 'one'), { recursive: true });
  const [kept] = await one.keep(job, workDir, [file('second', 'abc')]);
  expect(kept?.state).toBe('pending');
  await isStored({ first: 'stored 3', second: 'stored 3' });
});

test('the next agent resumes the uploads of a killed agent', { timeout: 120_000 }, async () => {
  const program = await builtProgram();
  const size = 40_000_000;
  const given = { serviceUrl: link.url, key, dataDir: join(folder, 'data'), job, workDir };
  link.way.breakAfter = Infinity;
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, 'artifact-agent.mjs'),
      dirname(program),
      JSON.stringify({ ...given, file: file('trace.bin', randomBytes(size)) }),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await expect.poll(() => link.way.up, { timeout: 60_000, interval: 1 }).toBeGreaterThan(1_000_000);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const before = link.way.up;
  expect(onDisk()).toHaveLength(2);
  expect(before).toBeLessThan(size);
  const next = await start('next');
  await isStored({ 'trace.bin': `stored ${size}` });
  await expect.poll(() => next.metrics.artifactsSent).toBe(1);
  expect(link.way.up - before).toBeLessThan(size);
  await expect.poll(onDisk).toEqual([]);
});
