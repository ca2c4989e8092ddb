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
import { privatePackage, startPrivateRegistry, type PrivateRegistry } from '../helpers/private-registry.ts';
import { noDownloads, reachesRegistry, registryVariables } from '../helpers/suite-registry.ts';
import { hasSuites, makeProject } from '../helpers/suites.ts';
import { leaksIn } from '../secrets/open-everything.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/**
 * The oracle for suites: projects that put secrets wherever a project can, and a search of all that anybody gets to see: results,
 * every file, sessions while they run, both programs' logs at DEBUG, what the agent keeps. One package of theirs comes from a
 * private registry, by a token; and a session may have it installed anew.
 */

const runs = hasSuites && (await reachesRegistry());

const secrets = {
  ofAccount: 'account/walnut+"5kq"<é>',
  ofCheck: 'check\\birch&tree=7741?',
  inSource: 'literal-in-the-source-8271',
  npmToken: 'npm_token-of-the-check-48213',
};

type Keys = { apiKey: string; locationKey: string; locationSlug: string };
type Result = {
  id: string;
  status: string;
  reason: { code: string; message: string } | null;
  details: SuiteDetails;
  artifacts: { name: string; type: string; state: string; url?: string }[];
  log: { msg: string }[];
};
type Session = { status: string; results: { checkResultId: string }[] };

const plain = `
import { test } from '@playwright/test';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
test('is installed', () => {
  const require = createRequire(process.cwd() + '/');
  console.log('has', require('${privatePackage.name}'), 'made', readFileSync('node_modules/made', 'utf8').trim());
});`;

const leaking = (url: string): string => `
import { test, expect } from '@playwright/test';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
const { TOKEN, ACCOUNT, NPM_TOKEN } = process.env;
const all = [TOKEN, ACCOUNT, NPM_TOKEN, '${secrets.inSource}'];
test.describe('of ' + ACCOUNT, () => {
  test('named after ' + TOKEN, { annotation: { type: 'issue', description: 'see ' + TOKEN } }, async ({ page, request }, info) => {
    info.annotations.push({ type: ACCOUNT, description: all.join(' ') });
    console.log('stdout', ...all, Buffer.from(TOKEN).toString('base64'), encodeURIComponent(ACCOUNT), JSON.stringify({ TOKEN }));
    console.error('stderr', all);
    await test.step('a step with ' + TOKEN, async () => {
      await page.setExtraHTTPHeaders({ 'x-token': encodeURIComponent(TOKEN), authorization: 'Bearer ' + NPM_TOKEN });
      await page.goto('${url}/?account=' + encodeURIComponent(ACCOUNT));
      await page.evaluate((values) => {
        console.log('console', ...values);
        document.title = values.join(' ');
        return fetch('/posted', { method: 'POST', body: JSON.stringify(values) });
      }, all);
      await page.fill('input', ACCOUNT);
      await request.post('${url}/form', { form: { TOKEN, ACCOUNT }, headers: { 'x-key': NPM_TOKEN } });
    });
    const file = info.outputPath('of-${secrets.inSource}.txt');
    writeFileSync(file, all.join(' '));
    await info.attach('file ' + ACCOUNT, { path: file });
    await info.attach('body', { body: Buffer.from(all.join(' ')), contentType: 'text/plain' });
    await info.attach('packed', { body: gzipSync(all.join(' ')), contentType: 'application/gzip' });
    const html = '<script>const data = "data:application/gzip;base64,' + gzipSync(all.join(' ')).toString('base64') + '"</script>';
    await info.attach('report', { body: html, contentType: 'text/html' });
    expect.soft(all.join(' ')).toMatchSnapshot('kept.txt');
    expect.soft(await page.title(), 'the title of ' + TOKEN).toBe('not ' + ACCOUNT);
    throw new Error('ends with ' + TOKEN, { cause: new Error(ACCOUNT) });
  });
});`;
const leakingConfig = (port: number): string => `import { defineConfig } from '@playwright/test';
console.log('config', process.env.TOKEN);
export default defineConfig({
  workers: 1, retries: 0, globalSetup: './setup.ts', reporter: [['list'], ['json', { outputFile: 'own.json' }]],
  metadata: { token: process.env.TOKEN },
  webServer: { command: 'node server.js', port: ${port}, stdout: 'pipe', stderr: 'pipe' },
});`;
const leakingServer = (port: number): string => `
console.log('server', process.env.ACCOUNT, process.env.TOKEN);
console.error('server', JSON.stringify(process.env.TOKEN));
require('node:http').createServer((_, response) => response.end('yes')).listen(${port});`;
const quietConfig = `import { defineConfig } from '@playwright/test';
export default defineConfig({ workers: 1, retries: 0 });`;

