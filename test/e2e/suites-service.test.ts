import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packBundle } from '../../src/script/suite/pack-bundle.ts';
import type { SuiteDetails } from '../../src/script/suite/suite-run.ts';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace, type ServicePlace } from '../helpers/database.ts';
import { noDownloads, reachesRegistry, registryVariables } from '../helpers/suite-registry.ts';
import { zipNames } from '../helpers/suite-results.ts';
import { hasSuites, makeProject } from '../helpers/suites.ts';
import { leaksIn } from '../secrets/open-everything.ts';
import { apiOf, killAll, processesWith, readyLine, startProgram, until, type Api } from './program.ts';

/** Suites on the whole way: bundles, checks and sessions over the public API, an agent and a service as programs. */

const runs = hasSuites && (await reachesRegistry());

type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Artifact = { name: string; type: string; state: string; size: number; url?: string; reason?: string };
type Result = {
  id: string;
  checkId: string;
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

const secret = 'walnut/7741?<of the check>';
const config = `import { defineConfig } from '@playwright/test';
export default defineConfig({ workers: 1, retries: 0 });`;

const visit = `
import { test, expect } from '@playwright/test';
import { writeFileSync } from 'node:fs';
test('a page', { tag: '@smoke' }, async ({ page }, info) => {
  console.log('CI=' + process.env.CI, 'run', process.env.SERVICE_RUN, 'key', process.env.API_KEY);
  console.log('token', process.env.TOKEN, encodeURIComponent(process.env.TOKEN));
  await page.setContent('<title>' + encodeURIComponent(process.env.TOKEN) + '</title><p></p>');
  await page.locator('p').evaluate((p, token) => { p.textContent = token; }, process.env.TOKEN);
  await expect(page.locator('p')).toHaveText(process.env.TOKEN);
  const file = info.outputPath('token.txt');
  writeFileSync(file, process.env.TOKEN);
  await info.attach('token', { path: file });
});`;

const large = `
import { test } from '@playwright/test';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
test('leaves a large file', async ({}, info) => {
  console.log('CI=' + process.env.CI);
  const path = info.outputPath('large.webm');
  const file = openSync(path, 'w');
  for (let size = 0; size < 151; size += 1) writeSync(file, randomBytes(1024 * 1024));
  closeSync(file);
  await info.attach('large', { path, contentType: 'video/webm' });
});`;

const endless = `
import { test } from '@playwright/test';
test('quick', async ({}, info) => {
  await info.attach('note', { body: 'kept', contentType: 'text/plain' });
});
test('endless', async () => {
  test.setTimeout(0);
  console.log('it has begun');
  await new Promise(() => setInterval(() => undefined, 1000));
});
test('never begun', () => {});`;

describe.runIf(runs)('suites from the service through an agent', { timeout: 240_000 }, () => {
  let folder: string;
  let place: ServicePlace;
  let keys: Keys;
  let api: Api;
  let base: string;
  const spoken: (() => string)[] = [];

  beforeAll(async () => {
    const main = await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'suites-service-'));
    place = await servicePlace();
    const service = startProgram(main, ['service'], {
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
    const agent = startProgram(main, ['start'], {
      SERVICE_URL: base,
      API_KEY: keys.locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'agent'),
      SUITE_CONCURRENCY: '2',
      LOG_LEVEL: 'DEBUG',
      ...registryVariables(),
      ...noDownloads,
    });
    spoken.push(agent.stderr, agent.stdout, service.stderr);
  }, 180_000);
  afterAll(async () => {
    killAll();
    rmSync(folder, { recursive: true, force: true });
    await place.remove();
  });

  /** Packs and uploads a project with these tests, and makes a check of it. */
  async function makeCheck(name: string, text: string, fields: object = {}): Promise<string> {
    const project = makeProject(join(folder, name), { 'playwright.config.ts': config, 'a.spec.ts': text });
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
      environmentVariables: [{ key: 'TOKEN', value: secret, secret: true }],
      ...fields,
    });
    expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
    return made.body.id;
  }

  /** The newest result, once all its files have come or are refused. */
  const finalResult = (id: string, path = `/v1/check-results/${id}?limit=1`) =>
    until(
      async () => {
        const { body } = await api<Result[] | Result>('GET', path);
        const [result] = Array.isArray(body) ? body : [body];
        return result !== undefined && !result.artifacts.some(({ state }) => state === 'pending') && result;
      },
      'a result with all its files',
      180_000,
    );
  const download = async (url: string) => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${keys.apiKey}` } });
    expect(response.status, url).toBe(200);
    return Buffer.from(await response.arrayBuffer());
  };

  test('a scheduled run: its result, and files that open and hold no secret', async () => {
    const due = Math.ceil(((Math.floor(Date.now() / 1000) % 60) + 4) / 6) * 6;
    const id = await makeCheck('visit', visit, {
      frequency: 1,
      frequencyOffset: (due % 60 === 0 ? 60 : due % 60) / 6,
      pwTags: ['@smoke'],
    });
    const result = await finalResult(id);
    // It has done its part.
    expect(await api('PUT', `/v1/checks/playwright/${id}`, { activated: false })).toMatchObject({
      status: 200,
    });
    expect(result, JSON.stringify(result.log)).toMatchObject({
      status: 'passed',
      details: {
        playwrightVersion: '1.58.2',
        dependencyCache: 'miss',
        runStatus: 'passed',
        totals: { tests: 1, passed: 1 },
        tests: [{ title: 'a page', tags: ['@smoke'], status: 'passed', retries: 0 }],
      },
    });
    expect(result.artifacts.map(({ type, state }) => `${type} ${state}`)).toEqual(
      expect.arrayContaining(['report stored', 'trace stored', 'log stored', 'file stored']),
    );
    const got = [{ name: 'result', bytes: Buffer.from(JSON.stringify(result)) as Buffer }];
    for (const { name, url, size } of result.artifacts) {
      const bytes = await download(url ?? '');
      expect(bytes.length, name).toBe(size);
      got.push({ name, bytes });
      if (!name.endsWith('.zip')) continue;
      writeFileSync(join(folder, 'opened.zip'), bytes);
      expect(await zipNames(join(folder, 'opened.zip')), name).not.toEqual([]);
    }
    const output = got.find(({ name }) => name.startsWith('output'))?.bytes.toString() ?? '';
    expect(output).toContain('CI=undefined run 1 key undefined');
    expect(output).toContain('token *********');
    for (const said of spoken) got.push({ name: 'log', bytes: Buffer.from(said()) });
    const hidden = [secret, keys.locationKey];
    expect(got.flatMap(({ name, bytes }) => leaksIn(name, bytes, hidden))).toEqual([]);
  });

  // The two below mostly wait, and need the packages that the run above has installed: they go on at once.
  test.concurrent(
    'a test session: CI is set; a report that is too large is refused by name, the rest arrives',
    async () => {
      const id = await makeCheck('large', large);
      const started = await api<{ testSessionId: string }>('POST', '/v1/test-sessions/trigger', {
        name: 'before a change',
        target: { checkId: [id] },
      });
      expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
      const session = await until(
        async () => {
          const path = `/v1/test-sessions/${started.body.testSessionId}`;
          const { body } = await api<Session>('GET', path);
          return body.status !== 'RUNNING' && body.results.length > 0 && body;
        },
        'the end of the session',
        150_000,
      );
      expect(session.status).toBe('PASSED');
      const result = await finalResult(id, `/v1/check-results/${id}/${session.results[0]?.checkResultId}`);
      expect(result.details).toMatchObject({ dependencyCache: 'hit', totals: { tests: 1, passed: 1 } });
      const of = (name: string) => result.artifacts.find((artifact) => artifact.name === name);
      expect(of('report.zip'), JSON.stringify(result.artifacts)).toMatchObject({ state: 'refused' });
      expect(of('report.zip')?.size).toBeGreaterThan(150 * 1024 * 1024);
      expect(of('report-without-files.zip')).toMatchObject({ state: 'stored' });
      expect(of('test-results.json')).toMatchObject({ state: 'stored' });
      expect(result.log.map(({ msg }) => msg).join('\n')).toMatch(/report\.zip.*1[56]\d/);
      const output = await download(of('output.log')?.url ?? '');
      expect(output.toString()).toContain('CI=1');
    },
  );

  test.concurrent('a check session: stage and log are seen while it runs, a cancel ends it', async () => {
    const marker = `endless-${process.pid}`;
    const id = await makeCheck('endless', endless, {
      environmentVariables: [{ key: 'MARKER', value: marker }],
    });
    const started = await api<{ sessions: { checkSessionId: string }[] }>(
      'POST',
      '/v2/check-sessions/trigger',
      { target: { checkId: [id] } },
    );
    expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
    const path = `/v2/check-sessions/${started.body.sessions[0]?.checkSessionId}`;
    const running = await until(
      async () => {
        const { body } = await api<Session>('GET', path);
        const [run] = body.inProgress;
        return run?.log.some((line) => line.includes('it has begun')) === true && run;
      },
      'the line of the running test',
      120_000,
    );
    expect(running.stage).toBe('test');
    const ofSuite = () => processesWith(marker);
    expect(ofSuite()).not.toEqual([]);
    const began = performance.now();
    expect(await api('POST', `${path}/cancel`)).toMatchObject({ status: 204 });
    await until(() => ofSuite().length === 0, 'the end of its processes', 30_000);
    // 6 s on a machine that has time.
    expect(performance.now() - began).toBeLessThan(12_000);
    const { results } = await until(
      async () => {
        const { body } = await api<Session>('GET', path);
        return body.status === 'CANCELLED' && body.results.length > 0 && body;
      },
      'the cancelled session',
      30_000,
    );
    expect(results).toMatchObject([{ checkId: id, isCancelled: true, resultType: 'FINAL' }]);
    const result = await finalResult(id, `/v1/check-results/${id}/${results[0]?.checkResultId}`);
    expect(result).toMatchObject({
      status: 'cancelled',
      isCancelled: true,
      reason: { code: 'CANCELLED' },
      details: { runStatus: 'interrupted', totals: { tests: 3, passed: 1, interrupted: 2 } },
    });
    const stored = result.artifacts.filter(({ state }) => state === 'stored').map(({ type }) => type);
    expect(stored).toEqual(expect.arrayContaining(['log', 'trace']));
  });
});
