import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHttpTarget, type HttpTarget } from '../../src/targets/http-target.ts';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace, type ServicePlace } from '../helpers/database.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/** The promises that hold when one side dies: nothing is lost, somebody else takes over, nobody gives up. */

type Check = { id: string };
type Result = { id: string; status: string; startedAt: string; sequenceId: string; resultType: string };
type Keys = { apiKey: string; locationKey: string; locationSlug: string };

let main: string;
let folder: string;
const targets: HttpTarget[] = [];
beforeAll(async () => {
  main = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'outages-'));
}, 180_000);
afterAll(async () => {
  killAll();
  await Promise.all(targets.map((target) => target.close()));
  await Promise.all(servicePlaces.map(({ remove }) => remove()));
  rmSync(folder, { recursive: true, force: true });
});

let places = 0;
/** A folder of its own for each service or agent. */
function place(): string {
  places += 1;
  const own = join(folder, String(places));
  mkdirSync(own);
  return own;
}

/** Where a service's database is made already, and need not be the embedded one. */
async function madePlace(options?: { embedded: boolean }): Promise<ServicePlace['env']> {
  const made = await servicePlace(options);
  servicePlaces.push(made);
  return made.env;
}
const servicePlaces: ServicePlace[] = [];

type Service = { program: Program; url: string; keys: Keys; api: Api };

async function startService(place: ServicePlace['env'], port = 0): Promise<Service> {
  const program = startProgram(main, ['service'], {
    SERVICE_PORT: String(port),
    ...place,
    SERVICE_RATE_LIMIT: '0',
  });
  const ready = await readyLine(program);
  expect(ready).toMatchObject({ apiKey: null, locationKey: null, agentHealthUrl: null });
  const keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys;
  return { program, url: ready.serviceUrl, keys, api: apiOf(ready.serviceUrl, keys.apiKey) };
}

type Agent = { program: Program; healthUrl: () => Promise<string> };

function startAgent(serviceUrl: string, key: string, dataDir = place()): Agent {
  const program = startProgram(main, ['start'], {
    SERVICE_URL: serviceUrl,
    API_KEY: key,
    AGENT_HEALTH_PORT: '0',
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

/** A check each minute whose first run is due in 4 to 10 s: one run only while the test looks. */
function soonOnce(name: string, locationSlug: string, url: string) {
  const second = Math.floor(Date.now() / 1000) % 60;
  const due = Math.ceil((second + 4) / 6) * 6;
  return {
    name,
    privateLocations: [locationSlug],
    frequency: 1,
    frequencyOffset: (due % 60 === 0 ? 60 : due % 60) / 6,
    doubleCheck: false,
    request: { url },
  };
}

test.concurrent(
  'a refused key ends the agent with 77 and one line; an unreachable service never does',
  async () => {
    const port = await freePort();
    const made = await madePlace();
    const { keys, program } = await startService(made, port);
    const refused = startAgent(`http://127.0.0.1:${port}`, `pl_${'0'.repeat(32)}`);
    expect(await refused.program.exited).toBe(77);
    const plain = refused.program
      .stderr()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('{'));
    expect(plain).toEqual([
      `location-agent: API_KEY was refused by http://127.0.0.1:${port}: set it to an active key of the private location`,
    ]);
    program.kill('SIGTERM');
    expect(await program.exited).toBe(0);

    const agent = startAgent(`http://127.0.0.1:${port}`, keys.locationKey);
    const health = await agent.healthUrl();
    await until(() => agent.program.stderr().includes('hello not accepted'), 'a failed hello');
    expect({
      readiness: await statusOf(`${health}/-/readiness`),
      liveness: await statusOf(`${health}/-/liveness`),
      health: await statusOf(`${health}/health`),
    }).toEqual({ readiness: 503, liveness: 200, health: 200 });

    // It is there when the service is.
    const again = await startService(made, port);
    expect(again.keys).toEqual(keys);
    await isReady(agent);
    agent.program.kill('SIGTERM');
    expect(await agent.program.exited).toBe(0);
    again.program.kill('SIGTERM');
    expect(await again.program.exited).toBe(0);
  },
  120_000,
);

test.concurrent(
  'a job of an agent that was killed is taken over by another within 35 s',
  async () => {
    const asked: number[] = [];
    const target = await startTarget({
      // The first run hangs until its agent is killed; the next gets its answer.
      held: ({ response }) => {
        asked.push(Date.now());
        if (asked.length > 1) response.end('here');
      },
    });
    const service = await startService(await madePlace());
    const first = startAgent(service.url, service.keys.locationKey);
    await isReady(first);
    const body = soonOnce('held', service.keys.locationSlug, `${target.url}/held`);
    const { status, body: check } = await service.api<Check>('POST', '/v1/checks/url', body);
    expect(status).toBe(201);
    await until(() => asked.length === 1, 'the first attempt');

    const second = startAgent(service.url, service.keys.locationKey);
    await isReady(second);
    const killedAt = Date.now();
    first.program.kill('SIGKILL');
    await until(() => asked.length === 2, 'the second agent', 40_000);
    expect((asked[1] ?? 0) - killedAt).toBeLessThanOrEqual(35_000);
    const [result] = await until(async () => {
      const { body: found } = await service.api<Result[]>(
        'GET',
        `/v1/check-results/${check.id}?resultType=ALL`,
      );
      return found.length > 0 && found;
    }, 'its result');
    expect(result).toMatchObject({ status: 'passed', resultType: 'FINAL' });
  },
  120_000,
);

test.concurrent(
  'results that pile up while the service is dead all arrive',
  async () => {
    const count = 6;
    let asked = 0;
    const target = await startTarget({
      slow: async ({ response, wait }) => {
        asked += 1;
        await wait(3000);
        response.end('at last');
      },
    });
    // The embedded database, killed in the middle.
    const dataDir = await madePlace({ embedded: true });
    const port = await freePort();
    const service = await startService(dataDir, port);
    const agent = startAgent(service.url, service.keys.locationKey);
    await isReady(agent);
    const checks: Check[] = [];
    for (let index = 0; index < count; index += 1) {
      const body = soonOnce(`slow ${index}`, service.keys.locationSlug, `${target.url}/slow`);
      checks.push((await service.api<Check>('POST', '/v1/checks/url', body)).body);
    }
    await until(() => asked === count, 'all runs');
    service.program.kill('SIGKILL');
    expect(await service.program.exited).toBeNull();
    // The runs end while there is no service, and wait on disk; the agent goes on.
    await new Promise((resolve) => setTimeout(resolve, 4500));
    expect(await statusOf(`${await agent.healthUrl()}/-/liveness`)).toBe(200);
    const restarted = Date.now();
    const again = await startService(dataDir, port);
    const results = await until(
      async () => {
        const found = await Promise.all(
          checks.map(async ({ id }) => (await again.api<Result[]>('GET', `/v1/check-results/${id}`)).body),
        );
        return (
          found.every((list) => list.some(({ startedAt }) => Date.parse(startedAt) < restarted)) && found
        );
      },
      'a result of each run',
      30_000,
    );
    for (const list of results) {
      const own = list.filter(({ startedAt }) => Date.parse(startedAt) < restarted);
      expect(own).toHaveLength(1);
      expect(own[0]).toMatchObject({
        status: expect.stringMatching(/^(passed|degraded)$/),
        resultType: 'FINAL',
      });
    }
  },
  120_000,
);
