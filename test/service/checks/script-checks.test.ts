import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scriptTypes, type ScriptType } from '../../../src/protocol/check-types.ts';
import { checkPaths } from '../../../src/service/checks/fields/paths.ts';
import { anyDatabase, databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { storedMinimal, withoutWarnings } from './check-bodies.ts';

/** Checks that are scripts: stored, returned and refused fields. */

type Check = Fields & { id: string };

const time = Date.parse('2026-03-04T05:06:07.000Z');
const script = "import { test } from '@playwright/test';\ntest('shop', async ({ page }) => {});";
const minimal = { name: 'Shop', script, locations: ['eu-west-1'] };

function storedScript(type: ScriptType): Fields {
  const stored: Fields = { ...storedMinimal('TCP'), checkType: type, name: 'Shop' };
  for (const field of ['degradedResponseTime', 'maxResponseTime', 'request']) delete stored[field];
  return { ...stored, script, dependencies: [], playwrightConfig: null };
}

describe.each(databases)('script checks ($name)', (database) => {
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

  const path = (type: ScriptType) => `/v1/checks/${checkPaths[type]}`;
  async function create(type: ScriptType, fields: Fields = {}): Promise<Check> {
    const { status, body } = await service.call<Check>('POST', path(type), {
      body: { ...minimal, ...fields },
    });
    expect([status, body['attributes']]).toEqual([201, undefined]);
    return withoutWarnings(body);
  }
  const read = async (id: string, query = '') =>
    (await service.call<Check>('GET', `/v1/checks/${id}${query}`)).body;

  describe.skipIf(database.unavailable)('with a database', () => {
    test.each(scriptTypes)(
      '%s: the smallest body gets every default, and reads back the same',
      async (type) => {
        const created = await create(type);
        expect(created).toEqual({ id: created.id, ...storedScript(type), created_at: '2026-03-04' });
        expect(await read(created.id)).toEqual(created);
      },
    );

    test.each(scriptTypes)(
      '%s: every field is stored; dependencies are returned on request',
      async (type) => {
        const fields = {
          frequency: 5,
          frequencyOffset: 2,
          runtimeId: '2025.04',
          scriptPath: 'tests/shop.spec.ts',
          dependencies: [{ path: 'tests/page.ts', content: 'export const page = 1;' }],
          playwrightConfig: { timeout: 30_000, use: { locale: 'de-DE' }, expect: { timeout: 1000 } },
          sslCheckDomain: 'shop.example',
          localSetupScript: 'stored alone',
          shouldFail: true,
          environmentVariables: [{ key: 'PASSWORD', value: 'hidden', locked: false, secret: true }],
        };
        const created = await create(type, fields);
        expect(created).toMatchObject({
          ...fields,
          environmentVariables: [{ key: 'PASSWORD', value: '', locked: false, secret: true }],
        });
        const { dependencies, ...rest } = created;
        expect(await read(created.id)).toEqual(rest);
        expect(await read(created.id, '?includeDependencies=true')).toEqual({ ...rest, dependencies });
        // What was read without them can be sent back, and they stay.
        const { status, body } = await service.call('PUT', `${path(type)}/${created.id}`, { body: rest });
        expect([status, withoutWarnings(body)]).toEqual([
          200,
          { ...created, updated_at: new Date(time).toISOString() },
        ]);
      },
    );

    test('a change keeps omitted fields, and secrets that are sent back empty', async () => {
      const { id } = await create('BROWSER', {
        dependencies: [{ path: 'a.ts', content: '1' }],
        environmentVariables: [{ key: 'PASSWORD', value: 'hidden', secret: true }],
      });
      const changed = await service.call('PUT', `/v1/checks/browser/${id}`, {
        body: { script: 'new', environmentVariables: [{ key: 'PASSWORD', value: '', secret: true }] },
      });
      expect(changed.body).toMatchObject({ script: 'new', dependencies: [{ path: 'a.ts', content: '1' }] });
      const [row] = await service.db.query<{ definition: { environmentVariables: { value: string }[] } }>(
        'select definition from checks where id = $1',
        [id],
      );
      const sealed = row?.definition.environmentVariables[0]?.value ?? '';
      expect(service.encryption.open(sealed)).toBe('hidden');
    });

    test('a list shows small scripts, and leaves out large ones', async () => {
      const tags = ['listed'];
      const small = await create('BROWSER', { tags });
      // Random enough that no compression makes it small.
      const noise = Array.from({ length: 20_000 }, (_, n) => ((n * 7919) % 104_729).toString(36)).join(',');
      const large = await create('MULTI_STEP', { tags, script: `// ${noise}` });
      const { body } = await service.call<Check[]>('GET', '/v1/checks?tag=listed');
      const { script: _script, dependencies: _dependencies, ...rest } = large;
      // Made in the same millisecond, so in any order.
      expect(body).toHaveLength(2);
      expect(body).toEqual(expect.arrayContaining([small, { ...rest, isPartial: true }]));
      expect((await read(large.id))['script']).toBe(`// ${noise}`);
    });

    test('a check is changed at the path of its type', async () => {
      const { id } = await create('MULTI_STEP');
      const { status, body } = await service.call('PUT', `/v1/checks/browser/${id}`, { body: { name: 'x' } });
      expect([status, body['attributes']]).toEqual([
        404,
        { id: [`names a check of type MULTI_STEP: change it at /v1/checks/multistep/${id}`] },
      ]);
    });

    test('a snippet and a group that a check names must be there', async () => {
      const answer = await service.call('POST', '/v1/checks/api', {
        body: {
          name: 'x',
          locations: ['eu-west-1'],
          request: { url: 'https://shop.example' },
          groupId: 4711,
          setupSnippetId: 4712,
          tearDownSnippetId: 4713,
        },
      });
      expect([answer.status, answer.body['attributes']]).toEqual([
        400,
        {
          groupId: ['names no group of this account (4711)'],
          setupSnippetId: ['names no snippet of this account (4712)'],
          tearDownSnippetId: ['names no snippet of this account (4713)'],
        },
      ]);
    });
  });
});

describe('refused fields', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await anyDatabase.open());
  });
  afterAll(async () => {
    await service.close();
    await anyDatabase.close();
  });

  const setBy = 'is not accepted: only timeout, use, expect are, the agent sets the others';
  const oneOf = (snippet: string, local: string) =>
    `set only one of ${snippet} and ${local}: a check has one script per phase`;
  const refusals: [type: ScriptType, fields: Fields, attributes: { [path: string]: string[] }][] = [
    ['BROWSER', { script: undefined }, { script: ['is required'] }],
    ['BROWSER', { name: undefined }, { name: ['is required'] }],
    ['BROWSER', { script: 7 }, { script: ['must be a string or null'] }],
    ['BROWSER', { script: '' }, { script: ['must have 1 to 1048576 characters'] }],
    ['BROWSER', { script: 'x'.repeat(1_048_577) }, { script: ['must have 1 to 1048576 characters'] }],
    [
      'MULTI_STEP',
      { frequency: 0 },
      { frequency: ['must be one of 1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440'] },
    ],
    ['BROWSER', { request: {} }, { request: ['is not a known field'] }],
    ['BROWSER', { maxResponseTime: 5 }, { maxResponseTime: ['is not a known field'] }],
    [
      'BROWSER',
      { scriptPath: '/etc/x.ts' },
      { scriptPath: ['must be a relative path with forward slashes'] },
    ],
    ['BROWSER', { scriptPath: 'a/../../x.ts' }, { scriptPath: ['must not leave the folder of the script'] }],
    ['BROWSER', { scriptPath: '' }, { scriptPath: ['must name a file'] }],
    [
      'BROWSER',
      {
        dependencies: [
          { path: '../x', content: '' },
          { path: 'a\\b', content: '' },
          { path: 'c', content: '' },
          { path: './c', content: '' },
        ],
      },
      {
        'dependencies.0.path': ['must not leave the folder of the script'],
        'dependencies.1.path': ['must be a relative path with forward slashes'],
        'dependencies.3.path': ['is given twice (./c)'],
      },
    ],
    [
      'BROWSER',
      {
        dependencies: Array.from({ length: 4 }, (_, n) => ({ path: `f${n}`, content: 'x'.repeat(900_000) })),
      },
      { dependencies: ['must not have more than 3145728 characters together'] },
    ],
    ['BROWSER', { dependencies: [{ path: 'x' }] }, { 'dependencies.0.content': ['is required'] }],
    [
      'BROWSER',
      {
        playwrightConfig: {
          projects: [],
          retries: 2,
          use: { headless: false, trace: 'on', launchOptions: {}, viewport: null },
        },
      },
      {
        'playwrightConfig.projects': [setBy],
        'playwrightConfig.retries': [setBy],
        'playwrightConfig.use.headless': ['is not accepted: the agent sets it'],
        'playwrightConfig.use.trace': ['is not accepted: the agent sets it'],
        'playwrightConfig.use.launchOptions': ['is not accepted: the agent sets it'],
      },
    ],
    [
      'BROWSER',
      { playwrightConfig: { timeout: 0 } },
      { 'playwrightConfig.timeout': ['must be from 1 to 240000'] },
    ],
    [
      'BROWSER',
      { retryStrategy: { onlyOn: ['NETWORK_ERROR'] } },
      { 'retryStrategy.onlyOn': ['is for API and URL checks only'] },
    ],
    [
      'BROWSER',
      { setupSnippetId: 1, localSetupScript: 'x', tearDownSnippetId: 2, localTearDownScript: 'y' },
      {
        setupSnippetId: [oneOf('setupSnippetId', 'localSetupScript'), 'names no snippet of this account (1)'],
        localSetupScript: [oneOf('setupSnippetId', 'localSetupScript')],
        tearDownSnippetId: [
          oneOf('tearDownSnippetId', 'localTearDownScript'),
          'names no snippet of this account (2)',
        ],
        localTearDownScript: [oneOf('tearDownSnippetId', 'localTearDownScript')],
      },
    ],
    [
      'MULTI_STEP',
      { runtimeId: '2022.10' },
      {
        runtimeId: [expect.stringContaining('must be a runtime with multi-step support: 2026.04,') as string],
      },
    ],
  ];
  test.each(refusals)('%s %#', async (type, fields, attributes) => {
    const { status, body } = await service.call('POST', `/v1/checks/${checkPaths[type]}`, {
      body: { ...minimal, ...fields },
    });
    expect([status, body['attributes']]).toEqual([400, attributes]);
  });

  test('BROWSER runs on a runtime without multi-step support', async () => {
    const { status } = await service.call('POST', '/v1/checks/browser', {
      body: { ...minimal, runtimeId: '2022.10' },
    });
    expect(status).toBe(201);
  });
});
