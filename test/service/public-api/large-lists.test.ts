import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Lists of checks and groups stay small, whatever their members hold; each member is whole when read by its id. */

const bytes = 1024 * 1024;
// One that no compression makes small, and one that it does.
const noise = Array.from({ length: 150_000 }, (_, n) => ((n * 7919) % 104_729).toString(36)).join(' ');
const even = '/'.repeat(bytes);
const places = { name: 'Large', locations: ['eu-west-1'] };

describe.each(databases)('large members of lists ($name)', (database) => {
  let service: TestService;
  beforeAll(async () => {
    if (database.unavailable !== null) return;
    service = await startTestService(await database.open());
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
  });

  async function make(path: string, body: Fields): Promise<Fields> {
    const answer = await service.call('POST', path, { body });
    expect([answer.status, answer.body['attributes']]).toEqual([201, undefined]);
    // Only the answer to a create warns of a location without agents.
    const { warnings: _warnings, ...stored } = answer.body;
    return stored;
  }
  const without = (all: Fields, ...fields: string[]): Fields =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !fields.includes(name)));

  describe.skipIf(database.unavailable)('with a database', () => {
    test.each([
      ['noise', noise.slice(0, bytes)],
      ['text that packs well', even],
    ])('setup and teardown scripts of checks: %s', async (_name, text) => {
      const { id: groupId } = await make('/v2/check-groups', { name: 'Of checks' });
      const request = { url: 'http://shop.example/' };
      const fields = { ...places, groupId, request };
      const small = await make('/v1/checks/api', { ...fields, localSetupScript: 'let small;' });
      const large = await make('/v1/checks/api', {
        ...fields,
        localSetupScript: text,
        dependencies: [{ path: 'a.js', content: text }],
      });
      const shown = { ...without(large, 'localSetupScript', 'localTearDownScript'), isPartial: true };
      const { body: list } = await service.call<Fields[]>(
        'GET',
        `/v1/check-groups/${String(groupId)}/checks`,
      );
      expect(list).toHaveLength(2);
      expect(list).toEqual(expect.arrayContaining([small, without(shown, 'dependencies')]));
      const { body: whole } = await service.call('GET', `/v1/checks/${String(large['id'])}`);
      expect(whole['localSetupScript']).toBe(text);
      expect(whole['isPartial']).toBeUndefined();
    });

    test('requests and variables of checks', async () => {
      const large = await make('/v1/checks/api', {
        ...places,
        tags: ['request'],
        request: { method: 'POST', url: 'http://shop.example/', body: noise.slice(0, 100_000) },
        environmentVariables: [{ key: 'SECRET', value: 'hidden', secret: true }],
      });
      const { body: list } = await service.call<Fields[]>('GET', '/v1/checks?tag=request');
      const left = ['request', 'environmentVariables', 'localSetupScript', 'localTearDownScript'];
      expect(list).toEqual([{ ...without(large, ...left, 'dependencies'), isPartial: true }]);
      const { body: whole } = await service.call('GET', `/v1/checks/${String(large['id'])}`);
      expect(whole).toEqual(large);
    });

    test('configs of alert channels', async () => {
      const headers = Array.from({ length: 40 }, (_, n) => ({
        key: `h${n}`,
        value: noise.slice(n * 4000, (n + 1) * 4000),
        locked: n === 0,
      }));
      const config = { name: 'Hook', url: 'http://hook.example/', template: 'of one', headers };
      const large = await make('/v1/alert-channels', { type: 'WEBHOOK', config });
      const small = await make('/v1/alert-channels', {
        type: 'WEBHOOK',
        config: { ...config, headers: [] },
      });
      const { body: list } = await service.call<Fields[]>('GET', '/v1/alert-channels');
      const shown = without(large['config'] as Fields, 'template', 'headers', 'queryParameters');
      expect(list).toEqual([{ ...large, config: shown, isPartial: true }, small]);
      // What was read of it may be sent back, and leaves the rest as it is.
      const path = `/v1/alert-channels/${String(large['id'])}`;
      const { status, body: changed } = await service.call('PUT', path, {
        body: { ...list[0], config: { ...shown, name: 'Changed' } },
      });
      expect([status, changed]).toEqual([
        200,
        {
          ...large,
          config: { ...(large['config'] as Fields), name: 'Changed' },
          updated_at: expect.any(String) as unknown,
        },
      ]);
    });

    test('updates of incidents', async () => {
      const { id: serviceId } = await service
        .call('POST', '/v1/status-pages/services', { body: { name: 'Shop' } })
        .then(({ body }) => body);
      const page = await make('/v1/status-pages', { name: 'Acme', url: 'large' });
      const kinds = [
        ['/v1/status-pages/incidents', 'incident-updates', { services: [{ id: serviceId }] }],
        ['/v1/incidents', 'updates', { dashboardId: page['id'] }],
      ] as const;
      for (const [path, updates, rest] of kinds) {
        const ids: string[] = [];
        for (const name of ['First', 'Second', 'Third']) {
          const first = { status: 'INVESTIGATING', description: name };
          const made = await make(path, { name, severity: 'MINOR', incidentUpdates: [first], ...rest });
          ids.push(String(made['id']));
          const of = `${path}/${String(made['id'])}/${updates}`;
          for (let n = 0; n < 4; n++) await make(of, { status: 'MONITORING', description: `${name} ${n}` });
        }
        // The newest is first in the list, and has as much text as a list allows.
        const table = path === '/v1/incidents' ? 'incident_updates' : 'status_page_incident_updates';
        await service.db.query(
          `update ${table} set description = $2 where incident_id = $1 and description <> 'Third'`,
          [ids[2], noise.slice(0, 400_000)],
        );
        const query = path === '/v1/incidents' ? 'includeAllIncidentUpdates=true' : 'limit=100';
        type Listed = { id: string; isPartial?: boolean; incidentUpdates: { description: string }[] };
        const { body } = await service.call<Listed[] | { entries: Listed[] }>('GET', `${path}?${query}`);
        const listed = Array.isArray(body) ? body : body.entries;
        const shown = listed.map(({ id, isPartial, incidentUpdates }) => [
          id,
          isPartial,
          incidentUpdates.length,
        ]);
        expect(shown).toEqual([
          [ids[2], true, 2],
          [ids[1], true, 2],
          [ids[0], true, 2],
        ]);
        expect(listed[1]?.incidentUpdates.map(({ description }) => description)).toEqual([
          'Second',
          'Second 3',
        ]);
        const whole = await service.call<Listed>(
          'GET',
          `${path}/${ids[2]}?${query.replace('limit=100', '')}`,
        );
        expect([whole.body.isPartial, whole.body.incidentUpdates.length]).toEqual([undefined, 5]);
        const sent = await service.call('PUT', `${path}/${ids[2]}`, { body: listed[0] });
        expect(sent.status).toBe(200);
      }
    });

    test('groups', async () => {
      const scripts = await make('/v1/check-groups', { name: 'Scripts', localTearDownScript: even });
      const apiCheckDefaults = {
        headers: [1, 2, 3].map((n) => ({ key: `h${n}`, value: noise.slice(0, 60_000) })),
      };
      const defaults = await make('/v1/check-groups', { name: 'Defaults', apiCheckDefaults });
      const { body: list } = await service.call<Fields[]>('GET', '/v1/check-groups?limit=100');
      const shown = (group: Fields) => list.find(({ id }) => id === group['id']);
      const phases = ['localSetupScript', 'localTearDownScript'];
      expect(shown(scripts)).toEqual({ ...without(scripts, ...phases), isPartial: true });
      const more = ['apiCheckDefaults', 'browserCheckDefaults', 'environmentVariables'];
      expect(shown(defaults)).toEqual({ ...without(defaults, ...phases, ...more), isPartial: true });
      const { body: whole } = await service.call('GET', `/v1/check-groups/${String(defaults['id'])}`);
      expect(whole).toEqual(defaults);
    });
  });
});
