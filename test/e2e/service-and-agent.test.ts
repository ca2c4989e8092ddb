import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packBundle } from '../../src/script/suite/bundle/pack.ts';
import type { SuiteDetails } from '../../src/script/interface/suite-run.ts';
import { hasPlaywright } from '../helpers/scripts/playwright.ts';
import { startPrivateRegistry, type PrivateRegistry } from '../helpers/suites/private-registry.ts';
import { reachesRegistry } from '../helpers/suites/suite-registry.ts';
import { zipNames } from '../helpers/suites/suite-results.ts';
import { hasSuites } from '../helpers/suites/suites.ts';
import { leaksIn } from '../secrets/open-everything.ts';
import { checkSecrets, leakingChecks, leakingGroup, startTelltale } from './leaking-checks.ts';
import {
  endless,
  leaking,
  makePrivateProject,
  quiet,
  setupThrows,
  suiteSecrets as secrets,
} from './leaking-suite.ts';
import { once, startedWith, until } from './program.ts';
import { startWholeWay, type SeenFile, type WholeWay } from './whole-way.ts';

/**
 * Suites and scripts from the public API to their results, with an agent and a service as programs. One package of the suites is
 * downloaded from a private registry with a token. Checks and projects put secrets wherever they can. The last test searches
 * everything that a user can see for these secrets: results, downloaded files and their contents, sessions while they run, the logs
 * of both programs at DEBUG, the agent's metrics, and the files that the agent keeps.
 */

const runs = hasSuites && (await reachesRegistry());

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
type Asset = { name: string; url: string; size: number };
type Session = {
  status: string;
  inProgress: { stage: string | null; log: string[] }[];
  results: { checkResultId: string; checkId: string; isCancelled: boolean; resultType: string }[];
};
type Ran = { result: Result; output: string; files: SeenFile[] };

