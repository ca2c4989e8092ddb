import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiOf, killAll, readyLine, startProgram, until, type Api, type Program } from '../e2e/program.ts';
import { builtProgram } from '../helpers/build.ts';
import { commandsOf } from './pages/commands.ts';
import { notRun } from './pages/not-run.ts';
import { readPage, slug, sorted, type Block, type Place } from './pages/reader.ts';

/** Every command of the README and the pages, typed in the order of the page, against one running service with one agent. */

const root = resolve(import.meta.dirname, '../..');
const { documentPaths } = (await import(join(root, 'scripts/docs/markdown.mjs'))) as {
  documentPaths: () => string[];
};
const { documentOf } = (await import(join(root, 'scripts/docs/blocks.mjs'))) as {
  documentOf: (path: string) => Block[];
};
/** Blocks with the mark `check` are run by check-reference.test.ts; the program of `background` runs here already. */
const shellOf = (path: string) =>
  documentOf(path).filter(
    ({ language, marks }) => language === 'sh' && !marks.includes('check') && !marks.includes('background'),
  );
const tutorial = 'docs/tutorial.md';
const paths = documentPaths().filter((path) => path !== tutorial && shellOf(path).length > 0);

let folder: string;
let dev: Program;
let site: Server;
let place: Place;
const portOf = (server: Server) => (server.address() as AddressInfo).port; // a listening server has one

beforeAll(async () => {
  const main = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'pages-'));
  site = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<h1>Shop</h1>'),
  );
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
  // `npm start` with free ports, in this folder, and without the install of a runtime.
  dev = startProgram(main, ['dev'], {
    SERVICE_PORT: '0',
    AGENT_HEALTH_PORT: '0',
    SERVICE_DATA_DIR: join(folder, '.data'),
    SERVICE_LOCATION_SLUG: slug,
    AGENT_DATA_DIR: join(folder, 'agent'),
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_fetch_retries: '0',
  });
  const { serviceUrl, apiKey, locationKey, agentHealthUrl } = await readyLine(dev, 150_000);
  place = {
    main,
    root,
    serviceUrl,
    accountKey: apiKey ?? '',
    locationKey: locationKey ?? '',
    agentUrl: agentHealthUrl ?? '',
    siteUrl: `http://127.0.0.1:${portOf(site)}`,
    ids: {},
  };
}, 240_000);
afterAll(async () => {
  dev.kill('SIGTERM');
  await dev.exited;
  killAll();
  site.close();
  rmSync(folder, { recursive: true, force: true });
}, 115_000);

describe('the tutorial', () => {
  const blocks = documentOf(tutorial).filter(({ language }) => language === 'sh');

  test('begins with the start of everything', () => {
    expect(blocks[0]).toMatchObject({ marks: ['background'], content: 'npm start\n' });
    expect(blocks.filter(({ marks }) => marks.includes('background'))).toHaveLength(1);
  });

  test('ends with an alert in the mailbox', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => free.once('listening', done));
    const port = portOf(free);
    await new Promise((done) => free.close(done));
    const mailbox = join(folder, '.data', 'mailbox');
    const older = join(mailbox, '0000.eml');
    mkdirSync(mailbox, { recursive: true });
    writeFileSync(older, 'Subject: Check "My application" has failed\r\n\r\nan older mail\r\n');
    const mine = join(folder, 'mine.eml');
    const script = blocks
      .filter(({ marks }) => !marks.includes('background'))
      .map(({ content }) => content)
      .join('\n')
      // The page deletes the mail at its end.
      .replace('cat "$MAIL"', `cp "$MAIL" ${mine}`)
      .replaceAll('http://127.0.0.1:4400', place.serviceUrl)
      .replaceAll('8899', String(port));
    const options = { cwd: folder, input: script, encoding: 'utf8', timeout: 150_000 } as const;
    const { status, signal, stderr } = spawnSync('bash', ['-e'], options);
    expect({ status, signal, stderr }).toEqual({ status: 0, signal: null, stderr: '' });
    const { to, subject } = await PostalMime.parse(readFileSync(mine));
    const received = `${to?.map(({ address }) => address).join()}: ${subject}`;
    expect(received).toBe('you@example.com: Check "My application" has failed');
    // Nothing of the page is left behind, and nothing else is deleted.
    const api = apiOf(place.serviceUrl, place.accountKey);
    const { body: checks } = await api<{ name: string }[]>('GET', '/v1/checks?limit=100');
    expect(checks.filter(({ name }) => name === 'My application')).toEqual([]);
    expect((await api('GET', '/v1/alert-channels')).body).toEqual([]);
    expect(readdirSync(folder).filter((name) => !['.data', 'agent', 'mine.eml'].includes(name))).toEqual([]);
    const left = readdirSync(mailbox).map((name) => readFileSync(join(mailbox, name), 'utf8'));
    expect(left.filter((mail) => mail.includes('My application'))).toEqual([readFileSync(older, 'utf8')]);
  }, 180_000);
});

