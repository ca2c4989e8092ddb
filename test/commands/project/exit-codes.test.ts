import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { killAll, startProgram } from '../../e2e/program.ts';
import { builtProgram } from '../../helpers/build.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** The exit codes of `plan`, `apply`, `test` and `export` as programs, and what they print when they cannot run. */

let api: TestService;
let main: string;
let folder: string;
/** Answers as a proxy does that wants a sign-in of its own. */
let proxy: Server;
let proxyUrl: string;

beforeAll(async () => {
  main = await builtProgram();
  const db = await anyDatabase.open();
  api = await startTestService(db, { background: await idleBackground(db) });
  proxy = createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}, 180_000);
beforeEach(async () => {
  await api.renewAccounts();
  folder = mkdtempSync(join(tmpdir(), 'exit-codes-'));
  writeFileSync(join(folder, 'project.yaml'), 'logicalId: shop\n');
  writeFileSync(
    join(folder, 'home.yaml'),
    'kind: check\nlogicalId: home\ncheckType: URL\nname: Home\nlocations: [eu-west-1]\nrequest: { url: https://shop.example/ }\n',
  );
  return () => rmSync(folder, { recursive: true, force: true });
});
afterAll(async () => {
  killAll();
  proxy.close();
  await api.close();
  await anyDatabase.close();
});

async function run(name: string, { url = api.url, key = api.account.key, args = [] as string[] } = {}) {
  const target = name === 'export' ? join(folder, 'exported') : folder;
  const program = startProgram(main, [name, target, ...args], {
    SERVICE_URL: url,
    SERVICE_API_KEY: key,
    LOG_FORMAT: 'json',
  });
  const code = await program.exited;
  const last = program.stderr().trim().split('\n').at(-1) ?? '';
  return { code, stdout: program.stdout(), stderr: program.stderr(), last };
}

const fatal = (last: string) => JSON.parse(last) as { code: string; msg: string; remedy: string };

const codes = { plan: 1, apply: 2, test: 2, export: 2 };

/** Each program takes seconds to start on a busy machine. */
const patientMs = 120_000;

test.each(Object.entries(codes))(
  '%s exits with %i if it could not run, and says why',
  async (name, code) => {
    const [away, answered, wrongKey] = await Promise.all([
      run(name, { url: 'http://127.0.0.1:1' }),
      run(name, { url: proxyUrl }),
      run(name, { key: 'cu_wrong' }),
    ]);
    expect([away.code, answered.code, wrongKey.code]).toEqual([code, code, 77]);
    expect(fatal(away.last)).toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      msg: expect.stringMatching(/^no answer from http:\/\/127\.0\.0\.1:1 \(SERVICE_URL\): .*ECONNREFUSED/),
      remedy: expect.stringContaining('see that the service runs'),
    });
    // A 401 of a proxy says nothing about the key.
    expect(fatal(answered.last)).toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      msg: `${proxyUrl} answered 401, but not as the service does`,
      remedy: expect.stringContaining('that no proxy answers in its place'),
    });
  },
  patientMs,
);

test(
  'plan exits with 0, 1 or 2: no changes, an error, changes',
  async () => {
    expect((await run('plan')).code).toBe(2);
    expect((await run('apply')).code).toBe(0);
    expect(await run('plan')).toMatchObject({ code: 0, stdout: 'no changes\n' });
    writeFileSync(join(folder, 'home.yaml'), 'kind: check\nlogicalId: home\ncheckType: NONE\n');
    expect((await run('plan')).code).toBe(1);
    rmSync(join(folder, 'project.yaml'));
    expect((await run('plan')).code).toBe(78);
  },
  patientMs,
);

test(
  'a refusal of the service is printed as it came, with a remedy',
  async () => {
    const { body } = await api.call('POST', '/v1/api-keys', { body: { name: 'reader', role: 'READ_ONLY' } });
    const key = String(body['rawKey']);
    const refused = await run('apply', { key });
    expect(refused.code).toBe(2);
    expect(fatal(refused.last)).toMatchObject({
      code: 'SERVICE_REFUSED',
      msg: expect.stringMatching(/^the service answered 403 to \/v1\/projects\/deploy: \w/),
      remedy: 'use a key with a role that may do this',
    });
    const unknown = await run('export', { args: ['--project', 'none'] });
    expect([unknown.code, fatal(unknown.last).msg]).toEqual([2, 'the account has no such project: none']);
  },
  patientMs,
);
