import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runtimeIds } from '../../../src/protocol/script.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

/** Snippets, variables of the account, runtimes. */

const time = Date.parse('2026-03-04T05:06:07.000Z');
const at = new Date(time).toISOString();

describe.each(databases)('resources of scripts ($name)', (database) => {
  let service: TestService;

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open(), { now: () => time });
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  const call = (method: string, path: string, body?: Fields, key?: string) =>
    service.call<Fields & { id: number }>(method, path, { body, ...(key === undefined ? {} : { key }) });

  describe.skipIf(database.unavailable)('with a database', () => {
    beforeEach(() => service.renewAccounts());

    test('a snippet is created, read, listed, changed and deleted', async () => {
      const created = await call('POST', '/v1/snippets', { name: 'log in', script: 'exports.a = 1;' });
      const { id } = created.body;
      const snippet = { id, name: 'log in', script: 'exports.a = 1;', created_at: at, updated_at: null };
      expect([created.status, created.body]).toEqual([201, snippet]);
      expect((await call('GET', `/v1/snippets/${id}`)).body).toEqual(snippet);
      expect((await call('GET', '/v1/snippets')).body).toEqual([snippet]);
      const changed = await call('PUT', `/v1/snippets/${id}`, { ...snippet, script: 'new' });
      expect([changed.status, changed.body]).toEqual([200, { ...snippet, script: 'new', updated_at: at }]);
      expect((await call('DELETE', `/v1/snippets/${id}`)).status).toBe(204);
      expect((await call('GET', `/v1/snippets/${id}`)).status).toBe(404);
    });

    test('names of snippets are unique within an account, and names of files', async () => {
      const { body } = await call('POST', '/v1/snippets', { name: 'one', script: 'x' });
      const other = await call('POST', '/v1/snippets', { name: 'two', script: 'x' });
      const taken = { name: ['is taken'] };
      const twice = await call('POST', '/v1/snippets', { name: 'one', script: 'x' });
      expect([twice.status, twice.body['attributes']]).toEqual([409, taken]);
      const renamed = await call('PUT', `/v1/snippets/${other.body.id}`, { name: 'one' });
      expect([renamed.status, renamed.body['attributes']]).toEqual([409, taken]);
      expect(
        (await call('POST', '/v1/snippets', { name: 'one', script: 'x' }, service.foreign.key)).status,
      ).toBe(201);
      for (const name of ['../x', 'a/b', '', 'x.js', '.hidden', 'x'.repeat(101)]) {
        const { status, body: refused } = await call('POST', '/v1/snippets', { name, script: 'x' });
        expect([name, status, Object.keys(refused['attributes'] as Fields)]).toEqual([name, 400, ['name']]);
      }
      for (const method of ['GET', 'DELETE']) {
        expect((await call(method, `/v1/snippets/${body.id}`, undefined, service.foreign.key)).status).toBe(
          404,
        );
      }
    });

    test('a snippet in use cannot be deleted', async () => {
      const { body } = await call('POST', '/v1/snippets', { name: 'used', script: 'x' });
      const check = await service.call('POST', '/v1/checks/api', {
        body: minimalBody('API', { name: 'Orders', tearDownSnippetId: body.id }),
      });
      const group = await call('POST', '/v2/check-groups', { name: 'Shop', setupSnippetId: body.id });
      const refused = await call('DELETE', `/v1/snippets/${body.id}`);
      expect([refused.status, refused.body['attributes']]).toEqual([
        409,
        { id: [expect.stringMatching(/^is setup or teardown of: (Orders, Shop|Shop, Orders)$/)] },
      ]);
      await service.call('DELETE', `/v1/checks/${String(check.body['id'])}`);
      await call('DELETE', `/v2/check-groups/${group.body.id}`);
      expect((await call('DELETE', `/v1/snippets/${body.id}`)).status).toBe(204);
    });

    test('snippets of an account are bounded', async () => {
      const script = 'x'.repeat(1_048_576);
      const { key } = service.foreign;
      const first = await call('POST', '/v1/snippets', { name: 'large', script: script.slice(100) }, key);
      await call('POST', '/v1/snippets', { name: 'larger', script: script.slice(10) }, key);
      const { status, body } = await call('POST', '/v1/snippets', { name: 'most', script }, key);
      expect([status, body['attributes']]).toEqual([
        400,
        { script: ['all snippets of an account have at most 2097152 characters together'] },
      ]);
      const smaller = await call('PUT', `/v1/snippets/${first.body.id}`, { script: 'small' }, key);
      expect(smaller.status).toBe(200);
    });

    test('a variable is created, read, listed, changed and deleted', async () => {
      const created = await call('POST', '/v1/variables', { key: 'BASE/URL', value: 'https://a.example' });
      const variable = {
        key: 'BASE/URL',
        value: 'https://a.example',
        locked: false,
        secret: false,
        created_at: at,
        updated_at: null,
      };
      expect([created.status, created.body]).toEqual([201, variable]);
      const path = '/v1/variables/BASE%2FURL';
      expect((await call('GET', path)).body).toEqual(variable);
      expect((await call('GET', '/v1/variables')).body).toEqual([variable]);
      const changed = await call('PUT', path, { ...variable, value: 'b', locked: true });
      expect([changed.status, changed.body]).toEqual([
        200,
        { ...variable, value: 'b', locked: true, updated_at: at },
      ]);
      const twice = await call('POST', '/v1/variables', { key: 'BASE/URL', value: 'x' });
      expect([twice.status, twice.body['attributes']]).toEqual([409, { key: ['is taken'] }]);
      const moved = await call('PUT', path, { key: 'OTHER' });
      expect(moved.body['attributes']).toEqual({
        key: ['cannot be changed: delete the variable and create another one'],
      });
      expect((await call('GET', path, undefined, service.foreign.key)).status).toBe(404);
      expect((await call('DELETE', path)).status).toBe(204);
      expect((await call('GET', path)).status).toBe(404);
    });

    test('a secret variable can be written but never read, and stays secret', async () => {
      const stored = async (key: string) => {
        const [row] = await service.db.query<{ value: string }>(
          'select value from account_variables where key = $1',
          [key],
        );
        return row?.value ?? '';
      };
      const created = await call('POST', '/v1/variables', { key: 'TOKEN', value: 'hidden', secret: true });
      expect(created.body).toMatchObject({ value: '', secret: true });
      expect(await stored('TOKEN')).toMatch(/^sealed:1:/);
      expect((await call('PUT', '/v1/variables/TOKEN', created.body)).body).toMatchObject({ value: '' });
      expect(service.encryption.open(await stored('TOKEN'))).toBe('hidden');
      await call('PUT', '/v1/variables/TOKEN', { value: 'newer' });
      expect(service.encryption.open(await stored('TOKEN'))).toBe('newer');
      const back = await call('PUT', '/v1/variables/TOKEN', { secret: false });
      expect([back.status, Object.keys(back.body['attributes'] as Fields)]).toEqual([400, ['secret']]);
      const named = await call('POST', '/v1/variables', { key: 'SERVICE_SECRET_X', value: 'hidden' });
      expect(named.body).toMatchObject({ value: '', secret: true });
      await call('POST', '/v1/variables', { key: 'PLAIN', value: 'becomes hidden' });
      await call('PUT', '/v1/variables/PLAIN', { secret: true });
      expect(service.encryption.open(await stored('PLAIN'))).toBe('becomes hidden');
    });

    test('runtimes: all that checks may name, newest first', async () => {
      const { status, body } = await service.call<(Fields & { name: string })[]>('GET', '/v1/runtimes');
      expect(status).toBe(200);
      expect(body.map(({ name }) => name)).toEqual(runtimeIds);
      expect(body[0]).toMatchObject({
        name: '2026.04',
        multiStepSupport: true,
        nodeJsVersion: '24.13.1',
        dependencies: { '@playwright/test': expect.any(String) as string },
      });
      expect((await call('GET', '/v1/runtimes/2026.04')).body).toEqual(body[0]);
      expect((await call('GET', '/v1/runtimes/1999.01')).status).toBe(404);
    });
  });
});
