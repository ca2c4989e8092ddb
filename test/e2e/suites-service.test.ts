import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packBundle } from '../../src/script/suite/pack-bundle.ts';
import type { SuiteDetails } from '../../src/script/suite/suite-run.ts';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace, type ServicePlace } from '../helpers/database.ts';
import { noteNoDownloads } from '../helpers/noted-downloads.ts';
import { startPrivateRegistry, type PrivateRegistry } from '../helpers/private-registry.ts';
import { noDownloads, reachesRegistry, registryVariables } from '../helpers/suite-registry.ts';
import { zipNames } from '../helpers/suite-results.ts';
import { hasSuites } from '../helpers/suites.ts';
import { leaksIn } from '../secrets/open-everything.ts';
import {
  endless,
  leaking,
  makePrivateProject,
  quiet,
  setupThrows,
  suiteSecrets as secrets,
} from './leaking-suite.ts';
import {
  apiOf,
  killAll,
  processesWith,
  readyLine,
  startProgram,
  until,
  type Api,
  type Program,
} from './program.ts';

/**
 * Suites on the whole way: bundles, checks and sessions over the public API, an agent and a service as programs. One package of
 * theirs comes from a private registry, by a token. And the oracle: projects that put secrets wherever a project can, and a
 * search of all that anybody gets to see: results, every file, sessions while they run, both programs' logs at DEBUG, what the
 * agent keeps.
 */

const runs = hasSuites && (await reachesRegistry());

type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Artifact = { name: string; type: string; state: string; size: number; url?: string };
type Result = {
  id: string;
  status: string;
  isCancelled: boolean;
  reason: { code: string; message: string } | null;
  details: SuiteDetails;
  artifacts: Artifact[];
  log: { msg: string }[];
};
type Session = {
  status: string;
  inProgress: { stage: string | null; log: string[] }[];
  results: { checkResultId: string; checkId: string; isCancelled: boolean; resultType: string }[];
};
type Ran = { result: Result; output: string; files: { name: string; size: number; bytes: Buffer }[] };

