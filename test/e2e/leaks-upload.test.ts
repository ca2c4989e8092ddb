import { createServer, type Server } from 'node:http';
import { readFileSync, rmSync, mkdtempSync, existsSync, readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';
import { servicePlace, type ServicePlace } from '../helpers/database.ts';
import { hasPlaywright } from '../helpers/playwright.ts';
import { makeZip } from '../secrets/make-zip.ts';
import { leaksIn } from '../secrets/open-everything.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from './program.ts';

/**
 * The oracle on the whole way: an agent and a service as programs, checks made over the public API, and a search of all that
 * anybody gets to see afterwards: results, files downloaded by their URLs and opened as far as they can be, both programs'
 * logs at DEBUG, the agent's metrics and what it has left on its disk.
 */

const secrets = {
  ofAccount: 'account/walnut+"5kq"<é>',
  ofGroup: 'group-hazel-tree-%41-6612',
  ofCheck: 'check\\birch&tree=7741?',
  inSource: 'literal-in-the-source-8271',
  fromSetup: 'made-in-the-setup-30071',
  fromTeardown: 'made-in-the-teardown-49112',
  fromHelper: 'named-by-the-helper-55810',
  atRunTime: 'made-at-run-time-90125',
  ofHost: 'secret-of-the-host-27712',
  header: 'bearer-that-nobody-named-3361',
  cookie: 'cookie-that-nobody-named-4410',
};
const { ofAccount, ofGroup, ofCheck, inSource, fromSetup, fromTeardown, fromHelper, atRunTime, ofHost } =
  secrets;

type Result = {
  id: string;
  status: string;
  reason: { code: string; message: string } | null;
  artifacts?: { name: string; state: string }[];
};
type Asset = { name: string; url: string; size: number };
type Keys = { apiKey: string; locationKey: string; locationSlug: string };

/** What the setup script does before anything of it is known as a secret, and after. */
const groupSetup = `
console.log('before', '${fromSetup}', JSON.stringify(process.env.ACCOUNT));
process.env.SERVICE_SECRET_MADE = '${fromSetup}';
console.log('after', encodeURIComponent(process.env.GROUP), Buffer.from(process.env.SERVICE_SECRET_MADE).toString('base64'));
request.headers['x-made'] = process.env.SERVICE_SECRET_MADE;
request.headers.authorization = 'Bearer ' + process.env.BEARER;`;
const setup = `
const { secret } = require('@location-agent/helpers');
process.env.HELPED = secret('${fromHelper}');
request.url += '&made=' + encodeURIComponent(process.env.SERVICE_SECRET_MADE);
request.queryParameters.literal = '${inSource}';
request.body = JSON.stringify({ token: process.env.TOKEN, helped: process.env.HELPED, account: process.env.ACCOUNT });
console.error({ token: process.env.TOKEN, nested: [request.headers] });`;
const teardown = `
console.warn('teardown', response.body, response.headers, request.url);
process.env.SERVICE_SECRET_LATE = '${fromTeardown}';
response.body = response.body + ' and ${fromTeardown} and ${inSource}';`;

const throwing = (what: string) => `${what === 'setup' ? '' : 'console.log(response.body);'}
const error = new TypeError('thrown with ' + process.env.TOKEN + ' ' + process.env.GROUP + ' ${fromSetup}');
error.cause = new Error('because of ' + process.env.ACCOUNT);
error.detail = { token: process.env.TOKEN };
throw error;`;

const browserScript = (url: string): string => `import { test, expect } from '@playwright/test';
import { writeFileSync } from 'node:fs';
test('shop ${inSource}', async ({ page, context, request }, info) => {
  const { TOKEN, GROUP, ACCOUNT } = process.env;
  console.log('before it is one', '${atRunTime}', GROUP);
  process.env.SERVICE_SECRET_RUN = '${atRunTime}';
  await context.setExtraHTTPHeaders({ authorization: 'Bearer ' + process.env.BEARER, 'x-group': encodeURIComponent(GROUP) });
  await page.goto('${url}/page?token=' + encodeURIComponent(TOKEN) + '&run=${atRunTime}');
  await page.fill('#p', ACCOUNT);
  await test.step('step ' + GROUP, () => page.evaluate((value) => console.error('page', value), ACCOUNT));
  const nested = await (await request.post('${url}/nested', { headers: { cookie: 'sid=' + process.env.COOKIE }, data: { TOKEN } })).body();
  await info.attach('nested', { body: nested, contentType: 'application/zip' });
  const report = await (await request.get('${url}/report')).body();
  await info.attach('report', { body: report, contentType: 'text/html' });
  await info.attach('packed ${inSource}', { body: await (await request.get('${url}/packed')).body(), contentType: 'application/gzip' });
  const file = info.outputPath('of-${inSource}.txt');
  writeFileSync(file, [TOKEN, GROUP, ACCOUNT, '${ofHost}'].join(' '));
  await info.attach('file', { path: file });
  expect.soft(await page.title()).toBe('not ' + GROUP);
  throw new Error('ends with ' + TOKEN, { cause: ACCOUNT });
});`;

const multiStepScript = (url: string): string => `import { test, expect } from '@playwright/test';
test('calls', async ({ request }) => {
  const { TOKEN, GROUP, ACCOUNT } = process.env;
  process.env.SERVICE_SECRET_RUN = '${atRunTime}';
  const response = await request.post('${url}/plain?account=' + encodeURIComponent(ACCOUNT), {
    headers: { authorization: 'Bearer ' + process.env.BEARER, 'x-api-key': process.env.BEARER }, form: { TOKEN, GROUP, literal: '${inSource}' } });
  expect.soft(await response.text()).toBe(GROUP + ' alone');
  await request.get('http://127.0.0.1:1/' + encodeURIComponent(TOKEN), { headers: { cookie: 'sid=' + process.env.COOKIE } });
});`;

describe.runIf(hasPlaywright)('what a service gets from an agent', { timeout: 150_000 }, () => {
  let folder: string;
  let place: ServicePlace;
  let target: Server;
  let url: string;
  let keys: Keys;
  let api: Api;
  let base: string;
  let service: Program;
  let agent: Program;
  let everything: string[];
  let seen = '';

  beforeAll(async () => {
    target = createServer();
    const main = await builtProgram();
    folder = mkdtempSync(join(tmpdir(), 'leaks-upload-'));
    place = await servicePlace();
    service = startProgram(main, ['service'], {
      SERVICE_PORT: '0',
      // Tests ask again and again.
      SERVICE_RATE_LIMIT: '0',
      ...place.env,
      LOG_LEVEL: 'DEBUG',
    });
    const ready = await readyLine(service);
    keys = JSON.parse(readFileSync(ready.keysFile ?? '', 'utf8')) as Keys; // the service has just written it
    everything = [...Object.values(secrets), keys.locationKey];
    base = ready.serviceUrl;
    api = apiOf(ready.serviceUrl, keys.apiKey);
    const common = [ofAccount, ofGroup, ofCheck, inSource, ofHost, keys.locationKey].join(' | ');
    // What each run can know: nobody can mask what nobody has named.
    const ofApi = `${common} | ${fromSetup} end`;
    const ofScripts = `${common} | ${atRunTime} end`;
    const nested = await makeZip([['inner.zip', await makeZip([[`${inSource}.txt`, ofScripts]])]]);
    const report = await makeZip([['report.json', JSON.stringify({ ofScripts })]]);
    const html = `<script>const zip = "data:application/zip;base64,${report.toString('base64')}"</script>`;
    target.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        seen += `${request.url} ${JSON.stringify(request.headers)} ${body}\n`;
        response.setHeader('set-cookie', `sid=${secrets.cookie}; Path=/`);
        const path = (request.url ?? '').split('?', 1)[0];
        response.setHeader('x-echo', encodeURIComponent(path === '/echo' ? ofApi : ofScripts));
        if (path === '/nested') return response.end(nested);
        if (path === '/packed') return response.end(gzipSync(ofScripts));
        if (path === '/echo') return response.end(`${ofApi} ${body} ${request.url}`);
        if (path === '/plain') return response.end(`${ofScripts} ${body} ${request.url}`);
        response.setHeader('content-type', 'text/html');
        if (path === '/report') return response.end(html);
        return response.end(
          `<title>${ofGroup}</title><input id="p"><script>console.log("${ofHost}")</script>`,
        );
      });
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`; // a TCP server's
    agent = startProgram(main, ['start'], {
      SERVICE_URL: ready.serviceUrl,
      API_KEY: keys.locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'agent'),
      JOB_CONCURRENCY: '2',
      LOG_LEVEL: 'DEBUG',
      SERVICE_SECRET_HOST: ofHost,
    });
  }, 180_000);

  afterAll(async () => {
    killAll();
    target.closeAllConnections();
    target.close();
    rmSync(folder, { recursive: true, force: true });
    await place.remove();
  });

  async function make<T>(path: string, body: object): Promise<T> {
    const answer = await api<T>('POST', path, body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
    return answer.body;
  }

  /** Once a minute, first in 4 to 10 s. */
  const soon = (name: string, groupId: number) => {
    const due = Math.ceil(((Math.floor(Date.now() / 1000) % 60) + 4) / 6) * 6;
    return {
      name,
      groupId,
      privateLocations: [keys.locationSlug],
      frequency: 1,
      frequencyOffset: (due % 60 === 0 ? 60 : due % 60) / 6,
      doubleCheck: false,
      environmentVariables: [
        { key: 'TOKEN', value: ofCheck, secret: true },
        { key: 'LITERAL', value: inSource, secret: true },
        // Not secrets: masked as a header's values, which stand nowhere else.
        { key: 'BEARER', value: secrets.header },
        { key: 'COOKIE', value: secrets.cookie },
      ],
    };
  };

  test('results, downloaded files, logs and what stays behind hold no secret', async () => {
    await make('/v1/variables', { key: 'ACCOUNT', value: ofAccount, secret: true });
    const { id: groupId } = await make<{ id: number }>('/v1/check-groups', {
      name: 'a group',
      privateLocations: [keys.locationSlug],
      doubleCheck: false,
      environmentVariables: [{ key: 'GROUP', value: ofGroup, secret: true }],
      localSetupScript: groupSetup,
    });
    const request = {
      method: 'POST',
      url: `${url}/echo?token={{TOKEN}}`,
      headers: [{ key: 'x-account', value: '{{GROUP}}' }],
      basicAuth: { username: 'somebody', password: ofCheck },
      assertions: [
        { source: 'TEXT_BODY', comparison: 'EQUALS', target: '{{TOKEN}} alone' },
        { source: 'HEADERS', property: 'x-echo', comparison: 'EQUALS', target: `not ${inSource}` },
      ],
    };
    const apiCheck = (name: string, fields: object) =>
      make<{ id: string }>('/v1/checks/api', { ...soon(name, groupId), request, ...fields });
    const scripts = { localSetupScript: setup, localTearDownScript: teardown };
    const checks = await Promise.all([
      apiCheck('whole', {
        ...scripts,
        retryStrategy: { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 },
      }),
      apiCheck('setup throws', { localSetupScript: throwing('setup') }),
      apiCheck('teardown throws', { localTearDownScript: throwing('teardown') }),
      apiCheck('nobody there', {
        ...scripts,
        request: { ...request, url: 'http://127.0.0.1:1/?{{TOKEN}}=1' },
      }),
      apiCheck('no such host', {
        localSetupScript: "request.url = 'http://' + process.env.LITERAL + '.invalid/' + process.env.TOKEN;",
      }),
      make<{ id: string }>('/v1/checks/browser', {
        ...soon('visit', groupId),
        script: browserScript(url),
      }),
      make<{ id: string }>('/v1/checks/multistep', {
        ...soon('calls', groupId),
        script: multiStepScript(url),
      }),
    ]);

    const finals = await until(
      async () => {
        const lists = await Promise.all(
          checks.map(({ id }) => api<Result[]>('GET', `/v1/check-results/${id}?limit=1`)),
        );
        const latest = lists.map(({ body }) => body[0]);
        const settled = latest.every(
          (result) =>
            result !== undefined && !(result.artifacts ?? []).some(({ state }) => state === 'pending'),
        );
        return settled && lists.flatMap(({ body }) => body.slice(0, 1));
      },
      'a result of each check with all its files',
      90_000,
    );
    expect(finals.map(({ status, reason }) => [status, reason?.code])).toEqual([
      ['failed', 'ASSERTION_FAILED'],
      ['failed', 'SCRIPT_THREW'],
      ['failed', 'SCRIPT_THREW'],
      ['failed', 'ECONNREFUSED'],
      ['failed', 'ENOTFOUND'],
      ['failed', 'TEST_FAILED'],
      ['failed', 'TEST_FAILED'],
    ]);

    // The control: the target has met what was planted.
    for (const secret of [fromSetup, fromHelper, ofCheck, inSource, secrets.header]) {
      expect(leaksIn('seen', Buffer.from(seen), [secret])).not.toEqual([]);
    }

    const got: { name: string; bytes: Buffer }[] = [];
    const headers = { authorization: `Bearer ${keys.apiKey}` };
    const download = async (name: string, from: string) => {
      const response = await fetch(from, { headers });
      expect(response.status, from).toBe(200);
      const bytes = Buffer.from(await response.arrayBuffer());
      got.push(
        { name, bytes },
        { name: `headers of ${name}`, bytes: Buffer.from(JSON.stringify([...response.headers])) },
      );
      return bytes;
    };
    for (const { id } of checks) {
      await download(`list of ${id}`, `${base}/v1/check-results/${id}?limit=100&resultType=ALL`);
      const { body: results } = await api<Result[]>(
        'GET',
        `/v1/check-results/${id}?limit=100&resultType=ALL`,
      );
      for (const result of results) {
        await download(`result ${result.id}`, `${base}/v1/check-results/${id}/${result.id}`);
        const listed = await download(
          `assets of ${result.id}`,
          `${base}/v1/check-results/${id}/${result.id}/assets`,
        );
        const { assets } = JSON.parse(listed.toString()) as { assets: Asset[] }; // the service's own answer
        for (const asset of assets) {
          const bytes = await download(asset.name, asset.url);
          expect(bytes.length).toBe(asset.size);
        }
      }
    }
    const names = got.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([expect.stringMatching(/\.zip$/), expect.stringMatching(/\.json$/)]),
    );

    const health = /"healthUrl":"(http:[^"]+)"/.exec(agent.stderr())?.[1] ?? '';
    for (const path of ['/metrics', '/health']) await download(path, health + path);
    agent.kill('SIGTERM');
    expect(await agent.exited).toBe(0);
    got.push({ name: 'log of the agent', bytes: Buffer.from(agent.stderr() + agent.stdout()) });
    got.push({ name: 'log of the service', bytes: Buffer.from(service.stderr()) });
    got.push(...left(join(folder, 'agent')));
    expect(got.flatMap(({ name, bytes }) => leaksIn(name, bytes, everything))).toEqual([]);
  });
});

/** The files below a folder. */
function left(path: string): { name: string; bytes: Buffer }[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ name: file, bytes: readFileSync(file) }));
}
