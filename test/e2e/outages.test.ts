import { createHash, randomBytes } from 'node:crypto';
import { fatalLines } from '../helpers/fatal-line.ts';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHttpTarget, type HttpTarget } from '../../src/targets/http-target.ts';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace, type ServicePlace } from '../helpers/service/database.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/**
 * A service with the embedded database and its agents as programs, and what befalls them: a large upload, a stop, a kill, on
 * either side. Nothing is lost, somebody else takes over, nobody gives up. Each test goes on with what the one before has left.
 */

type Check = { id: string };
type Result = {
  id: string;
  status: string;
  startedAt: string;
  sequenceId: string;
  resultType: string;
  reason: { code: string } | null;
};
type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Service = { program: Program; url: string; keys: Keys; api: Api };
type Agent = { program: Program; healthUrl: () => Promise<string> };

let main: string;
let folder: string;
let place: ServicePlace;
let port: number;
let service: Service;
const targets: HttpTarget[] = [];
beforeAll(async () => {
  main = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'outages-'));
  // Its memory is measured, and it is killed, with its database in it.
  place = await servicePlace({ embedded: true });
  port = await freePort();
  service = await startService();
}, 180_000);
afterAll(async () => {
  killAll();
  await Promise.all(targets.map((target) => target.close()));
  await place.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Always at the same port, as a restarted service. */
async function startService(): Promise<Service> {
  const program = startProgram(main, ['service'], {
    SERVICE_PORT: String(port),
    ...place.env,
    SERVICE_RATE_LIMIT: '0',
  });
  const ready = await readyLine(program);
  expect(ready).toMatchObject({ apiKey: null, locationKey: null, agentHealthUrl: null });
  const keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys; // the service has just written it
  return { program, url: ready.serviceUrl, keys, api: apiOf(ready.serviceUrl, keys.apiKey) };
}

let agents = 0;
/** With its own data folder. */
function startAgent(key = service.keys.locationKey): Agent {
  const dataDir = join(folder, String((agents += 1)));
  mkdirSync(dataDir);
  const program = startProgram(main, ['start'], {
    SERVICE_URL: `http://127.0.0.1:${port}`,
    API_KEY: key,
    AGENT_HEALTH_PORT: '0',
    SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,::/0,127.0.0.0/8,::1',
    AGENT_DATA_DIR: dataDir,
  });
  const healthUrl = () =>
    until(() => /"healthUrl":"(http:[^"]+)"/.exec(program.stderr())?.[1], 'the health port');
  return { program, healthUrl };
}

const statusOf = async (url: string) => (await fetch(url)).status;

async function isReady(agent: Agent): Promise<void> {
  const url = `${await agent.healthUrl()}/-/readiness`;
  await until(async () => (await statusOf(url)) === 200, 'a ready agent');
}

async function startTarget(routes: NonNullable<Parameters<typeof startHttpTarget>[0]>['routes'] = {}) {
  const target = await startHttpTarget({ routes });
  targets.push(target);
  return target;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A check each minute whose first run is due in `secondsAhead` or up to 6 s later: one run only while the test looks. */
function soonOnce(name: string, locationSlug: string, url: string, secondsAhead = 4) {
  const second = Math.floor(Date.now() / 1000) % 60;
  const due = Math.ceil((second + secondsAhead) / 6) * 6;
  return {
    name,
    privateLocations: [locationSlug],
    frequency: 1,
    frequencyOffset: (due % 60 === 0 ? 60 : due % 60) / 6,
    doubleCheck: false,
    request: { url },
  };
}

const bundlesFolder = () => join(place.env.SERVICE_DATA_DIR, 'bundles');
const filesOfBundles = () =>
  readdirSync(bundlesFolder(), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
const uploadHeaders = (size: number) => ({
  authorization: `Bearer ${service.keys.apiKey}`,
  'content-type': 'application/octet-stream',
  'content-length': size,
});
const residentBytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

test('an upload and a download take as little memory whatever their size', { timeout: 60_000 }, async () => {
  const size = 100 * 1024 * 1024;
  const chunk = randomBytes(1024 * 1024);
  const first = Buffer.concat([gzipSync(''), chunk]).subarray(0, chunk.length);
  const { pid } = service.program;
  const before = residentBytes(pid);
  let highest = 0;
  const watch = setInterval(() => (highest = Math.max(highest, residentBytes(pid))), 20);
  const hash = createHash('sha256');
  const uploaded = await new Promise<{ status: number; body: { key: string } }>((resolve, reject) => {
    const request = httpRequest(
      `${service.url}/v1/playwright-bundles`,
      { method: 'POST', headers: uploadHeaders(size) },
      (response) => {
        let text = '';
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as { key: string } }),
        );
      },
    );
    request.on('error', reject);
    let sent = 0;
    const next = (): void => {
      for (;;) {
        const part = sent === 0 ? first : chunk;
        if (sent >= size) return void request.end();
        sent += part.length;
        hash.update(part);
        if (!request.write(part)) return void request.once('drain', next);
      }
    };
    next();
  });
  const digest = hash.digest('hex');
  expect(uploaded).toMatchObject({ status: 201, body: { key: digest, digest, size } });
  const answer = await fetch(`${service.url}/agent/v1/bundles/${digest}`, {
    headers: { authorization: `Bearer ${service.keys.locationKey}` },
  });
  const again = createHash('sha256');
  for await (const part of answer.body ?? []) again.update(part);
  clearInterval(watch);
  expect(again.digest('hex')).toBe(digest);
  // Buffers under way and the collector's leisure, but not the 100 MB.
  const grown = Math.round((highest - before) / 1024 / 1024);
  expect(grown, `grew by ${grown} MB`).toBeLessThan(70);
});

