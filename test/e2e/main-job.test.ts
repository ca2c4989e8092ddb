import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { fatalLines } from '../helpers/fatal-line.ts';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { probeTypes } from '../../src/protocol/check-types.ts';
import { startHttpTarget } from '../../src/targets/http-target.ts';
import { startTcpTarget } from '../../src/targets/tcp-target.ts';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace } from '../helpers/service/database.ts';
import { hasPlaywright } from '../helpers/scripts/playwright.ts';
import { noDownloads, registryVariables } from '../helpers/suites/suite-registry.ts';
import { hasSuites } from '../helpers/suites/suites.ts';
import {
  apiOf,
  killAll,
  processesWith,
  readyLine,
  startProgram,
  until,
  type Program,
  type ReadyLine,
} from './program.ts';

/** `location-agent dev` as a user starts it: from the start of all parts to their results and to the exit. */

type Check = { id: string; name: string; checkType: string };
type Result = {
  id: string;
  status: string;
  checkType: string;
  reason: { code: string } | null;
  responseTime: number;
  runLocation: string;
  startedAt: string;
};

type Assets = { assets: { name: string; url: string }[] };

let main: string;
let folder: string;
beforeAll(async () => {
  main = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'dev-'));
}, 180_000);
afterAll(async () => {
  killAll();
  // The agent notices that its parent is gone, and writes to the folder until then.
  await until(() => processesWith(folder).length === 0, 'the end of all programs of the folder', 60_000);
  rmSync(folder, { recursive: true, force: true });
}, 90_000);

const startDev = (env: Record<string, string> = {}) =>
  startProgram(main, ['dev'], {
    SERVICE_PORT: '0',
    AGENT_HEALTH_PORT: '0',
    SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,::/0,127.0.0.0/8,::1',
    SERVICE_DATA_DIR: join(folder, 'service'),
    AGENT_DATA_DIR: join(folder, 'agent'),
    ...registryVariables(),
    ...noDownloads,
    ...env,
  });

const agentPids = () =>
  processesWith(folder)
    .filter(({ command }) => command.endsWith('main.js start'))
    .map(({ pid }) => pid);

