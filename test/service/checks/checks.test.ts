import { describe, expect, test } from 'vitest';
import { databases } from '../../helpers/service/database.ts';
import { statusFields } from '../../helpers/service/error-body.ts';
import type { Fields } from '../../helpers/service/service.ts';
import { minimalBody } from './check-bodies.ts';
import { checksBench, start, type Check } from './checks-bench.ts';

/** How checks are changed, scheduled, listed and deleted, and how their secrets are kept. */

describe.each(databases)('checks ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = checksBench(database);
    const { create, change } = bench;

    test('a change replaces the given fields and keeps the rest', async () => {
      const created = await create('TCP', { tags: ['a'], description: 'before' });
      const { status, body } = await change(created, { description: null, name: 'After' });
      expect(status).toBe(200);
      expect(body).toEqual({
        ...created,
        name: 'After',
        description: null,
        updated_at: new Date(bench.time).toISOString(),
      });
    });

    test('a change is validated together with the stored fields', async () => {
      const { service } = bench;
      const created = await create('URL');
      const tooHigh = await change(created, { degradedResponseTime: 6000 });
      expect([tooHigh.status, tooHigh.body]).toEqual([
        400,
        {
          ...statusFields(400),
          message: 'degradedResponseTime must not be above maxResponseTime (6000 is above 5000).',
          attributes: {
            degradedResponseTime: ['must not be above maxResponseTime (6000 is above 5000)'],
          },
        },
      ]);
      expect((await change(created, { locations: [] })).status).toBe(400);
      expect((await service.call('GET', `/v1/checks/${created.id}`)).body).toEqual(created);
    });

    test('a change at the path of another type is 404 and names the right one', async () => {
      const { service } = bench;
      const created = await create('DNS');
      const { status, body } = await service.call('PUT', `/v1/checks/url/${created.id}`, { body: {} });
      expect([status, body]).toEqual([
        404,
        {
          ...statusFields(404),
          message: `The check ${created.id} has the type DNS, not URL.`,
          attributes: { id: [`names a check of type DNS: change it at /v1/checks/dns/${created.id}`] },
        },
      ]);
    });

    test('secret values are never returned, are encrypted at rest, and stay when left empty', async () => {
      const { service } = bench;
      const variables = [
        { key: 'PLAIN', value: 'in the open', locked: false, secret: false },
        { key: 'TOKEN', value: 'kept-from-everyone', locked: false, secret: true },
        { key: 'SERVICE_SECRET_NAME', value: 'secret-by-its-name', locked: false, secret: false },
      ];
      const created = await create('API', {
        environmentVariables: variables,
        request: {
          url: 'https://shop.example',
          headers: [
            { key: 'x-locked', value: 'locked-header', locked: true },
            { key: 'x-open', value: 'open-header', locked: false },
          ],
          queryParameters: [{ key: 'k', value: 'locked-parameter', locked: true }],
          basicAuth: { username: 'ann', password: 'basic-password' },
        },
      });
      const shown = [
        { key: 'PLAIN', value: 'in the open', locked: false, secret: false },
        { key: 'TOKEN', value: '', locked: false, secret: true },
        { key: 'SERVICE_SECRET_NAME', value: '', locked: false, secret: true },
      ];
      expect(created['environmentVariables']).toEqual(shown);
      expect(created['request']).toMatchObject({
        headers: [{ value: 'locked-header' }, { value: 'open-header' }],
        queryParameters: [{ value: 'locked-parameter' }],
        basicAuth: { username: 'ann', password: 'basic-password' },
      });

      const stored = async () => {
        const [row] = await service.db.query<{ definition: string }>(
          'select definition::text as definition from checks where id = $1',
          [created.id],
        );
        return row?.definition ?? '';
      };
      const before = await stored();
      for (const value of [
        'kept-from-everyone',
        'secret-by-its-name',
        'locked-header',
        'locked-parameter',
        'basic-password',
      ]) {
        expect(before).not.toContain(value);
      }
      expect(before).toContain('open-header');
      expect(before).toContain('in the open');

      const secretsNow = async () => {
        const definition = JSON.parse(await stored()) as {
          environmentVariables: { key: string; value: string; secret: boolean }[];
        };
        return Object.fromEntries(
          definition.environmentVariables.map(({ key, value, secret }) => [
            key,
            secret ? service.encryption.open(value) : value,
          ]),
        );
      };
      const kept = await change(created, {
        environmentVariables: [
          { key: 'TOKEN', secret: true },
          { key: 'SERVICE_SECRET_NAME', value: '' },
          { key: 'NEW', value: 'fresh', secret: true },
        ],
      });
      expect(kept.status).toBe(200);
      expect(await secretsNow()).toEqual({
        TOKEN: 'kept-from-everyone',
        SERVICE_SECRET_NAME: 'secret-by-its-name',
        NEW: 'fresh',
      });
      await change(created, { environmentVariables: [{ key: 'TOKEN', value: 'changed', secret: true }] });
      expect(await secretsNow()).toEqual({ TOKEN: 'changed' });
      // A secret cannot be made readable.
      await change(created, { environmentVariables: [{ key: 'TOKEN', secret: false }] });
      expect(await secretsNow()).toEqual({ TOKEN: '' });
    });

    describe('schedule', () => {
      const scheduleOf = async (id: string) => {
        const [row] = await bench.service.db.query<Fields & { next: Date }>(
          `select interval_seconds as interval, offset_seconds as offset, next_due_at as next
           from checks where id = $1`,
          [id],
        );
        return row;
      };

      test('the first run is due at a multiple of the interval plus the offset', async () => {
        const created = await create('URL', { frequency: 1, frequencyOffset: 3 });
        expect(await scheduleOf(created.id)).toEqual({
          interval: 60,
          offset: 18,
          next: new Date('2026-03-04T05:06:18.000Z'),
        });
      });

      test('an edit does not change the next due time, unless it changes the schedule or activates the check', async () => {
        const created = await create('URL', { frequency: 60, frequencyOffset: 10 });
        const first = await scheduleOf(created.id);
        expect(first?.next).toEqual(new Date('2026-03-04T06:01:00.000Z'));
        bench.time = start + 7_200_000;
        await change(created, { name: 'Renamed', muted: true, activated: false });
        expect(await scheduleOf(created.id)).toEqual(first);
        await change(created, { activated: true });
        expect((await scheduleOf(created.id))?.next).toEqual(new Date('2026-03-04T08:01:00.000Z'));
        await change(created, { frequency: 120, frequencyOffset: 1 });
        expect(await scheduleOf(created.id)).toEqual({
          interval: 7200,
          offset: 3600,
          next: new Date('2026-03-04T09:00:00.000Z'),
        });
        bench.time = start;
      });

      test('a new frequency without an offset drops the old offset', async () => {
        const created = await create('URL', { frequency: 60, frequencyOffset: 600 });
        const { body } = await change(created, { frequency: 1 });
        expect(body).not.toHaveProperty('frequencyOffset');
      });
    });

    test('data-centre codes become locations when a check first uses them', async () => {
      const { service } = bench;
      await create('URL', { locations: ['eu-north-1', 'ap-east-1'] });
      await create('URL', { locations: ['eu-north-1'] });
      const rows = await service.db.query<Fields>(
        `select kind, count(*) as count from locations
         where slug_name in ('eu-north-1', 'ap-east-1') and account_id = $1 group by kind`,
        [service.account.id],
      );
      expect(rows).toEqual([{ kind: 'data-center', count: 2 }]);
    });

    test('lists are pages, oldest first, with filters', async () => {
      const { service } = bench;
      const own = { tags: ['listed'] };
      const a = await create('URL', { ...own, name: 'List Alpha', locations: ['sa-east-1'] });
      bench.time += 1000;
      const b = await create('DNS', { ...own, name: 'List beta', activated: false });
      bench.time += 1000;
      const c = await create('URL', { ...own, name: 'Gamma', privateLocations: ['office'] });
      bench.time = start;
      const ids = async (query: string) => {
        const { status, body } = await service.call<Check[]>('GET', `/v1/checks?tag=listed&${query}`);
        expect(status).toBe(200);
        return body.map(({ id }) => id);
      };
      expect(await ids('')).toEqual([a.id, b.id, c.id]);
      expect(await ids('limit=2')).toEqual([a.id, b.id]);
      expect(await ids('limit=2&page=2')).toEqual([c.id]);
      expect(await ids('limit=2&page=3')).toEqual([]);
      expect(await ids('checkType=URL')).toEqual([a.id, c.id]);
      expect(await ids('checkType=BROWSER')).toEqual([]);
      expect(await ids('activated=false')).toEqual([b.id]);
      expect(await ids('location=sa-east-1')).toEqual([a.id]);
      expect(await ids('location=office')).toEqual([c.id]);
      expect(await ids('search=LIST%20')).toEqual([a.id, b.id]);
      expect(await ids('search=%25')).toEqual([]);
      const [first] = (await service.call<Check[]>('GET', '/v1/checks?tag=listed&limit=1')).body;
      expect(first).toEqual(a);
    });

    test.skipIf(database.name === 'embedded')(
      'a delete succeeds at the same time as a result is stored',
      async () => {
        const { service } = bench;
        const { id } = await create('URL');
        const [job] = await service.db.query<{ id: string }>(
          `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane,
           due_at, not_before, expires_at, claim_window_seconds)
         select gen_random_uuid(), account_id, $1, gen_random_uuid(), gen_random_uuid(), id, slug_name, 'URL', 'uptime',
           now(), now(), now(), 60
         from locations where slug_name = 'office' returning id`,
          [id],
        );
        // As results do: the job is locked first, then the check. The delete takes them the other way round.
        const deleted = await service.db.tx(async (tx) => {
          await tx.query('select 1 from jobs where id = $1 for update', [job?.id]);
          const answer = service.call('DELETE', `/v1/checks/${id}`);
          const waiting = () => service.db.query('select 1 from pg_locks where not granted');
          await expect.poll(async () => (await waiting()).length, { timeout: 15_000 }).toBeGreaterThan(0);
          await tx.query('select 1 from checks where id = $1 for key share', [id]);
          return { answer };
        });
        expect((await deleted.answer).status).toBe(204);
      },
    );

    test('a deleted check is gone', async () => {
      const { service } = bench;
      const { id } = await create('ICMP');
      const deleted = await service.call('DELETE', `/v1/checks/${id}`);
      expect([deleted.status, deleted.body]).toEqual([204, null]);
      const gone = {
        ...statusFields(404),
        message: `There is no check ${id}.`,
        attributes: { id: ['names no check of this account'] },
      };
      for (const method of ['GET', 'DELETE']) {
        const { status, body } = await service.call(method, `/v1/checks/${id}`);
        expect([status, body]).toEqual([404, gone]);
      }
      const changed = await service.call('PUT', `/v1/checks/icmp/${id}`, { body: { name: 'x' } });
      expect([changed.status, changed.body]).toEqual([404, gone]);
    });

    test.each(['nothing', '..%2f', '00000000-0000-0000-0000-000000000000', "' or 1=1"])(
      'an unknown id is 404: %s',
      async (id) => {
        const { service } = bench;
        expect((await service.call('GET', `/v1/checks/${encodeURIComponent(id)}`)).status).toBe(404);
      },
    );

    test('another account cannot see it', async () => {
      const { service } = bench;
      const { id } = await create('URL', { name: 'Private' });
      const { key } = service.foreign;
      for (const [method, path, body] of [
        ['GET', `/v1/checks/${id}`, undefined],
        ['PUT', `/v1/checks/url/${id}`, { name: 'Taken' }],
        ['DELETE', `/v1/checks/${id}`, undefined],
      ] as const) {
        expect((await service.call(method, path, { key, body })).status).toBe(404);
      }
      expect((await service.call('GET', '/v1/checks', { key })).body).toEqual([]);
      const stolen = await service.call('POST', '/v1/checks/url', {
        key,
        body: minimalBody('URL', { privateLocations: ['office'] }),
      });
      expect([stolen.status, stolen.body['attributes']]).toEqual([
        400,
        { 'privateLocations.0': ['names no private location of this account (office)'] },
      ]);
      expect((await service.call('GET', `/v1/checks/${id}`)).body).toMatchObject({ name: 'Private' });
    });
  });
});
