import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { apply } from '../../../src/commands/project/apply.ts';
import { test as testProject } from '../../../src/commands/project/test.ts';
import { runHere } from '../../../src/commands/run/here.ts';
import type { Job } from '../../../src/protocol/job.ts';
import {
  addLocation,
  connectAgent,
  createAgentService,
  encryption,
  type AgentService,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { anyDatabase, emptyTables } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** `test`: checks run once before they are applied. Their jobs are claimed, run by the agent's code, and reported. */

let api: TestService;
let agents: AgentService;
let agent: TestAgent;
let target: Server;
let url: string;
let folder: string;
/** Paths and headers that the target got. */
let seen: { path: string; token: string | undefined }[];
const stopping = new AbortController();
let working: Promise<void>;

beforeAll(async () => {
  const db = await anyDatabase.open();
  api = await startTestService(db, { encryption, background: await idleBackground(db) });
  agents = await createAgentService(db, { now: () => api.now() });
  target = createServer((request, response) => {
    seen.push({ path: request.url ?? '', token: request.headers['x-token'] as string | undefined });
    response.writeHead(request.url === '/broken' ? 500 : 200).end('ok');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => target.once('listening', resolve));
  url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
});
beforeEach(async () => {
  seen = [];
  await emptyTables(api.db, 'check_sessions, check_groups, checks, locations');
  await api.renewAccounts();
  folder = mkdtempSync(join(tmpdir(), 'project-'));
  const office = await addLocation(api.db, { accountId: api.account.id, slug: 'office' });
  agent = await connectAgent(agents.app, office);
  write(
    'project.yaml',
    'logicalId: shop\nprojectName: Shop\nchecks:\n  privateLocations: [office]\n  doubleCheck: false\n',
  );
  write('home.yaml', check('home', '/'));
});
afterAll(async () => {
  stopping.abort();
  await working;
  target.close();
  await agents.app.close();
  await api.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const check = (id: string, path: string, more = '') =>
  `kind: check\nlogicalId: ${id}\ncheckType: URL\nname: Page ${id}\n${more}request:\n  url: ${url}${path}\n`;

/** Runs what the location has to run while the command waits. */
async function withAgent<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const done = work.finally(() => (isOver = true));
  working = (async () => {
    while (!isOver && !stopping.signal.aborted) {
      for (const job of await agent.claim(10, { waitSeconds: 1 })) {
        const env = { AGENT_DATA_DIR: folder, USE_OS_DNS_RESOLVER: 'true' };
        const output = join(folder, 'artifacts');
        await agent.report(
          ...(await runHere(job as unknown as Job, { env, output, stderr: () => undefined })),
        );
      }
    }
  })();
  const [result] = await Promise.all([done, working]);
  return result;
}

async function run(command: Command, args: readonly string[] = []) {
  let [stdout, stderr] = ['', ''];
  const code = await command([folder, ...args], {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  return { code, stdout: stdout.replaceAll(/\d+ ms/g, 'N ms'), stderr };
}

test('runs new and changed checks without applying them, and reports why one fails', async () => {
  await run(apply);
  write('group.yaml', 'kind: check-group\nlogicalId: all\nname: All\ntags: [smoke]\n');
  write('broken.yaml', check('broken', '/broken', 'groupId: { ref: all }\n'));
  const first = await withAgent(run(testProject));
  expect([first.code, first.stdout]).toEqual([
    1,
    expect.stringMatching(
      /^failed {4}broken {2}Page broken {2}office {2}N ms\n {10}broken\.yaml:1\n {10}\w+: [^\n]+500[^\n]*\n0 passed, 1 failed\n$/,
    ),
  ]);
  expect(seen.map(({ path }) => path)).toEqual(['/broken']);
  const { body: checks } = await api.call<Fields[]>('GET', '/v1/checks');
  expect(checks.map(({ name }) => name)).toEqual(['Page home']);
  expect((await api.call('GET', '/v2/check-groups')).body).toEqual([]);
  const { body: statuses } = await api.call<Fields[]>('GET', '/v1/check-statuses');
  expect(statuses).toEqual([]);

  write('broken.yaml', check('broken', '/mended', 'groupId: { ref: all }\n'));
  const second = await withAgent(run(testProject, ['--all', '--tag', 'smoke']));
  expect([second.code, second.stdout]).toEqual([
    0,
    'passed    broken  Page broken  office  N ms\n1 passed, 0 failed\n',
  ]);
  expect((await withAgent(run(testProject, ['--all', '--name', 'HOME']))).stdout).toContain('passed    home');
});

test('uses what the files say about variables and their secrets', async () => {
  write('variable.yaml', 'kind: variable\nlogicalId: t\nkey: T\nvalue: from-the-files\nsecret: true\n');
  write(
    'home.yaml',
    check('home', '/').replace('URL', 'API') + '  headers:\n    - { key: x-token, value: "{{T}}{{U}}" }\n',
  );
  const { code } = await withAgent(run(testProject, ['--env', 'U=-more']));
  expect([code, seen]).toEqual([0, [{ path: '/', token: 'from-the-files-more' }]]);
  const rows = await api.db.query<{ draft_job: string }>(
    'select draft_job from checks where account_id is null',
  );
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain('from-the-files');
  // The draft ends with its session.
  const { body } = await api.call<{ testSessionId: string }[]>('GET', '/v1/test-sessions');
  expect((await api.call('DELETE', `/v1/test-sessions/${body[0]?.testSessionId ?? ''}`)).status).toBe(204);
  expect(await api.db.query('select 1 from checks')).toEqual([]);
});

test('writes reports for programs, CI servers and pull requests', async () => {
  write('broken.yaml', check('broken', '/broken').replace('Page broken', '"A | <b> & \\"c\\""'));
  write('late.yaml', 'kind: private-location\nlogicalId: late\nname: Late\nslugName: late\n');
  write('there.yaml', check('there', '/', 'privateLocations: [{ ref: late }]\n'));
  const out = join(folder, 'report.out');
  const report = async (reporter: string) => {
    const { code } = await withAgent(run(testProject, ['--reporter', reporter, '--out', out]));
    expect(code).toBe(1);
    return readFileSync(out, 'utf8');
  };
  expect(JSON.parse(await report('json'))).toMatchObject({
    outcome: 'failed',
    project: 'shop',
    checks: [
      { logicalId: 'broken', status: 'failed', place: 'broken.yaml:1' },
      { logicalId: 'home', status: 'passed', location: 'office', reasons: [] },
      {
        logicalId: 'there',
        status: 'skipped',
        reasons: [expect.stringContaining('exists only once it is applied')],
      },
    ],
  });
  const junit = await report('junit');
  expect(junit).toMatch(/<testsuites tests="3" failures="1" errors="0" skipped="1" time="[\d.]+">/);
  expect(junit).toContain('name="broken: A | &lt;b&gt; &amp; &quot;c&quot;" file="broken.yaml" line="1"');
  const markdown = await report('markdown');
  expect(markdown).toMatch(/^### Checks of shop: 1 passed, 1 failed, 1 skipped\n/);
  expect(markdown).toContain('| A \\| \\<b\\> & "c" |');
});

test('has nothing to run after apply, and names wrong options and files', async () => {
  await run(apply);
  expect(await run(testProject)).toEqual({ code: 0, stdout: 'no checks to test\n', stderr: '' });
  await expect(run(testProject, ['--reporter', 'xml'])).rejects.toMatchObject({
    exitCode: 64,
    message: expect.stringContaining('--reporter must be one of text, json, junit, markdown'),
  });
  await expect(run(testProject, ['--env', 'X'])).rejects.toMatchObject({ exitCode: 64 });
  const elsewhere = await run(testProject, ['--all', '--location', 'mars']);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('mars does not exist')]);
  write('home.yaml', 'kind: check\n');
  expect((await run(testProject)).code).toBe(2);
});