describe.sequential('dev', () => {
  let program: Program;
  let ready: ReadyLine;
  /** The sample checks that need no runtime. */
  let checks: Check[];
  let isRunning = false;

  /** Starts dev unless it is running, at the folder of all these tests. The first start makes the database. */
  async function running(): Promise<void> {
    if (isRunning) return;
    program = startDev();
    isRunning = true;
    ready = await readyLine(program, 150_000);
    checks = await probes();
  }
  async function stop(signal: NodeJS.Signals): Promise<number | null> {
    program.kill(signal);
    isRunning = false;
    return program.exited;
  }
  beforeEach(running, 180_000);

  const allChecks = async () =>
    (await apiOf(ready.serviceUrl, ready.apiKey ?? '')<Check[]>('GET', '/v1/checks?limit=100')).body;
  const isScript = ({ checkType }: Check) => checkType === 'BROWSER' || checkType === 'MULTI_STEP';
  const isSuite = ({ checkType }: Check) => checkType === 'PLAYWRIGHT';
  const probes = async () => (await allChecks()).filter((check) => !isScript(check) && !isSuite(check));

  const latestResults = async (of: readonly Check[] = checks) => {
    const api = apiOf(ready.serviceUrl, ready.apiKey ?? '');
    return Promise.all(
      of.map(async (check) => {
        const { body } = await api<Result[]>('GET', `/v1/check-results/${check.id}?limit=1`);
        return { check, result: body[0] };
      }),
    );
  };

  test('prints one line when all parts answer', async () => {
    expect(ready).toEqual({
      ready: true,
      serviceUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      accountId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      apiKey: expect.any(String),
      locationKey: expect.stringMatching(/^pl_/),
      agentHealthUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      webUrl: `${ready.serviceUrl}/`,
      signInUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/sign-in\?token=[\w-]{43}$/),
    });
    const status = async (url: string) => (await fetch(url)).status;
    expect({
      page: await status(ready.webUrl),
      service: await status(`${ready.serviceUrl}/health`),
      readiness: await status(`${ready.agentHealthUrl}/-/readiness`),
      liveness: await status(`${ready.agentHealthUrl}/-/liveness`),
      health: await status(`${ready.agentHealthUrl}/health`),
      metrics: await status(`${ready.agentHealthUrl}/metrics`),
    }).toEqual({ page: 200, service: 200, readiness: 200, liveness: 200, health: 200, metrics: 200 });
    expect((await fetch(ready.webUrl)).headers.get('content-type')).toMatch(/^text\/html/);
    const signedIn = await fetch(ready.signInUrl ?? '', { redirect: 'manual' });
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/']);
  });

  test('shows passed, degraded and failed results of all types that need no runtime', async () => {
    expect(new Set(checks.map(({ checkType }) => checkType))).toEqual(new Set([...probeTypes, 'HEARTBEAT']));

    await until(
      async () => (await latestResults()).every(({ result }) => result !== undefined),
      'a result of each sample check',
      30_000,
    );
    const api = apiOf(ready.serviceUrl, ready.apiKey ?? '');
    const verdictOf = async ({ id }: Check) => {
      const { body } = await api<Result[]>('GET', `/v1/check-results/${id}?limit=100`);
      const all = new Set(body.map(({ status, reason }) => [status, reason?.code].join(' ').trim()));
      // On a busy machine any answer may be slow. Each check has another result after ten seconds; the quickest counts.
      const bySpeed = ['passed', 'degraded RESPONSE_TOO_SLOW', 'failed RESPONSE_TOO_SLOW'];
      const [quickest] = bySpeed.filter((verdict) => all.has(verdict));
      // It may also delay the agent, which then reports that it could not measure.
      const measured = [...all].filter((verdict) => verdict !== 'errored AGENT_OVERLOADED');
      return measured.filter((verdict) => !bySpeed.includes(verdict) || verdict === quickest).join(', ');
    };
    const shown = async () => {
      const verdicts = await Promise.all(
        checks.map(async (check) => [check.name, await verdictOf(check)] as const),
      );
      const { 'Sample: host answers': icmp, ...others } = Object.fromEntries(verdicts);
      expect(others).toEqual({
        'Sample: page answers': 'passed',
        'Sample: page is slow': 'degraded RESPONSE_TOO_SLOW',
        'Sample: certificate is valid': 'passed',
        'Sample: certificate has expired': 'failed CERT_HAS_EXPIRED',
        'Sample: certificates are valid': 'passed',
        'Sample: certificate expires soon': 'degraded CERT_EXPIRES_SOON',
        'Sample: certificate of another name': 'failed ERR_TLS_CERT_ALTNAME_INVALID',
        'Sample: product has a price': 'passed',
        'Sample: shop serves slowly': 'degraded RESPONSE_TOO_SLOW',
        'Sample: shop is closed': 'failed GRPC_HEALTH',
        'Sample: route to a server': 'passed',
        'Sample: route is slow': 'degraded RESPONSE_TOO_SLOW',
        'Sample: route leads through another network': 'failed ASSERTION_FAILED',
        'Sample: products are in stock': 'passed',
        'Sample: lamp costs too much': 'failed ASSERTION_FAILED',
        'Sample: flaky endpoint, one retry': 'passed',
        'Sample: port answers': 'passed',
        'Sample: port hangs up': 'failed CONNECTION_CLOSED',
        'Sample: name resolves': 'passed',
        'Sample: name resolves slowly': 'degraded RESPONSE_TOO_SLOW',
        'Sample: a job that must call every minute': 'passed',
      });
      // Without permission for ICMP, the result is errored.
      expect(['passed', 'errored ICMP_UNAVAILABLE']).toContain(icmp);
    };
    await vi.waitFor(shown, { timeout: 90_000, interval: 500 });
    // The summary reads the results from the service, so it may be printed later.
    const line = /degraded +URL +Sample: page is slow +\d+ ms {2}RESPONSE_TOO_SLOW"/;
    await vi.waitFor(() => expect(program.stderr()).toMatch(line), { timeout: 45_000, interval: 100 });
  }, 150_000);

  test.skipIf(!hasPlaywright)(
    'shows browser and multi-step results, with traces that open, once the runtime is there',
    async () => {
      const scripts = await until(
        async () => {
          const found = (await allChecks()).filter(isScript);
          return found.length === 4 && found;
        },
        'the sample checks with scripts',
        60_000,
      );
      // Each check runs once when it is created. Another run each minute would take a browser each time.
      const api = apiOf(ready.serviceUrl, ready.apiKey ?? '');
      for (const { id, checkType } of scripts) {
        const path = checkType === 'BROWSER' ? 'browser' : 'multistep';
        const { status } = await api('PUT', `/v1/checks/${path}/${id}`, { frequency: 1440 });
        expect(status).toBe(200);
      }
      const results = await until(
        async () => {
          const latest = await latestResults(scripts);
          return latest.every(({ result }) => result !== undefined) && latest;
        },
        'a result of each sample check with a script',
        120_000,
      );
      const verdicts = results.map(({ check, result }) => [check.name, result?.status, result?.reason?.code]);
      expect(
        Object.fromEntries(verdicts.map(([name, ...verdict]) => [name, verdict.join(' ').trim()])),
      ).toEqual({
        'Sample: a customer orders': 'passed',
        'Sample: the shop is slow today': 'degraded MARKED_DEGRADED',
        'Sample: the gift card is gone': 'failed TEST_FAILED',
        'Sample: find and order over the API': 'passed',
      });
      const failed = results.find(({ result }) => result?.status === 'failed');
      const assets = `${ready.serviceUrl}/v1/check-results/${failed?.check.id}/${failed?.result?.id}/assets`;
      const headers = { authorization: `Bearer ${ready.apiKey}` };
      const trace = await until(
        async () => {
          const list = (await (await fetch(`${assets}?type=trace`, { headers })).json()) as Assets;
          return list.assets[0];
        },
        'the trace of the failed visit',
        30_000,
      );
      const bytes = Buffer.from(await (await fetch(trace.url, { headers })).arrayBuffer());
      expect(bytes.subarray(0, 2).toString()).toBe('PK');
      expect(bytes.includes('test.trace')).toBe(true);
    },
    240_000,
  );

  test.skipIf(!hasSuites)(
    'runs its sample suite once the engines are there, with packages from the registry',
    async () => {
      const [suite] = await until(
        async () => {
          const found = (await allChecks()).filter(isSuite);
          return found.length === 1 && found;
        },
        'the sample suite',
        120_000,
      );
      const result = await until(
        async () => (await latestResults([suite as Check]))[0]?.result,
        'a result of the sample suite',
        180_000,
      );
      // Without a registry, the run is errored and does not count as a failure.
      const verdict = `${result.status} ${result.reason?.code ?? ''}`.trim();
      expect(['passed', 'errored NETWORK_UNAVAILABLE']).toContain(verdict);
      if (result.status === 'passed') return;
      process.stderr.write('skipped here: the sample suite, whose packages no registry gives here\n');
    },
    260_000,
  );

  test('restarts a killed agent at the same health port', async () => {
    const [pid] = agentPids();
    expect(pid).toBeTypeOf('number');
    process.kill(pid ?? 0, 'SIGKILL');
    await until(async () => {
      const pids = agentPids();
      if (pids.length !== 1 || pids[0] === pid) return false;
      const readiness = await fetch(`${ready.agentHealthUrl}/-/readiness`).catch(() => null);
      return readiness?.status === 200;
    }, 'the next agent');
    const since = new Date().toISOString();
    await until(
      async () =>
        (await latestResults()).some(({ result }) => result !== undefined && result.startedAt > since),
      'a result of the next agent',
      60_000,
    );
  }, 90_000);

  test('exits with 0 on SIGTERM, and leaves no process', async () => {
    expect(await stop('SIGTERM')).toBe(0);
    expect(processesWith(folder)).toEqual([]);
    expect(program.stdout().split('\n')).toHaveLength(2);
    for (const key of [ready.apiKey, ready.locationKey]) expect(program.stderr()).not.toContain(key);
    await expect(fetch(ready.serviceUrl)).rejects.toThrow();
  }, 60_000);

  test('a later start has the same keys and the same checks, at the new targets', async () => {
    const before = new Map(checks.map(({ id, name }) => [name, id]));
    const { accountId, apiKey, locationKey } = ready;
    await stop('SIGTERM');
    const start = new Date().toISOString();
    await running();
    expect(ready).toMatchObject({ accountId, apiKey, locationKey });
    expect(new Map(checks.map(({ id, name }) => [name, id]))).toEqual(before);
    await until(
      async () =>
        (await latestResults()).some(
          ({ check, result }) =>
            check.name === 'Sample: port answers' && result?.status === 'passed' && result.startedAt > start,
        ),
      'a passed result at the new port',
      30_000,
    );
  }, 180_000);

  test('the agent exits when dev is killed', async () => {
    await stop('SIGKILL');
    await until(() => processesWith(folder).length === 0, 'the exit of the agent', 40_000);
  }, 60_000);
});