describe.runIf(runs || hasPlaywright)('from the service through an agent', { timeout: 240_000 }, () => {
  let way: WholeWay;
  let registry: PrivateRegistry;
  let target: Server;
  let url: string;
  let seen = '';
  let api: WholeWay['api'];
  let keys: WholeWay['keys'];
  let base: string;
  let download: WholeWay['download'];
  /** Everything that a user can see. */
  let got: WholeWay['seen'];

  beforeAll(async () => {
    registry = await startPrivateRegistry(secrets.npmToken);
    target = createServer((request, response) => {
      seen += `${request.url} ${JSON.stringify(request.headers)}\n`;
      response.setHeader('content-type', 'text/html');
      request.resume().on('end', () => response.end('<title>x</title><input>'));
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`; // a TCP server's
    way = await startWholeWay({
      authority: registry.authority,
      agentEnv: {
        SUITE_CONCURRENCY: '2',
        JOB_CONCURRENCY: '2',
        SERVICE_SECRET_HOST: checkSecrets.ofHost,
      },
    });
    ({ api, keys, base, seen: got, download } = way);
    const account = { key: 'ACCOUNT', value: secrets.ofAccount, secret: true };
    expect(await api('POST', '/v1/variables', account)).toMatchObject({ status: 201 });
  }, 180_000);
  afterAll(async () => {
    target.closeAllConnections();
    target.close();
    await registry.close();
    await way.close();
  });

  /** Packs and uploads a project, and creates a check for it. */
  async function makeCheck(
    name: string,
    files: { [path: string]: string },
    fields: { environmentVariables?: object[]; [field: string]: unknown } = {},
  ): Promise<string> {
    const project = makePrivateProject(join(way.folder, name), files, registry);
    const archive = join(way.folder, `${name}.tar.gz`);
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

  const finalResult = (id: string, resultId?: string): Promise<Ran> => way.finalResult(id, resultId);

  /** Starts a check session. `read` returns its state, and records it in `got`. */
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
  /** Waits until the session has ended. */
  async function ended(read: () => Promise<Session>): Promise<Session> {
    const look = async () => {
      const session = await read();
      return (
        !['RUNNING', 'PROGRESS', 'STARTED'].includes(session.status) && session.results.length > 0 && session
      );
    };
    return until(look, 'the end of the session', 120_000);
  }
  async function ran(id: string): Promise<Ran> {
    const { results } = await ended((await trigger(id)).read);
    return finalResult(id, results[0]?.checkResultId);
  }

  const madeIn = (output: string) => / made (\d+)/.exec(output)?.[1] ?? output;
  const fetched = () => registry.asked.filter((line) => line.endsWith('.tgz 200')).length;

  /** A scheduled run, which installs the packages that later runs take from the cache. */
  const scheduledRun = once(async () => {
    const due = Math.ceil(((Math.floor(Date.now() / 1000) % 60) + 4) / 6) * 6;
    const checkId = await makeCheck('quiet', quiet, {
      frequency: 1,
      frequencyOffset: (due % 60 === 0 ? 60 : due % 60) / 6,
      pwTags: ['@smoke'],
    });
    const run = await finalResult(checkId);
    // No other run is due during these tests.
    const changes = { frequency: 1440, pwTags: ['@installed'] };
    expect(await api('PUT', `/v1/checks/playwright/${checkId}`, changes)).toMatchObject({ status: 200 });
    return { checkId, made: madeIn(run.output), fetched: fetched(), ...run };
  });

  /** A test session of the same check that installs its packages again. */
  const refreshedRun = once(async () => {
    const { checkId } = await scheduledRun();
    const before = fetched();
    const started = await api<{ testSessionId: string }>('POST', '/v1/test-sessions/trigger', {
      name: 'before a change',
      target: { checkId: [checkId] },
      refreshCache: true,
    });
    expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
    const session = await ended(reader(`/v1/test-sessions/${started.body.testSessionId}`));
    const run = await finalResult(checkId, session.results[0]?.checkResultId);
    return { session, fetched: fetched() - before, ...run };
  });

  /** Runs of projects that put secrets wherever they can. */
  const leakingRuns = once(async () => {
    await scheduledRun();
    const complaint = `printf 'npm error with %s %s %s\\n' "$TOKEN" "$ACCOUNT" ${secrets.inSource} >&2; exit 7`;
    const ids = await Promise.all([
      makeCheck('leaking', leaking(url, 30_100 + (process.pid % 2_000))),
      makeCheck('setup throws', setupThrows),
      makeCheck('install fails', quiet, { installCommand: complaint }),
    ]);
    const [whole, throwing, failing] = await Promise.all([ran(ids[0]), ran(ids[1]), ran(ids[2])]);
    return { whole, throwing, failing };
  });

  /** Runs of checks with scripts that put secrets wherever they can, and all their files. */
  const leakingScripts = once(async () => {
    const before = got.length;
    const telltale = await startTelltale(keys.locationKey);
    const privateLocations = [keys.locationSlug];
    const make = async <T>(path: string, body: object): Promise<T> => {
      const answer = await api<T>('POST', path, body);
      expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
      return answer.body;
    };
    const { id: groupId } = await make<{ id: number }>('/v1/check-groups', {
      ...leakingGroup,
      privateLocations,
    });
    const common = { groupId, privateLocations, frequency: 1440, doubleCheck: false };
    const made = leakingChecks(telltale.url, common).map(([path, body]) => make<{ id: string }>(path, body));
    const ids = (await Promise.all(made)).map(({ id }) => id);
    const started = await api('POST', '/v1/check-sessions/trigger', { target: { checkId: ids } });
    expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
    const all = await Promise.all(ids.map((id) => way.finalResult<Result>(id)));
    telltale.close();
    for (const id of ids) {
      const list = `${base}/v1/check-results/${id}?limit=100&resultType=ALL`;
      const results = JSON.parse((await download(`list of ${id}`, list)).toString()) as { id: string }[]; // the service's own answer
      for (const result of results) {
        const at = `${base}/v1/check-results/${id}/${result.id}`;
        await download(`result ${result.id}`, at);
        const listed = await download(`assets of ${result.id}`, `${at}/assets`);
        const { assets } = JSON.parse(listed.toString()) as { assets: Asset[] }; // as above
        for (const asset of assets)
          expect((await download(asset.name, asset.url)).length, asset.name).toBe(asset.size);
      }
    }
    return { all, seen: telltale.seen(), names: got.slice(before).map(({ name }) => name) };
  });

  test.runIf(runs)('a scheduled run has a result, and files that open', async () => {
    const { result, output, files, made, fetched: downloads } = await scheduledRun();
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
      writeFileSync(join(way.folder, 'opened.zip'), bytes);
      expect(await zipNames(join(way.folder, 'opened.zip')), name).not.toEqual([]);
    }
    expect(output).toContain('CI=undefined run 1 key undefined');
    expect(output).toContain('token *********');
    expect(output).toContain('has widget 1.2.3 made');
    expect(made).toMatch(/^\d+$/);
    expect(downloads).toBe(1);
  });

  // The next two mostly wait, so they run at the same time.
  test
    .runIf(runs)
    .concurrent(
      'a check session shows its stage and log while it runs, and a cancel ends it',
      async ({ expect }) => {
        const { made } = await scheduledRun();
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
        // The packages of the scheduled run.
        expect(madeIn(running.log.join('\n'))).toBe(made);
        const ofSuite = () => startedWith(marker);
        expect(ofSuite()).not.toEqual([]);
        expect(await api('POST', `/v2/${session}/cancel`)).toMatchObject({ status: 204 });
        await until(() => ofSuite().length === 0, 'the exit of its processes', 30_000);
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

  test
    .runIf(runs)
    .concurrent('the results of projects that leak their secrets are masked', async ({ expect }) => {
      const { whole, throwing, failing } = await leakingRuns();
      expect(whole.result, whole.output).toMatchObject({
        status: 'failed',
        reason: { code: 'TEST_FAILED' },
        details: { dependencyCache: 'hit', totals: { tests: 1, failed: 1 } },
      });
      expect(throwing.result.reason?.code, throwing.output).toBe('SCRIPT_THREW');
      expect(throwing.result.reason?.message).toContain('no setup with ********* and *********');
      expect(failing.result.reason).toMatchObject({ code: 'INSTALL_FAILED' });
      expect(failing.result.reason?.message).toContain('npm error with ********* ********* *********');

      // The controls: the secrets did get this far, and are masked.
      expect(seen).toContain(encodeURIComponent(secrets.ofCheck));
      for (const words of ['config', 'setup', 'stdout', '[WebServer] server'])
        expect(whole.output, words).toContain(`${words} *********`);
      const types = whole.result.artifacts.filter(({ state }) => state === 'stored').map(({ type }) => type);
      expect(types).toEqual(expect.arrayContaining(['log', 'report', 'trace', 'file']));
      expect(JSON.stringify(whole.result.details.tests)).toContain('named after *********');
    });

  test.runIf(runs)('a test session sets CI, and refreshCache installs the packages again', async () => {
    const { made } = await scheduledRun();
    const { session, result, output, fetched: downloads } = await refreshedRun();
    expect(session.status).toBe('PASSED');
    expect(result, output).toMatchObject({
      status: 'passed',
      details: { dependencyCache: 'refreshed', totals: { tests: 1, passed: 1 } },
    });
    expect(output).toContain('CI=1');
    expect(madeIn(output)).toMatch(/^\d+$/);
    expect(madeIn(output)).not.toBe(made);
    expect(downloads).toBe(1);
    expect([...registry.shown]).toEqual([`Bearer ${secrets.npmToken}`]);
  });

  test.runIf(hasPlaywright)('checks with scripts that leak their secrets fail as expected', async () => {
    const { all, seen: seenByTarget, names } = await leakingScripts();
    expect(all.map(({ result: { status, reason } }) => [status, reason?.code])).toEqual([
      ['failed', 'ASSERTION_FAILED'],
      ['failed', 'SCRIPT_THREW'],
      ['failed', 'SCRIPT_THREW'],
      ['failed', 'ECONNREFUSED'],
      ['failed', 'ENOTFOUND'],
      ['failed', 'TEST_FAILED'],
      ['failed', 'TEST_FAILED'],
    ]);

    // The control: the target has received the secrets.
    const { fromSetup, fromHelper, ofCheck, inSource, header } = checkSecrets;
    for (const secret of [fromSetup, fromHelper, ofCheck, inSource, header])
      expect(leaksIn('seen', Buffer.from(seenByTarget), [secret])).not.toEqual([]);

    expect(names).toEqual(
      expect.arrayContaining([expect.stringMatching(/\.zip$/), expect.stringMatching(/\.json$/)]),
    );
  });

  test('no secret of these runs is visible anywhere', async () => {
    if (runs) {
      await leakingRuns();
      await refreshedRun();
    }
    if (hasPlaywright) await leakingScripts();
    const { agent, service } = way;
    const health = /"healthUrl":"(http:[^"]+)"/.exec(agent.stderr())?.[1] ?? '';
    for (const path of ['/metrics', '/health']) await download(path, health + path);
    agent.kill('SIGTERM');
    expect(await agent.exited).toBe(0);
    got.push({ name: 'log of the agent', bytes: Buffer.from(agent.stderr() + agent.stdout()) });
    got.push({ name: 'log of the service', bytes: Buffer.from(service.stderr()) });
    const hidden = [...Object.values({ ...secrets, ...checkSecrets }), keys.locationKey];
    const looked = new Set<string>();
    expect(got.flatMap(({ name, bytes }) => leaksIn(name, bytes, hidden, looked))).toEqual([]);

    // The agent's files, except the bundles, which are the customer's own files.
    const data = join(way.folder, 'agent');
    const kept = readdirSync(data, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(data, 'bundles')))
      .map((entry) => join(entry.parentPath, entry.name));
    const packages = (file: string) => file.includes('/dependencies/');
    expect(kept.some(packages)).toBe(runs);
    const holding = kept.filter((file) => {
      const bytes = readFileSync(file);
      // Packages are many, and the registry's own files, so they are not opened.
      if (packages(file)) return hidden.some((secret) => bytes.includes(secret));
      return leaksIn(file, bytes, hidden, looked).length > 0;
    });
    expect(holding).toEqual([]);
  });
});