/** Resources that readers have when they open a page: checks with runs, an error group, a check group. */
async function resources(): Promise<Place['ids']> {
  const api: Api = apiOf(place.serviceUrl, place.accountKey);
  const made = async (path: string, body: object): Promise<string> => {
    const answer = await api<{ id: string | number }>('POST', path, body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([201, expect.any(String)]);
    return String(answer.body.id);
  };
  const closed = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => closed.once('listening', done));
  const url = `http://127.0.0.1:${portOf(closed)}/`;
  await new Promise((done) => closed.close(done));
  const common = { privateLocations: [slug], frequency: 1440 };
  const script = "require('@playwright/test').test('empty', () => undefined);";
  const [check, failing, browser, group, locations] = await Promise.all([
    made('/v1/checks/url', { ...common, name: 'Shop', tags: ['smoke'], request: { url: place.siteUrl } }),
    made('/v1/checks/url', { ...common, name: 'Failing', request: { url } }),
    made('/v1/checks/browser', { ...common, name: 'Browser', script }),
    made('/v2/check-groups', { name: 'Group', privateLocations: [slug] }),
    api<{ id: string; slugName: string }[]>('GET', '/v1/private-locations'),
  ]);
  await api('POST', '/v2/check-sessions/trigger', { target: { checkId: [failing] } });
  const errors = await until(async () => {
    const { body } = await api<{ id: string }[]>('GET', `/v1/error-groups/checks/${failing}`);
    return body.length > 0 && body;
  }, 'an error group');
  return {
    CHECK_ID: check,
    BROWSER_CHECK_ID: browser,
    FAILING_CHECK_ID: failing,
    CHECK_GROUP_ID: group,
    ERROR_GROUP_ID: errors[0]?.id ?? '',
    LOCATION_ID: locations.body.find(({ slugName }) => slugName === slug)?.id ?? '',
  };
}

/** Names of variables that mean something else on a page. */
const meant: { readonly [path: string]: { readonly [variable: string]: string } } = {
  'docs/notifications.md': { GROUP_ID: 'CHECK_GROUP_ID' },
  'docs/error-groups.md': { CHECK_ID: 'FAILING_CHECK_ID', GROUP_ID: 'ERROR_GROUP_ID' },
  'docs/migration.md': { CHECK_ID: 'BROWSER_CHECK_ID' },
  'docs/root-cause-analyses.md': { GROUP_ID: 'ERROR_GROUP_ID' },
};

describe('the commands of', () => {
  beforeAll(async () => {
    place = { ...place, ids: await resources() };
  }, 60_000);

  test.each(paths)(
    '%s',
    async (path) => {
      const own = Object.entries(meant[path] ?? {}).map(([name, other]) => [name, place.ids[other] ?? '']);
      const here = { ...place, ids: { ...place.ids, ...Object.fromEntries(own) } };
      const { code, output } = await readPage(path, shellOf(path), here, folder);
      expect({ code, output: code === 0 ? '' : output.slice(-3000) }).toEqual({ code: 0, output: '' });
    },
    300_000,
  );
});

describe('the commands that are not typed', () => {
  const all = documentPaths().flatMap((path) =>
    shellOf(path).flatMap(({ content, line }) =>
      sorted(content).map(({ command, reason }) => ({ where: `${path}:${line}`, command, reason })),
    ),
  );

  test.each(Object.keys(notRun))('%s', (reason) => {
    expect(all.some((each) => each.reason === reason)).toBe(true);
  });

  test('are on a page with a reason, and most commands are typed', () => {
    const typed = all.filter(({ reason }) => reason === null);
    expect(typed.length).toBeGreaterThan(all.length / 2);
  });
});

test('a failing command, and a refused call, fail their page', async () => {
  const block = (content: string, marks: string[] = []) => [{ language: 'sh', marks, content, line: 7 }];
  const ended = async (content: string, marks?: string[]) => {
    const { code, output } = await readPage('docs/x.md', block(content, marks), place, folder);
    return [code === 0, output.includes('failed at docs/x.md:7')];
  };
  const refused =
    'curl -X POST "$SERVICE_URL/v1/checks/url" -H "authorization: Bearer $SERVICE_API_KEY" -d "{}"\n';
  expect(await ended('true\n')).toEqual([true, false]);
  expect(await ended('false\ntrue\n')).toEqual([false, true]);
  expect(await ended(refused)).toEqual([false, true]);
  expect(await ended(refused, ['refused'])).toEqual([true, false]);
  expect(await ended('curl $SERVICE_URL/health\n', ['refused'])).toEqual([false, true]);
});

test('commands are split where a reader presses Enter', () => {
  const shell = `a \\\n  b\ncat > f <<'END'\nx "\nEND\ncurl -d '{\n  "a": 1\n}' |\n  jq\nc # don't\nd\n`;
  expect(commandsOf(shell)).toEqual([
    'a \\\n  b',
    `cat > f <<'END'\nx "\nEND`,
    `curl -d '{\n  "a": 1\n}' |\n  jq`,
    "c # don't",
    'd',
  ]);
});