describe('a start that fails prints one line', () => {
  test.each([
    [
      'a port in use',
      (port: number) => ({ SERVICE_PORT: String(port) }),
      2,
      /^PORT_IN_USE: 127\.0\.0\.1:\d+ is in use .*SERVICE_PORT/,
    ],
    [
      'a health port in use',
      (port: number) => ({ AGENT_HEALTH_PORT: String(port) }),
      2,
      /^CONFIGURATION: AGENT_HEALTH_PORT: port \d+ is in use: choose another one/,
    ],
    ['a malformed variable', () => ({ SERVICE_PORT: 'many' }), 78, /^CONFIGURATION: SERVICE_PORT must be /],
  ])(
    '%s',
    async (_name, env, code, line) => {
      const blocker = await startTcpTarget('silent');
      const place = await servicePlace();
      const own = { ...place.env, AGENT_DATA_DIR: place.env.SERVICE_DATA_DIR };
      const program = startDev({ ...own, ...env(blocker.port) });
      expect(await program.exited).toBe(code);
      expect(program.stdout()).toBe('');
      expect(fatalLines(program.stderr())).toEqual([expect.stringMatching(line)]);
      await blocker.close();
      await place.remove();
    },
    60_000,
  );

  test.each([
    [['nonsense'], 64, 'USAGE: unknown command "nonsense": see location-agent --help'],
    [['strat'], 64, 'USAGE: unknown command "strat"; did you mean start?: see location-agent --help'],
    [['start'], 78, 'CONFIGURATION: API_KEY is missing: set API_KEY'],
    [['run'], 64, 'USAGE: run needs the file of a check'],
    [['dev', 'x'], 64, 'USAGE: dev takes no arguments'],
  ])('%j', async (args, code, text) => {
    const program = startProgram(main, args, {});
    expect(await program.exited).toBe(code);
    expect(fatalLines(program.stderr())).toEqual([expect.stringContaining(text)]);
    expect(program.stdout()).toBe('');
  });

  test('help and version exit with 0', async () => {
    const help = startProgram(main, ['--help'], {});
    const version = startProgram(main, ['--version'], {});
    expect([await help.exited, await version.exited]).toEqual([0, 0]);
    expect(help.stdout()).toMatch(/\n {2}doctor +checks this machine/);
    expect(version.stdout()).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('commands that finish by themselves', () => {
  test('run reports a cancelled result after Ctrl-C', async () => {
    const target = await startHttpTarget();
    const file = join(folder, 'never.json');
    writeFileSync(file, JSON.stringify({ checkType: 'URL', request: { url: `${target.url}/never` } }));
    const program = startProgram(main, ['run', file, '--json'], {});
    await until(() => target.requests() === 1, 'the request');
    program.kill('SIGINT');
    expect(await program.exited).toBe(2);
    expect(JSON.parse(program.stdout())).toMatchObject({
      status: 'cancelled',
      isCancelled: true,
      reason: { code: 'CANCELLED' },
    });
    await target.close();
  }, 30_000);

  test('doctor reports the problems of this machine', async () => {
    const program = startProgram(main, ['doctor', '--json'], {
      AGENT_DATA_DIR: folder,
      SERVICE_URL: 'http://127.0.0.1:9',
    });
    expect(await program.exited).toBe(1);
    const report = JSON.parse(program.stdout()) as {
      healthy: boolean;
      findings: { name: string; status: string }[];
    };
    expect(report.healthy).toBe(false);
    expect(report.findings.find(({ name }) => name === 'service')?.status).toBe('problem');
    expect(report.findings.find(({ name }) => name === 'data directory')?.status).toMatch(/^(ok|note)$/);
  }, 30_000);
});