describe.runIf(runs)('suites from the service through an agent', { timeout: 240_000 }, () => {
  let folder: string;
  let place: ServicePlace;
  let registry: PrivateRegistry;
  let target: Server;
  let url: string;
  let seen = '';
  let keys: Keys;
  let api: Api;
  let base: string;
  let service: Program;
  let agent: Program;
  /** All that anybody gets to see. */
  const got: { name: string; bytes: Buffer }[] = [];

  beforeAll(async () => {
    const main = await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'suites-service-'));
    place = await servicePlace();
    registry = await startPrivateRegistry(secrets.npmToken);
    target = createServer((request, response) => {
      seen += `${request.url} ${JSON.stringify(request.headers)}\n`;
      response.setHeader('content-type', 'text/html');
      request.resume().on('end', () => response.end('<title>x</title><input>'));
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`; // a TCP server's
    service = startProgram(main, ['service'], {
      SERVICE_PORT: '0',
      // Tests ask again and again.
      SERVICE_RATE_LIMIT: '0',
      ...place.env,
      LOG_LEVEL: 'DEBUG',
    });
    const ready = await readyLine(service);
    keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys; // the service has just written it
    base = ready.serviceUrl;
    api = apiOf(base, keys.apiKey);
    const { npm_config_cafile, NODE_EXTRA_CA_CERTS, ...variables } = registryVariables();
    const known = [npm_config_cafile, NODE_EXTRA_CA_CERTS].flatMap((file) =>
      file === undefined || !existsSync(file) ? [] : readFileSync(file, 'utf8'),
    );
    const authorities = join(folder, 'authorities.pem');
    writeFileSync(authorities, [...known, registry.authority].join('\n'));
    await noteNoDownloads(join(folder, 'agent'));
    agent = startProgram(main, ['start'], {
      SERVICE_URL: base,
      API_KEY: keys.locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'agent'),
      SUITE_CONCURRENCY: '2',
      LOG_LEVEL: 'DEBUG',
      ...variables,
      NODE_EXTRA_CA_CERTS: authorities,
      ...noDownloads,
    });
    const account = { key: 'ACCOUNT', value: secrets.ofAccount, secret: true };
    expect(await api('POST', '/v1/variables', account)).toMatchObject({ status: 201 });
  }, 180_000);
  afterAll(async () => {
    killAll();
    target.closeAllConnections();
    target.close();
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
    await place.remove();
  });

  /** Packs and uploads a project, and makes a check of it. */
  async function makeCheck(
    name: string,
    files: { [path: string]: string },
    fields: { environmentVariables?: object[]; [field: string]: unknown } = {},
  ): Promise<string> {
    const project = makePrivateProject(join(folder, name), files, registry);
    const archive = join(folder, `${name}.tar.gz`);
    const { digest } = await packBundle({ folder: project, to: archive });
    const answer = await fetch(`${base}/v1/playwright-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.apiKey}`, 'content-type': 'application/octet-stream' },
      body: readFileSync(archive),
    });
    expect(answer.status).toBe(201);
    const bundle = (await answer.json()) as { key: string; digest: string };
    expect(bundle.digest).toBe(digest);
    const made = await api<{ id: string }>('POST', '/v1/checks/playwright', {
      name,
      codeBundlePath: bundle.key,
      privateLocations: [keys.locationSlug],
      frequency: 1440,
      installCommand:
        'npm ci --no-audit --no-fund && date +%s%N > node_modules/made && printf "installed with %s\\n" "$TOKEN"',
      ...fields,
      environmentVariables: [
        { key: 'TOKEN', value: secrets.ofCheck, secret: true },
        { key: 'LITERAL', value: secrets.inSource, secret: true },
        { key: 'NPM_TOKEN', value: secrets.npmToken, secret: true },
        ...(fields.environmentVariables ?? []),
      ],
    });
    expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
    return made.body.id;
  }

  async function download(name: string, from: string): Promise<Buffer> {
    const response = await fetch(from, { headers: { authorization: `Bearer ${keys.apiKey}` } });
    expect(response.status, from).toBe(200);
    const bytes = Buffer.from(await response.arrayBuffer());
    got.push({ name, bytes });
    return bytes;
  }

  /** A result of the check once all its files have come or are refused, with what they are. */
  async function finalResult(id: string, resultId?: string): Promise<Ran> {
    const path = `/v1/check-results/${id}`;
    const result = await until(
      async () => {
        const { body } = await api<Result | Result[]>(
          'GET',
          resultId === undefined ? `${path}?limit=1` : `${path}/${resultId}`,
        );
        const [found] = Array.isArray(body) ? body : [body];
        return found !== undefined && !found.artifacts.some(({ state }) => state === 'pending') && found;
      },
      'a result with all its files',
      120_000,
    );
    await download(`result of ${id}`, `${base}${path}/${result.id}`);
    const files: Ran['files'] = [];
    for (const { name, size, url: from } of result.artifacts)
      files.push({ name, size, bytes: await download(name, from ?? '') });
    const output = files.find(({ name }) => name === 'output.log')?.bytes.toString() ?? '';
    return { result, output, files };
  }

  /** A check session of it that begins now: a way to read it, of which all is seen. */
  async function trigger(id: string, more: object = {}) {
    const started = await api<{ sessions: { checkSessionId: string }[] }>(
      'POST',
      '/v1/check-sessions/trigger',
      { target: { checkId: [id] }, ...more },
    );
    expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
    const session = `check-sessions/${started.body.sessions[0]?.checkSessionId}`;
    return { session, read: reader(`/v2/${session}`) };
  }
  function reader(path: string) {
    let last = '';
    return async (): Promise<Session> => {
      const { body } = await api<Session>('GET', path);
      const text = JSON.stringify(body);
      if (text !== last) got.push({ name: path, bytes: Buffer.from((last = text)) });
      return body;
    };
  }
  /** Its end. */
  async function ended(read: () => Promise<Session>): Promise<Session> {
    const look = async () => {
      const session = await read();
      return session.status !== 'RUNNING' && session.results.length > 0 && session;
    };
    return until(look, 'the end of the session', 120_000);
  }
  async function ran(id: string): Promise<Ran> {
    const { results } = await ended((await trigger(id)).read);
    return finalResult(id, results[0]?.checkResultId);
  }

  const madeIn = (output: string) => / made (\d+)/.exec(output)?.[1] ?? output;
  const fetched = () => registry.asked.filter((line) => line.endsWith('.tgz 200')).length;
  let quietId: string;
  let made: string;

  test('a scheduled run: its result, and files that open', async () => {
    const due = Math.ceil(((Math.floor(Date.now() / 1000) % 60) + 4) / 6) * 6;
    quietId = await makeCheck('quiet', quiet, {
      frequency: 1,
      frequencyOffset: (due % 60 === 0 ? 60 : due % 60) / 6,
      pwTags: ['@smoke'],
    });
    const { result, output, files } = await finalResult(quietId);
    // Its schedule has done its part.
    const changes = { frequency: 1440, pwTags: ['@installed'] };
    expect(await api('PUT', `/v1/checks/playwright/${quietId}`, changes)).toMatchObject({ status: 200 });
    expect(result, output).toMatchObject({
      status: 'passed',
      details: {
        playwrightVersion: '1.58.2',
        dependencyCache: 'miss',
        runStatus: 'passed',
        totals: { tests: 2, passed: 2 },
        tests: [
          { title: 'is installed', tags: ['@smoke', '@installed'], status: 'passed', retries: 0 },
          { title: 'a page', tags: ['@smoke'], status: 'passed', retries: 0 },
        ],
      },
    });
    expect(result.artifacts.map(({ type, state }) => `${type} ${state}`)).toEqual(
      expect.arrayContaining(['report stored', 'trace stored', 'log stored', 'file stored']),
    );
    for (const { name, size, bytes } of files) {
      expect(bytes.length, name).toBe(size);
      if (!name.endsWith('.zip')) continue;
      writeFileSync(join(folder, 'opened.zip'), bytes);
      expect(await zipNames(join(folder, 'opened.zip')), name).not.toEqual([]);
    }
    expect(output).toContain('CI=undefined run 1 key undefined');
    expect(output).toContain('token *********');
    expect(output).toContain('has widget 1.2.3 made');
    made = madeIn(output);
    expect(fetched()).toBe(1);
  });

  // The two below mostly wait, and need the packages that the run above has installed: they go on at once.
  test.concurrent(
    'a check session: stage and log are seen while it runs, a cancel ends it',
    async ({ expect }) => {
      const marker = `endless-${process.pid}`;
      const id = await makeCheck('endless', endless, {
        environmentVariables: [{ key: 'MARKER', value: marker }],
      });
      const { session, read } = await trigger(id);
      const running = await until(
        async () => {
          const [run] = (await read()).inProgress;
          return run?.log.some((line) => line.includes('it has begun with *********')) === true && run;
        },
        'the line of the running test',
        120_000,
      );
      expect(running.stage).toBe('test');
      // What was installed for the run above.
      expect(madeIn(running.log.join('\n'))).toBe(made);
      const ofSuite = () => processesWith(marker);
      expect(ofSuite()).not.toEqual([]);
      const began = performance.now();
      expect(await api('POST', `/v2/${session}/cancel`)).toMatchObject({ status: 204 });
      await until(() => ofSuite().length === 0, 'the end of its processes', 30_000);
      // 6 s on a machine that has time.
      expect(performance.now() - began).toBeLessThan(12_000);
      const { status, results } = await ended(read);
      expect(status).toBe('CANCELLED');
      const flags = { isCancelled: true, hasErrors: false, hasFailures: false };
      expect(results).toMatchObject([{ checkId: id, resultType: 'FINAL', ...flags }]);
      const { result } = await finalResult(id, results[0]?.checkResultId);
      expect(result).toMatchObject({
        status: 'cancelled',
        isCancelled: true,
        reason: { code: 'CANCELLED' },
        details: {
          dependencyCache: 'hit',
          runStatus: 'interrupted',
          totals: { tests: 3, passed: 1, interrupted: 2 },
        },
      });
      const stored = result.artifacts.filter(({ state }) => state === 'stored').map(({ type }) => type);
      expect(stored).toEqual(expect.arrayContaining(['log', 'trace']));
    },
  );

  test.concurrent('projects that put secrets wherever they can are masked', async ({ expect }) => {
    const complaint = `printf 'npm error with %s %s %s\\n' "$TOKEN" "$ACCOUNT" ${secrets.inSource} >&2; exit 7`;
    const ids = await Promise.all([
      makeCheck('leaking', leaking(url, 40_000 + (process.pid % 20_000))),
      makeCheck('setup throws', setupThrows),
      makeCheck('install fails', quiet, { installCommand: complaint }),
    ]);
    const [whole, throwing, failing] = await Promise.all([ran(ids[0]), ran(ids[1]), ran(ids[2])]);
    expect(whole.result, whole.output).toMatchObject({
      status: 'failed',
      reason: { code: 'TEST_FAILED' },
      details: { dependencyCache: 'hit', totals: { tests: 1, failed: 1 } },
    });
    expect(throwing.result.reason?.code, throwing.output).toBe('SCRIPT_THREW');
    expect(throwing.result.reason?.message).toContain('no setup with ********* and *********');
    expect(failing.result.reason).toMatchObject({ code: 'INSTALL_FAILED' });
    expect(failing.result.reason?.message).toContain('npm error with ********* ********* *********');

    // The controls: what was planted has come so far, and masked.
    expect(seen).toContain(encodeURIComponent(secrets.ofCheck));
    for (const words of ['config', 'setup', 'stdout', '[WebServer] server'])
      expect(whole.output, words).toContain(`${words} *********`);
    const types = whole.result.artifacts.filter(({ state }) => state === 'stored').map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['log', 'report', 'trace', 'file']));
    expect(JSON.stringify(whole.result.details.tests)).toContain('named after *********');
  });

  test('a test session: CI is set; refreshCache installs anew', async () => {
    expect(fetched()).toBe(1);
    const started = await api<{ testSessionId: string }>('POST', '/v1/test-sessions/trigger', {
      name: 'before a change',
      target: { checkId: [quietId] },
      refreshCache: true,
    });
    expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
    const session = await ended(reader(`/v1/test-sessions/${started.body.testSessionId}`));
    expect(session.status).toBe('PASSED');
    const { result, output } = await finalResult(quietId, session.results[0]?.checkResultId);
    expect(result, output).toMatchObject({
      status: 'passed',
      details: { dependencyCache: 'refreshed', totals: { tests: 1, passed: 1 } },
    });
    expect(output).toContain('CI=1');
    expect(madeIn(output)).toMatch(/^\d+$/);
    expect(madeIn(output)).not.toBe(made);
    expect(fetched()).toBe(2);
    expect([...registry.shown]).toEqual([`Bearer ${secrets.npmToken}`]);
  });

  test('of all that was planted above, nothing is to be seen', async () => {
    const health = /"healthUrl":"(http:[^"]+)"/.exec(agent.stderr())?.[1] ?? '';
    for (const path of ['/metrics', '/health']) await download(path, health + path);
    agent.kill('SIGTERM');
    expect(await agent.exited).toBe(0);
    got.push({ name: 'log of the agent', bytes: Buffer.from(agent.stderr() + agent.stdout()) });
    got.push({ name: 'log of the service', bytes: Buffer.from(service.stderr()) });
    const hidden = [...Object.values(secrets), keys.locationKey];
    const looked = new Set<string>();
    expect(got.flatMap(({ name, bytes }) => leaksIn(name, bytes, hidden, looked))).toEqual([]);

    // What the agent keeps: all but the bundles, which are the customer's own files as they are.
    const kept = readdirSync(join(folder, 'agent'), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(folder, 'agent', 'bundles')))
      .map((entry) => join(entry.parentPath, entry.name));
    expect(kept.some((file) => file.includes('/dependencies/'))).toBe(true);
    const holding = kept.filter((file) => {
      const bytes = readFileSync(file);
      return hidden.some((secret) => bytes.includes(secret));
    });
    expect(holding).toEqual([]);
  });
});
