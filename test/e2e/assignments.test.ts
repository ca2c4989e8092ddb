import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { anyDatabase, servicePlace, type ServicePlace } from '../helpers/service/database.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/**
 * Agents that hold checks, as programs: they keep the beat while the service is killed for a minute, over their own restart,
 * and when one of them is killed. Each test goes on with what the one before has left.
 */

type Result = { startedAt: string; status: string; resultType: string; details?: { count?: number } };

const keys = {
  apiKey: 'key_of-the-test-of-assignments',
  locationKey: 'pl_key-of-the-test-of-assignments',
  locationSlug: 'here',
};
const everyMs = 10_000;
const checkCount = 6;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const places = [
  { name: 'embedded', embedded: true },
  ...(anyDatabase.name === 'server' ? [{ name: 'server', embedded: false }] : []),
];

describe.each(places)('assignments, $name', ({ embedded }) => {
  let main: string;
  let folder: string;
  let place: ServicePlace;
  let port: number;
  let service: Program;
  let answers: Api;
  let target: Server;
  const asked: { path: string; at: number }[] = [];
  const checks: string[] = [];
  const agents: { one?: Program; two?: Program } = {};

  beforeAll(async () => {
    main = await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'assignments-'));
    place = await servicePlace({ embedded });
    port = await freePort();
    target = createServer((request, response) => {
      asked.push({ path: request.url ?? '', at: Date.now() });
      response.end('fine');
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    await startService();
  }, 180_000);
  afterAll(async () => {
    killAll();
    target.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function startService(): Promise<void> {
    service = startProgram(main, ['service'], {
      SERVICE_PORT: String(port),
      ...place.env,
      SERVICE_RATE_LIMIT: '0',
      SERVICE_API_KEY: keys.apiKey,
      SERVICE_LOCATION_KEY: keys.locationKey,
      SERVICE_LOCATION_SLUG: keys.locationSlug,
      SERVICE_ASSIGNMENTS: 'true',
    });
    const ready = await readyLine(service);
    answers = apiOf(ready.serviceUrl, keys.apiKey);
  }

  async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await answers<T>(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  function startAgent(name: string): Program {
    const dataDir = join(folder, name);
    mkdirSync(dataDir, { recursive: true });
    return startProgram(main, ['start'], {
      SERVICE_URL: `http://127.0.0.1:${port}`,
      API_KEY: keys.locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: dataDir,
    });
  }

  const url = (path: string) => `http://127.0.0.1:${(target.address() as AddressInfo).port}${path}`;
  const bodyOf = (path: string) => ({
    name: path,
    frequency: 0,
    frequencyOffset: 10,
    privateLocations: [keys.locationSlug],
    request: { method: 'GET', url: url(path) },
  });

  /** Final results of a check, oldest first. */
  async function resultsOf(id: string): Promise<Result[]> {
    const found = await api<Result[]>('GET', `/v1/check-results/${id}?limit=100`);
    return found.filter(({ resultType }) => resultType === 'FINAL').reverse();
  }

  /** Gaps between runs that follow each other, in intervals: 1 = none is missing. */
  const stepsOf = (results: readonly Result[]) =>
    results
      .slice(1)
      .map(({ startedAt }, index) =>
        Math.round((Date.parse(startedAt) - Date.parse(results[index]?.startedAt ?? '')) / everyMs),
      );

  test('an agent runs the checks that it holds', async () => {
    for (let number = 0; number < checkCount; number++) {
      checks.push((await api<{ id: string }>('POST', '/v1/checks/url', bodyOf(`/${number}`))).id);
    }
    agents.one = startAgent('one');
    for (const id of checks) {
      await until(async () => (await resultsOf(id)).length >= 2, 'results', 90_000);
    }
    const held = join(folder, 'one', 'assignments');
    await until(
      () => existsSync(held) && readdirSync(held).some((name) => existsSync(join(held, name, 'held-apart'))),
      'the file of the held checks',
      30_000,
    );
  }, 120_000);

  test('no run is lost while the service is killed for a minute', async () => {
    service.kill('SIGKILL');
    const killedAt = Date.now();
    await service.exited;
    await wait(60_000);
    const requests = asked.filter(({ at }) => at > killedAt + 1_000);
    expect(requests.length).toBeGreaterThanOrEqual(checkCount * 5);
    await startService();
    const startedAt = Date.now();
    for (const id of checks) {
      const results = await until(
        async () => {
          const found = await resultsOf(id);
          const last = found.at(-1);
          return last !== undefined && Date.parse(last.startedAt) > startedAt ? found : null;
        },
        'a run after the outage',
        60_000,
      );
      expect(results.filter(({ status }) => status !== 'passed')).toEqual([]);
      // The first run may have waited in the queue for the agent, so it began late, and the next one soon after it.
      const since = results.slice(1);
      expect(Date.parse(since[0]?.startedAt ?? '')).toBeLessThan(killedAt);
      expect(stepsOf(since)).toEqual(since.slice(1).map(() => 1));
    }
  }, 240_000);

  test('an edit takes effect within two seconds', async () => {
    const [id = ''] = checks;
    await api('PUT', `/v1/checks/url/${id}`, bodyOf('/edited'));
    const editedAt = Date.now();
    await until(() => asked.some(({ path }) => path === '/edited'), 'a run in the new form', 30_000);
    expect(asked.filter(({ path, at }) => path === '/0' && at > editedAt + 2_000)).toEqual([]);
  }, 60_000);

  test('a changed variable takes effect within two seconds', async () => {
    await api('POST', '/v1/variables', { key: 'WORD', value: 'old' });
    const { id } = await api<{ id: string }>('POST', '/v1/checks/api', bodyOf('/{{WORD}}'));
    await until(() => asked.some(({ path }) => path === '/old'), 'a run with the variable', 30_000);
    await api('PUT', '/v1/variables/WORD', { key: 'WORD', value: 'new' });
    const changedAt = Date.now();
    await until(() => asked.some(({ path }) => path === '/new'), 'a run with the new value', 30_000);
    expect(asked.filter(({ path, at }) => path === '/old' && at > changedAt + 2_000)).toEqual([]);
    await api('DELETE', `/v1/checks/${id}`);
    await api('DELETE', '/v1/variables/WORD');
  }, 90_000);

  test('another agent goes on when one is killed, and no moment is without a result or a record', async () => {
    agents.two = startAgent('two');
    const ready = /hello accepted/;
    await until(() => ready.test(agents.two?.stderr() ?? ''), 'the second agent', 60_000);
    await wait(12_000);
    agents.one?.kill('SIGKILL');
    const killedAt = Date.now();
    for (const id of checks) {
      await until(
        async () => {
          const last = (await resultsOf(id)).findLast(({ status }) => status === 'passed');
          return last !== undefined && Date.parse(last.startedAt) > killedAt + 500;
        },
        'a run after the death',
        60_000,
      );
    }
    const firstRuns = await Promise.all(
      checks.map(async (id) =>
        (await resultsOf(id)).find(
          ({ startedAt, status }) => status === 'passed' && Date.parse(startedAt) > killedAt + 500,
        ),
      ),
    );
    for (const run of firstRuns) {
      expect(Date.parse(run?.startedAt ?? '') - killedAt).toBeLessThanOrEqual(35_000 + everyMs);
    }
    await wait(15_000);
    for (const id of checks) {
      const moments = (await resultsOf(id)).flatMap(({ startedAt, status, details }) => {
        const at = Date.parse(startedAt);
        const count = status === 'missed' ? (details?.count ?? 1) : 1;
        return Array.from({ length: count }, (_, index) => Math.round((at + index * everyMs) / everyMs));
      });
      // A late run starts after its moment, so it may share a stretch of ten seconds with the next one.
      const all = moments.length;
      const span = (moments.at(-1) ?? 0) - (moments[0] ?? 0) + 1;
      expect(Math.abs(all - span)).toBeLessThanOrEqual(1);
    }
  }, 240_000);

  test('a restarted agent continues without the service', async () => {
    service.kill('SIGKILL');
    await service.exited;
    agents.two?.kill('SIGKILL');
    await agents.two?.exited;
    const before = asked.length;
    agents.two = startAgent('two');
    await until(() => asked.length >= before + checkCount, 'runs without the service', 60_000);
    await startService();
    const startedAt = Date.now();
    for (const id of checks) {
      await until(
        async () => (await resultsOf(id)).some((run) => Date.parse(run.startedAt) > startedAt),
        'a run after the restart',
        60_000,
      );
    }
  }, 240_000);

  test('agents of a location that stops in outages make no runs while the service is away', async () => {
    const found = await api<{ id: string; slugName: string }[]>('GET', '/v1/private-locations?limit=10');
    const id = found.find(({ slugName }) => slugName === keys.locationSlug)?.id ?? '';
    await api('PUT', `/v1/private-locations/${id}`, { stopsInOutages: true });
    await wait(5_000);
    service.kill('SIGKILL');
    const killedAt = Date.now();
    await service.exited;
    await wait(60_000);
    const after = (ms: number) => asked.filter(({ at }) => at > killedAt + ms);
    expect(after(1_000).length).toBeGreaterThan(0);
    // They last heard of it before it was killed. A run that was due in the thirtieth second may take a moment.
    expect(after(31_000)).toEqual([]);
    await startService();
    for (const check of checks) {
      const results = await until(
        async () => {
          const found = (await resultsOf(check)).filter(({ startedAt }) => Date.parse(startedAt) > killedAt);
          return found.at(-1)?.status === 'passed' && found.some(({ status }) => status === 'missed')
            ? found
            : null;
        },
        'runs after the outage, and a record of those that were not made',
        60_000,
      );
      const missed = results.filter(({ status }) => status === 'missed');
      const count = missed.reduce((sum, { details }) => sum + (details?.count ?? 1), 0);
      expect(count).toBeGreaterThanOrEqual(2);
      expect(count).toBeLessThanOrEqual(8);
    }
  }, 240_000);
});

async function freePort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