let agent: Agent;

test('the agent exits with 77 and one line for a refused key, and never for an unreachable service', async () => {
  const refused = startAgent(`pl_${'0'.repeat(32)}`);
  expect(await refused.program.exited).toBe(77);
  expect(fatalLines(refused.program.stderr())).toEqual([
    `KEY_REFUSED: API_KEY was refused by http://127.0.0.1:${port}: set it to an active key of the private location`,
  ]);
  service.program.kill('SIGTERM');
  expect(await service.program.exited).toBe(0);

  agent = startAgent();
  const health = await agent.healthUrl();
  await until(() => agent.program.stderr().includes('hello not accepted'), 'a failed hello');
  expect({
    readiness: await statusOf(`${health}/-/readiness`),
    liveness: await statusOf(`${health}/-/liveness`),
    health: await statusOf(`${health}/health`),
  }).toEqual({ readiness: 503, liveness: 200, health: 200 });

  // It is there when the service is.
  const { keys } = service;
  service = await startService();
  expect(service.keys).toEqual(keys);
  await isReady(agent);
}, 60_000);

test('all results of an outage arrive; a partial upload leaves no file', async () => {
  const count = 6;
  let asked = 0;
  const target = await startTarget({
    slow: async ({ response, wait }) => {
      asked += 1;
      await wait(3000);
      response.end('at last');
    },
  });
  // All are due at one moment, late enough for a busy machine to create them before it.
  const body = soonOnce('slow', service.keys.locationSlug, `${target.url}/slow`, 12);
  const checks = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const named = { ...body, name: `slow ${index}` };
      return (await service.api<Check>('POST', '/v1/checks/url', named)).body;
    }),
  );
  const there = filesOfBundles();
  const upload = httpRequest(`${service.url}/v1/playwright-bundles`, {
    method: 'POST',
    headers: uploadHeaders(10_000_000),
  });
  upload.on('error', () => undefined);
  upload.write(gzipSync(randomBytes(3_000_000)));
  await until(() => filesOfBundles().some((name) => name.endsWith('.part')), 'a half upload');
  await until(() => asked === count, 'all runs', 40_000);
  service.program.kill('SIGKILL');
  expect(await service.program.exited).toBeNull();
  expect(filesOfBundles()).toHaveLength(there.length + 1);
  // The runs finish while the service is down, and wait on disk; the agent continues.
  await new Promise((resolve) => setTimeout(resolve, 4500));
  expect(await statusOf(`${await agent.healthUrl()}/-/liveness`)).toBe(200);
  const restarted = Date.now();
  service = await startService();
  expect(filesOfBundles()).toEqual(there);
  expect((await service.api<unknown[]>('GET', '/v1/playwright-bundles')).body).toHaveLength(there.length);
  upload.destroy();
  const results = await until(
    async () => {
      const found = await Promise.all(
        checks.map(async ({ id }) => (await service.api<Result[]>('GET', `/v1/check-results/${id}`)).body),
      );
      return found.every((list) => list.some(({ startedAt }) => Date.parse(startedAt) < restarted)) && found;
    },
    'a result of each run',
    30_000,
  );
  for (const list of results) {
    const own = list.filter(({ startedAt }) => Date.parse(startedAt) < restarted);
    expect(own).toHaveLength(1);
    const [{ status, resultType, reason }] = own as [Result];
    // A busy machine may delay the agent so much that it does not believe its own measurement.
    const verdict = reason?.code === 'AGENT_OVERLOADED' ? 'not believed' : status;
    expect({ verdict, resultType }, JSON.stringify(reason)).toEqual({
      verdict: expect.stringMatching(/^(passed|degraded|not believed)$/),
      resultType: 'FINAL',
    });
  }
  for (const { id } of checks)
    expect(await service.api('PUT', `/v1/checks/url/${id}`, { activated: false })).toMatchObject({
      status: 200,
    });
}, 120_000);

test('a job of an agent that was killed is taken over by another within 35 s', async () => {
  let asked = 0;
  const target = await startTarget({
    // The first run hangs until its agent is killed; the next gets its answer.
    held: ({ response }) => {
      asked += 1;
      if (asked > 1) response.end('here');
    },
  });
  await isReady(agent);
  const body = soonOnce('held', service.keys.locationSlug, `${target.url}/held`);
  const { status, body: check } = await service.api<Check>('POST', '/v1/checks/url', body);
  expect(status).toBe(201);
  await until(() => asked === 1, 'the first attempt');

  const second = startAgent();
  await isReady(second);
  agent.program.kill('SIGKILL');
  await until(() => asked === 2, 'the second agent', 35_000);
  const [result] = await until(async () => {
    const path = `/v1/check-results/${check.id}?resultType=ALL`;
    const { body: found } = await service.api<Result[]>('GET', path);
    return found.length > 0 && found;
  }, 'its result');
  expect(result).toMatchObject({ status: 'passed', resultType: 'FINAL' });
  second.program.kill('SIGTERM');
  expect(await second.program.exited).toBe(0);
  service.program.kill('SIGTERM');
  expect(await service.program.exited).toBe(0);
}, 120_000);