describe.runIf(runs)('what a service gets of suites', { timeout: 240_000 }, () => {
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
  const got: { name: string; bytes: Buffer }[] = [];

  beforeAll(async () => {
    const main = await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'suites-leaks-'));
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
    agent = startProgram(main, ['start'], {
      SERVICE_URL: base,
      API_KEY: keys.locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'agent'),
      LOG_LEVEL: 'DEBUG',
      ...variables,
      NODE_EXTRA_CA_CERTS: authorities,
      ...noDownloads,
    });
    expect(
      await api('POST', '/v1/variables', { key: 'ACCOUNT', value: secrets.ofAccount, secret: true }),
    ).toMatchObject({
      status: 201,
    });
  }, 180_000);
  afterAll(async () => {
    killAll();
    target.closeAllConnections();
    target.close();
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
    await place.remove();
  });

  /** A check of a project that needs the private package besides Playwright. */
  async function makeCheck(name: string, files: { [path: string]: string }, fields: object = {}) {
    const project = makeProject(join(folder, name), files);
    for (const file of ['package.json', 'package-lock.json']) {
      const path = join(project, file);
      const json = JSON.parse(readFileSync(path, 'utf8')) as Manifest & {
        packages?: Record<string, Manifest>;
      };
      const root = json.packages?.[''] ?? json;
      root.dependencies = { ...root.dependencies, [privatePackage.name]: privatePackage.version };
      if (json.packages !== undefined)
        json.packages[`node_modules/${privatePackage.name}`] = {
          version: privatePackage.version,
          resolved: `${registry.url}${privatePackage.name}/-/widget-${privatePackage.version}.tgz`,
          integrity: registry.integrity,
        };
      writeFileSync(path, JSON.stringify(json));
    }
    writeFileSync(
      join(project, '.npmrc'),
      `@acme:registry=${registry.url}\n//${registry.host}/:_authToken=\${NPM_TOKEN}\n`,
    );
    const archive = join(folder, `${name}.tar.gz`);
    await packBundle({ folder: project, to: archive });
    const answer = await fetch(`${base}/v1/playwright-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.apiKey}`, 'content-type': 'application/octet-stream' },
      body: readFileSync(archive),
    });
    const { key } = (await answer.json()) as { key: string };
    const made = await api<{ id: string }>('POST', '/v1/checks/playwright', {
      name,
      codeBundlePath: key,
      privateLocations: [keys.locationSlug],
      frequency: 1440,
      environmentVariables: [
        { key: 'TOKEN', value: secrets.ofCheck, secret: true },
        { key: 'LITERAL', value: secrets.inSource, secret: true },
        { key: 'NPM_TOKEN', value: secrets.npmToken, secret: true },
      ],
      installCommand:
        'npm ci --no-audit --no-fund && date +%s%N > node_modules/made && printf "installed with %s\\n" "$TOKEN"',
      ...fields,
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

  /** A session of the check, seen all the while, until its result is there with its files, which are downloaded. */
  async function trigger(id: string, more: object = {}): Promise<{ result: Result; output: string }> {
    const started = await api<{ sessions: { checkSessionId: string }[] }>(
      'POST',
      '/v1/check-sessions/trigger',
      {
        target: { checkId: [id] },
        ...more,
      },
    );
    expect(started, JSON.stringify(started.body)).toMatchObject({ status: 201 });
    const path = `/v2/check-sessions/${started.body.sessions[0]?.checkSessionId}`;
    let last = '';
    const { results } = await until(
      async () => {
        // Several sessions are followed at once, and a key may ask only so often.
        await new Promise((resolve) => setTimeout(resolve, 300));
        const { body } = await api<Session>('GET', path);
        const text = JSON.stringify(body);
        if (text !== last) got.push({ name: `session of ${id}`, bytes: Buffer.from((last = text)) });
        return body.results.length > 0 && body;
      },
      'the end of the session',
      120_000,
    );
    const at = `/v1/check-results/${id}/${results[0]?.checkResultId}`;
    const result = await until(
      async () => {
        const { body } = await api<Result>('GET', at);
        return !body.artifacts.some(({ state }) => state === 'pending') && body;
      },
      'all files',
      60_000,
    );
    await download(`result of ${id}`, base + at);
    let output = '';
    for (const { name, url: from } of result.artifacts) {
      const bytes = await download(name, from ?? '');
      if (name === 'output.log') output = bytes.toString();
    }
    return { result, output };
  }

  test('refreshCache of a session installs anew; otherwise what was installed is used again', async () => {
    const id = await makeCheck('plain', { 'playwright.config.ts': quietConfig, 'a.spec.ts': plain });
    const came: (string | null)[] = [];
    const made: string[] = [];
    const asked: number[] = [];
    for (const more of [{}, { refreshCache: false }, { refreshCache: true }]) {
      const { result, output } = await trigger(id, more);
      expect(result, output).toMatchObject({
        status: 'passed',
        details: { totals: { tests: 1, passed: 1 } },
      });
      came.push(result.details.dependencyCache);
      made.push(/has widget 1\.2\.3 made (\d+)/.exec(output)?.[1] ?? output);
      asked.push(registry.asked.filter((line) => line.endsWith('.tgz 200')).length);
    }
    expect(came).toEqual(['miss', 'hit', 'refreshed']);
    expect(asked).toEqual([1, 1, 2]);
    expect(made[1]).toBe(made[0]);
    expect(made[2]).not.toBe(made[0]);
    expect([...registry.shown]).toEqual([`Bearer ${secrets.npmToken}`]);
  });

  test('projects that put secrets wherever they can: none is to be seen', async () => {
    const port = 40_000 + (process.pid % 20_000);
    const setup = `export default () => { console.log('setup', process.env.TOKEN, process.env.ACCOUNT); };`;
    const ids = await Promise.all([
      makeCheck('leaking', {
        'playwright.config.ts': leakingConfig(port),
        'setup.ts': setup,
        'server.js': leakingServer(port),
        'a.spec.ts': leaking(url),
      }),
      makeCheck('setup throws', {
        'playwright.config.ts': quietConfig.replace('workers: 1', `workers: 1, globalSetup: './setup.ts'`),
        'setup.ts': `export default () => { throw new Error('no setup with ' + process.env.TOKEN + ' and ' + process.env.ACCOUNT); };`,
        'a.spec.ts': plain,
      }),
      makeCheck(
        'install fails',
        { 'playwright.config.ts': quietConfig, 'a.spec.ts': plain },
        {
          installCommand: `printf 'npm error with %s %s %s\\n' "$TOKEN" "$ACCOUNT" ${secrets.inSource} >&2; exit 7`,
        },
      ),
    ]);
    const [whole, setupThrows, installFails] = await Promise.all([
      trigger(ids[0]),
      trigger(ids[1]),
      trigger(ids[2]),
    ]);
    expect(whole.result, whole.output).toMatchObject({
      status: 'failed',
      reason: { code: 'TEST_FAILED' },
      details: { dependencyCache: 'hit', totals: { tests: 1, failed: 1 } },
    });
    expect(setupThrows.result.reason?.code, setupThrows.output).toBe('SCRIPT_THREW');
    expect(setupThrows.result.reason?.message).toContain('no setup with ********* and *********');
    expect(installFails.result.reason).toMatchObject({ code: 'INSTALL_FAILED' });
    expect(installFails.result.reason?.message).toContain('npm error with ********* ********* *********');

    // The controls: what was planted has come so far, and masked.
    expect(seen).toContain(encodeURIComponent(secrets.ofCheck));
    for (const words of ['config', 'setup', 'stdout', '[WebServer] server'])
      expect(whole.output, words).toContain(`${words} *********`);
    const types = whole.result.artifacts.filter(({ state }) => state === 'stored').map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(['log', 'report', 'trace', 'file']));
    expect(JSON.stringify(whole.result.details.tests)).toContain('named after *********');

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

type Manifest = { dependencies?: Record<string, string>; [field: string]: unknown };
