import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { storedMinimal, withoutWarnings } from './check-bodies.ts';

/** Checks that are Playwright suites: stored, returned and refused fields. */

type Check = Fields & { id: string };

const time = Date.parse('2026-03-04T05:06:07.000Z');
const path = '/v1/checks/playwright';

describe.each(databases)('suite checks ($name)', (database) => {
  let service: TestService;
  let folder: string;
  let key: string;
  let otherKey: string;

  beforeAll(async () => {
    if (database.unavailable !== null) return;
    folder = mkdtempSync(join(tmpdir(), 'bundles-'));
    const bundles = createArtifactFiles(folder, { reserveBytes: 0 });
    service = await startTestService(await database.open(), { now: () => time, bundles });
    key = await upload('one');
    otherKey = await upload('two');
  });
  afterAll(async () => {
    if (database.unavailable !== null) return;
    await service.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function upload(text: string, account = service.account): Promise<string> {
    const headers = { 'content-type': 'application/octet-stream' };
    const { body } = await service.call<{ key: string }>('POST', '/v1/playwright-bundles', {
      body: gzipSync(text),
      headers,
      key: account.key,
    });
    return body.key;
  }
  const minimal = (fields: Fields = {}) => ({
    name: 'Shop',
    codeBundlePath: key,
    locations: ['eu-west-1'],
    ...fields,
  });
  const post = (fields: Fields = {}) => service.call<Check>('POST', path, { body: minimal(fields) });
  async function create(fields: Fields = {}): Promise<Check> {
    const { status, body } = await post(fields);
    expect([status, body['attributes']]).toEqual([201, undefined]);
    return withoutWarnings(body);
  }
  const read = async (id: string) => (await service.call<Check>('GET', `/v1/checks/${id}`)).body;

  function stored(): Fields {
    const shared: Fields = {
      ...storedMinimal('TCP'),
      checkType: 'PLAYWRIGHT',
      name: 'Shop',
      doubleCheck: false,
    };
    for (const field of ['degradedResponseTime', 'maxResponseTime', 'request', 'sslCheckDomain']) {
      delete shared[field];
    }
    return {
      ...shared,
      codeBundlePath: key,
      installCommand: null,
      testCommand: null,
      playwrightConfigPath: null,
      pwProjects: [],
      pwTags: [],
      workingDir: '',
      engine: null,
      engineVersion: null,
      browsers: [],
      maxRunMinutes: 30,
    };
  }

  describe.skipIf(database.unavailable)('with a database', () => {
    test('the smallest body gets every default, and reads back the same', async () => {
      const created = await create();
      expect(created).toEqual({ id: created.id, ...stored(), created_at: '2026-03-04' });
      expect(await read(created.id)).toEqual(created);
      const listed = await service.call<Check[]>('GET', '/v1/checks?checkType=PLAYWRIGHT');
      expect(listed.body).toContainEqual(created);
    });

    test('every field is stored, and can be sent back as read', async () => {
      const fields = {
        frequency: 30,
        installCommand: 'pnpm install --frozen-lockfile',
        testCommand: 'pnpm exec playwright test --shard=1/2',
        playwrightConfigPath: '../../playwright.config.ts',
        pwProjects: ['Mobile Safari'],
        pwTags: ['@smoke', '@shop @fast'],
        workingDir: 'packages/web',
        engine: 'node',
        engineVersion: '24.13.1',
        browsers: ['webkit'],
        maxRunMinutes: 60,
        environmentVariables: [{ key: 'TOKEN', value: 'x', locked: true, secret: false }],
        tags: ['shop'],
        runParallel: true,
      };
      const created = await create(fields);
      expect(created).toMatchObject(fields);
      const { status, body } = await service.call<Check>('PUT', `${path}/${created.id}`, { body: created });
      expect(status).toBe(200);
      expect(withoutWarnings(body)).toEqual({ ...created, updated_at: new Date(time).toISOString() });
    });

    test('a change keeps omitted fields, and accepts another bundle', async () => {
      const created = await create({ pwTags: ['@smoke'], engine: 'bun', engineVersion: '1.3' });
      const change = (body: Fields) => service.call<Check>('PUT', `${path}/${created.id}`, { body });
      const { body } = await change({ codeBundlePath: otherKey });
      expect(body).toMatchObject({ codeBundlePath: otherKey, pwTags: ['@smoke'], engine: 'bun' });
      expect((await service.call('DELETE', `/v1/playwright-bundles/${otherKey}`)).status).toBe(409);
      // The version goes with the engine.
      expect((await change({ engine: 'node' })).body['attributes']).toEqual({
        engineVersion: ['must be 22, 24, 26 or a full version number of one of these with engine node'],
      });
      expect((await change({ doubleCheck: true })).status).toBe(400);
      expect((await service.call('PUT', `/v1/checks/browser/${created.id}`, { body: {} })).status).toBe(404);
      await change({ codeBundlePath: key });
      expect((await service.call('DELETE', `/v1/checks/${created.id}`)).status).toBe(204);
      expect((await service.call('GET', `/v1/checks/${created.id}`)).status).toBe(404);
    });

    test.each([
      ['packages/web/', 'packages/web'],
      ['./packages/web', 'packages/web'],
      ['.', ''],
      ['a/../b', 'b'],
    ])('the folder %s is stored as "%s"', async (given, kept) => {
      expect((await create({ workingDir: given }))['workingDir']).toBe(kept);
    });

    const retries = 'is not for suites: set retries in the Playwright config';
    const leaves = 'must not leave the code bundle';
    const control = 'must not contain line breaks or other control characters';
    const relative = 'must be a relative path with forward slashes';
    const noPhase = "is not for suites: use Playwright's globalSetup and globalTeardown (must be null)";
    test.each<[Fields, Fields]>([
      [{ doubleCheck: true }, { doubleCheck: [`${retries} (must be false)`] }],
      [{ retryStrategy: { type: 'FIXED' } }, { retryStrategy: [`${retries} (must be null)`] }],
      [
        { shouldFail: true },
        { shouldFail: ['is not for suites: mark tests that must fail with test.fail()'] },
      ],
      [
        { runtimeId: '2026.04' },
        { runtimeId: ['is not for suites: they bring their own packages (must be null)'] },
      ],
      [
        { localSetupScript: 'x', tearDownSnippetId: 1 },
        { localSetupScript: [noPhase], tearDownSnippetId: [noPhase] },
      ],
      [{ workingDir: '../other' }, { workingDir: [leaves] }],
      [{ workingDir: 'a/../../b' }, { workingDir: [leaves] }],
      [{ workingDir: '/etc' }, { workingDir: [relative] }],
      [{ workingDir: 'C:/x' }, { workingDir: [relative] }],
      [{ workingDir: 'a\\b' }, { workingDir: [relative] }],
      [{ workingDir: 'a\nb' }, { workingDir: [control] }],
      [{ playwrightConfigPath: '../x.config.ts' }, { playwrightConfigPath: [leaves] }],
      [{ workingDir: 'a', playwrightConfigPath: '../../x.config.ts' }, { playwrightConfigPath: [leaves] }],
      [{ playwrightConfigPath: 'config/' }, { playwrightConfigPath: ['must name a file'] }],
      [{ playwrightConfigPath: '/etc/passwd' }, { playwrightConfigPath: [relative] }],
      [{ testCommand: 'npx playwright test\nrm -rf .' }, { testCommand: [control] }],
      [{ installCommand: 'npm\u001b[0m ci' }, { installCommand: [control] }],
      [{ installCommand: '  ' }, { installCommand: ['must name a command, or be null for the default'] }],
      [
        { pwTags: ['@a', '@b\r\n'], pwProjects: [' '] },
        { 'pwTags.1': [control], 'pwProjects.0': ['must not be blank'] },
      ],
      [
        { engineVersion: '18' },
        { engineVersion: ['must be 22, 24, 26 or a full version number of one of these with engine node'] },
      ],
      [
        { engine: 'bun', engineVersion: '1.30' },
        { engineVersion: ['must be 1.3 or a full version number of one of these with engine bun'] },
      ],
      [
        { engineVersion: '22.x' },
        { engineVersion: ['must be 22, 24, 26 or a full version number of one of these with engine node'] },
      ],
      [
        { locations: [], privateLocations: [] },
        {
          locations: ['Set at least one of locations and privateLocations'],
          privateLocations: ['Set at least one of locations and privateLocations'],
        },
      ],
    ])('refuses %j', async (fields, attributes) => {
      const { status, body } = await post(fields);
      expect([status, body['attributes']]).toEqual([400, attributes]);
    });

    test.each<[Fields, string]>([
      [{ codeBundlePath: '../x' }, 'codeBundlePath'],
      [{ codeBundlePath: undefined }, 'codeBundlePath'],
      [{ frequency: 0 }, 'frequency'],
      [{ maxRunMinutes: 61 }, 'maxRunMinutes'],
      [{ maxRunMinutes: 0 }, 'maxRunMinutes'],
      [{ engine: 'deno' }, 'engine'],
      [{ browsers: ['opera'] }, 'browsers.0'],
      [{ headless: false }, 'headless'],
      [{ script: 'x' }, 'script'],
      [{ pwProjects: [''] }, 'pwProjects.0'],
    ])('refuses %j by its schema', async (fields, field) => {
      const { status, body } = await post(fields);
      expect([status, Object.keys(body['attributes'] as Fields)]).toEqual([400, [field]]);
    });

    test('a bundle of another account is none', async () => {
      const foreign = await upload('three', service.foreign);
      const { status, body } = await post({ codeBundlePath: foreign });
      expect([status, Object.keys(body['attributes'] as Fields)]).toEqual([400, ['codeBundlePath']]);
    });
  });
});
