import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../src/commands/run/run.ts';
import { checkTypes, probeTypes } from '../../src/protocol/check-types.ts';
import type { Result } from '../../src/protocol/result.ts';
import { checkPaths } from '../../src/service/checks/fields/paths.ts';
import { startTargets, type Targets } from '../../src/targets/targets.ts';
import { encryption } from '../helpers/service/agent-service.ts';
import { hasPlaywright } from '../helpers/scripts/playwright.ts';
import { anyDatabase } from '../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../helpers/service/service.ts';

/** The examples of the pages in docs/checks: the service creates each, and `run` runs each that it takes. */

const root = resolve(import.meta.dirname, '../..');
const { documentOf } = (await import(join(root, 'scripts', 'docs', 'blocks.mjs'))) as {
  documentOf: (path: string) => { language: string; marks: string[]; content: string }[];
};
const pageOf = (type: string) => `docs/checks/${type.toLowerCase().replace('_', '-')}.md`;
const exampleOf = (type: string, language: string) =>
  documentOf(pageOf(type)).find((block) => block.marks.includes('check') && block.language === language)
    ?.content;

let api: TestService;
let targets: Targets;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'examples-'));
  targets = await startTargets();
  api = await startTestService(await anyDatabase.open(), { encryption });
  const body = { name: 'Office', slugName: 'office' };
  expect((await api.call('POST', '/v1/private-locations', { body })).status).toBe(201);
}, 60_000);
afterAll(async () => {
  await api.close();
  await targets.close();
  await anyDatabase.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The example with the ports of this test's servers. */
const here = (text: string) =>
  text
    .replaceAll('4400', new URL(api.url).port)
    .replaceAll('5353', String(targets.dns.port))
    .replaceAll('4443', String(targets.ports.https))
    .replaceAll('50051', String(targets.ports.grpc));

async function resultOf(file: string, content: string, args: readonly string[] = []) {
  const path = join(folder, file);
  writeFileSync(path, here(content));
  let out = '';
  let err = '';
  const code = await run([path, '--json', '--output', folder, ...args], {
    env: process.env,
    stdout: (text) => (out += text),
    stderr: (text) => (err += text),
  });
  return { code, err, result: JSON.parse(out) as Result };
}

test.each(checkTypes.filter((type) => !['BROWSER', 'MULTI_STEP', 'PLAYWRIGHT'].includes(type)))(
  'the service creates the example of %s',
  async (type) => {
    const { checkType = type, ...body } = JSON.parse(exampleOf(type, 'json') ?? 'null') as Fields;
    expect(checkType).toBe(type);
    const created = await api.call('POST', `/v1/checks/${checkPaths[type]}`, { body });
    expect(created.body).toMatchObject({ name: body['name'], checkType: type });
    expect(created.status).toBe(201);
  },
);

test('the service creates the examples of scripts', async () => {
  for (const type of ['BROWSER', 'MULTI_STEP'] as const) {
    const body = { name: type, privateLocations: ['office'], script: exampleOf(type, 'ts') };
    expect((await api.call('POST', `/v1/checks/${checkPaths[type]}`, { body })).status).toBe(201);
  }
});

test('the example of a suite lacks only its bundle', async () => {
  const body = JSON.parse(exampleOf('PLAYWRIGHT', 'json') ?? 'null') as Fields;
  const refused = await api.call('POST', '/v1/checks/playwright', { body });
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.body)).toContain('codeBundlePath');
});

describe('run takes', () => {
  test.each(probeTypes.filter((type) => type !== 'ICMP'))('the example of %s, which passes', async (type) => {
    const { code, result } = await resultOf('check.json', exampleOf(type, 'json') ?? '');
    expect([code, result.status, result.reason]).toEqual([0, 'passed', null]);
  });

  test('the example of ICMP, which passes where the machine permits pings', async () => {
    const { result } = await resultOf('check.json', exampleOf('ICMP', 'json') ?? '');
    expect([result.status, result.reason?.code ?? null]).toEqual(
      result.status === 'passed' ? ['passed', null] : ['errored', 'ICMP_UNAVAILABLE'],
    );
  });

  test.skipIf(!hasPlaywright).each(['BROWSER', 'MULTI_STEP'])(
    'the example of %s, which passes',
    async (type) => {
      const { code, result } = await resultOf('check.spec.ts', exampleOf(type, 'ts') ?? '', ['--type', type]);
      expect([code, result.status, result.reason]).toEqual([0, 'passed', null]);
    },
    90_000,
  );
});
