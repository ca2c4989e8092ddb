import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../src/commands/run/run.ts';
import { fileSchema } from '../../../src/service/projects/files/file-schema.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** One file of a check: an editor's schema, `run` and the API accept it as it is. */

let api: TestService;
/** The schema takes seconds to compile while other tests run. */
const patientMs = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'one-file-'));
const target = createServer((_request, response) => response.end('ok'));

beforeAll(async () => {
  const db = await anyDatabase.open();
  api = await startTestService(db, { background: await idleBackground(db) });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  target.close();
  await api.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

const file = (more: object = {}) => ({
  kind: 'check',
  logicalId: 'home',
  checkType: 'URL',
  name: 'Home page',
  locations: ['eu-west-1'],
  request: { url: `http://127.0.0.1:${(target.address() as AddressInfo).port}/` },
  ...more,
});

test(
  'the schema for editors accepts it',
  () => {
    const isValid = new Ajv({ strict: false, validateFormats: false }).compile(fileSchema());
    expect([isValid(file()), isValid.errors]).toEqual([true, null]);
  },
  patientMs,
);

test(
  'run accepts it',
  async () => {
    const path = join(folder, 'home.json');
    writeFileSync(path, JSON.stringify(file()));
    let printed = '';
    const print = (text: string) => (printed += text);
    const env = { AGENT_DATA_DIR: folder, USE_OS_DNS_RESOLVER: 'true' };
    expect([await run([path], { env, stdout: print, stderr: print }), printed]).toEqual([
      0,
      expect.stringContaining('PASSED'),
    ]);
  },
  patientMs,
);

test(
  'run takes the only check of a file, or the one that --name chooses',
  async () => {
    const path = join(folder, 'several.yaml');
    const channel =
      'kind: alert-channel\nlogicalId: mail\ntype: EMAIL\nconfig: { address: a@shop.example }\n';
    const documents = (...checks: object[]) =>
      [channel, ...checks.map((one) => JSON.stringify(one))].join('\n---\n');
    const ran = async (...more: string[]) => {
      let printed = '';
      const print = (text: string) => (printed += text);
      const env = { AGENT_DATA_DIR: folder, USE_OS_DNS_RESOLVER: 'true' };
      return [await run([path, ...more], { env, stdout: print, stderr: print }), printed.split('\n')[0]];
    };
    const second = file({ logicalId: 'cart', name: 'Cart' });
    writeFileSync(path, documents(file()));
    expect(await ran()).toEqual([0, expect.stringContaining('Home page')]);
    writeFileSync(path, documents(file(), second));
    expect(await ran('--name', 'cart')).toEqual([0, expect.stringContaining('Cart')]);
    expect(await ran('--name', 'Home page')).toEqual([0, expect.stringContaining('Home page')]);
    const several = { exitCode: 64, message: `${path} has the checks home, cart: choose one with --name` };
    await expect(ran()).rejects.toMatchObject(several);
    await expect(ran('--name', 'mail')).rejects.toMatchObject(several);
    writeFileSync(path, documents());
    await expect(ran('--name', 'mail')).rejects.toMatchObject({ exitCode: 64 });
    writeFileSync(path, `${JSON.stringify([file(), second])}`);
    expect(await ran('--name', 'cart')).toEqual([0, expect.stringContaining('Cart')]);
  },
  patientMs,
);

test(
  'the API accepts it',
  async () => {
    for (const route of ['/v1/checks/url', '/v1/checks']) {
      const { status, body } = await api.call('POST', route, { body: file() });
      expect([route, status, body]).toEqual([route, 201, expect.objectContaining({ name: 'Home page' })]);
      const again = { body: file({ name: 'Start page' }) };
      for (const item of [`${route}/${String(body['id'])}`, `/v1/checks/${String(body['id'])}`]) {
        const changed = await api.call('PUT', item, again);
        expect([changed.status, changed.body]).toEqual([
          200,
          expect.objectContaining({ name: 'Start page', checkType: 'URL' }),
        ]);
      }
      const stored = await api.db.query<{ definition: object }>('select definition from checks');
      expect(stored.filter(({ definition }) => 'kind' in definition || 'logicalId' in definition)).toEqual(
        [],
      );
    }
  },
  patientMs,
);

test('the API refuses another type than that of the path, and what is wrong in the file', async () => {
  expect(await api.call('POST', '/v1/checks/url', { body: file({ checkType: 'API' }) })).toMatchObject({
    status: 400,
    body: { attributes: { checkType: [expect.any(String)] } },
  });
  expect(await api.call('POST', '/v1/checks', { body: file({ checkType: 'FAX' }) })).toMatchObject({
    status: 400,
    body: { attributes: { checkType: [expect.any(String)] } },
  });
  expect(await api.call('POST', '/v1/checks', { body: file({ frequency: 'often' }) })).toMatchObject({
    status: 400,
    body: { attributes: { frequency: expect.arrayContaining(['must be a whole number']) } },
  });
  const { body } = await api.call('POST', '/v1/checks', { body: file() });
  const path = `/v1/checks/${String(body['id'])}`;
  expect(await api.call('PUT', path, { body: { checkType: 'TCP' } })).toMatchObject({
    status: 400,
    body: { attributes: { checkType: ['is URL and cannot be changed'] } },
  });
  const none = '/v1/checks/00000000-0000-7000-8000-000000000000';
  expect((await api.call('PUT', none, { body: { muted: true } })).status).toBe(404);
});
