import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Command } from '../../../src/commands/command.ts';
import { apply, plan } from '../../../src/commands/project/apply.ts';
import { validate } from '../../../src/commands/project/validate.ts';
import { checkTypes } from '../../../src/protocol/check-types.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { checkPaths } from '../../../src/service/checks/fields/paths.ts';
import { kinds, resourceTypes, typeOfField, type ResourceType } from '../../../src/service/projects/kinds.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { idleBackground } from '../../helpers/service/one-of-everything.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/** Files with every field of the specification's tables, and with every example of the API's document. */

let api: TestService;
let stored: string;
let folder: string;

beforeAll(async () => {
  stored = mkdtempSync(join(tmpdir(), 'specification-'));
  const db = await anyDatabase.open();
  const bundles = createArtifactFiles(stored, { reserveBytes: 0 });
  api = await startTestService(db, { bundles, background: await idleBackground(db) });
});
beforeEach(async () => {
  await api.renewAccounts();
  folder = mkdtempSync(join(tmpdir(), 'project-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(async () => {
  await api.close();
  await anyDatabase.close();
  rmSync(stored, { recursive: true, force: true });
});

async function run(command: Command) {
  let [stdout, stderr] = ['', ''];
  const code = await command([folder], {
    env: { SERVICE_URL: api.url, SERVICE_API_KEY: api.account.key },
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
  });
  return { code, stdout, stderr: stderr.replaceAll(/\d+ %\n/g, '') };
}

async function applied(resources: readonly Fields[]): Promise<void> {
  writeFileSync(join(folder, 'project.json'), '{"logicalId":"specification"}');
  writeFileSync(join(folder, 'resources.json'), JSON.stringify(resources));
  expect(await run(validate)).toMatchObject({ code: 0, stderr: '' });
  expect(await run(apply)).toMatchObject({ code: 0, stderr: '' });
  expect(await run(plan)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
}

/** What the API shows of each resource, by type and logical id. */
async function shown(): Promise<Map<string, Fields>> {
  const { body } = await api.call<{
    resources: { type: ResourceType; logicalId: string; physicalId: string }[];
  }>('GET', '/v1/projects/specification');
  const all = new Map<string, Fields>();
  for (const { type, logicalId, physicalId } of body.resources) {
    const path = type.endsWith('trigger') ? `${kinds[type].item(physicalId)}` : kinds[type].item(physicalId);
    const answer = await api.call('GET', path);
    expect([path, answer.status]).toEqual([path, 200]);
    all.set(`${type}/${logicalId}`, answer.body);
  }
  return all;
}

/** The fields that DNS and browser checks share ("Check"). */
const shared = {
  activated: false,
  muted: true,
  doubleCheck: false,
  shouldFail: true,
  locations: ['us-east-1', 'af-south-1'],
  tags: ['production', 'shop'],
  alertSettings: {
    escalationType: 'RUN_BASED',
    runBasedEscalation: { failedRunThreshold: 2 },
    reminders: { amount: 3, interval: 10 },
    parallelRunFailureThreshold: { enabled: true, percentage: 50 },
  },
  useGlobalAlertSettings: false,
  groupOrder: 2,
  retryStrategy: {
    type: 'LINEAR',
    baseBackoffSeconds: 30,
    sameRegion: false,
    maxRetries: 3,
    maxDurationSeconds: 300,
  },
  runParallel: true,
  description: 'Watches the shop.',
  frequency: 5,
  frequencyOffset: 50,
} as const;
const references = {
  groupId: { ref: 'group' },
  privateLocations: [{ ref: 'office' }],
  alertChannelSubscriptions: [{ alertChannelId: { ref: 'email' }, activated: true }],
  triggerIncident: {
    serviceId: { ref: 'checkout' },
    name: 'Shop is down',
    description: 'We are looking into it.',
    severity: 'MAJOR',
    notifySubscribers: true,
  },
};

const configs = {
  EMAIL: { address: 'ops@shop.example' },
  CHAT_A: { url: 'https://chat.example/hook', channel: '#ops' },
  CHAT_A_APP: { channels: ['#ops'] },
  WEBHOOK: {
    name: 'Hook',
    url: 'https://hooks.example/',
    method: 'POST',
    headers: [{ key: 'x-token', value: 'a-secret', locked: true }],
    queryParameters: [{ key: 'from', value: 'shop', locked: false }],
  },
  SMS: { number: '+31612345678', name: 'Duty' },
  PAGING_A: { account: 'shop', serviceName: 'Shop', serviceKey: 'a-service-key' },
  PAGING_B: { name: 'Shop', apiKey: 'an-api-key', region: 'EU', priority: 'P1' },
  CALL: { number: '+31612345678', name: 'Duty' },
} as const;

const channels = Object.entries(configs).map(([type, config]): Fields => ({
  kind: 'alert-channel',
  logicalId: type.toLowerCase(),
  type,
  config,
  sendRecovery: false,
  sendFailure: false,
  sendDegraded: true,
  sslExpiry: true,
  sslExpiryThreshold: 14,
}));

test('a project with every field of the specification keeps all of them', async () => {
  const window = {
    name: 'Patches',
    startsAt: '2030-03-03T02:00:00.000Z',
    endsAt: '2030-03-03T04:00:00.000Z',
    tags: ['shop'],
    repeatInterval: 1,
    repeatUnit: 'MONTH',
    repeatEndsAt: '2031-03-03T02:00:00.000Z',
    description: 'Patches of the database.',
    pauseAllChecks: false,
    silenceAlertsTags: ['production'],
    silenceAllAlerts: false,
  };
  const visibility = {
    enabled: true,
    affectAllServices: false,
    suppressAutoIncidents: true,
    notifyOnStart: true,
    notifyOnEnd: true,
    autoStart: true,
    autoEnd: true,
    reminderMinutesBefore: [60],
  };
  const dns = {
    ...shared,
    name: 'Names of the shop',
    request: {
      query: 'shop.example',
      nameServer: '192.0.2.53',
      port: 53,
      protocol: 'TCP',
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '200' }],
    },
    degradedResponseTime: 400,
    maxResponseTime: 4000,
  };
  const browser = {
    ...shared,
    name: 'Buy a book',
    runtimeId: null,
    sslCheckDomain: 'shop.example',
    scriptPath: null,
    script: "console.log('buy');\n",
    dependencies: [{ path: 'lib.ts', content: 'export const a = 1;\n' }],
    environmentVariables: [
      { key: 'PLAIN', value: '1', locked: false, secret: false },
      { key: 'LOCKED', value: '2', locked: true, secret: false },
      { key: 'SECRET', value: 'a-secret-value', locked: false, secret: true },
    ],
  };
  await applied([
    ...channels,
    { kind: 'private-location', logicalId: 'office', name: 'Office', slugName: 'office' },
    { kind: 'check-group', logicalId: 'group', name: 'Group' },
    { kind: 'status-page-service', logicalId: 'checkout', name: 'Checkout' },
    { kind: 'check', logicalId: 'dns', checkType: 'DNS', ...dns, ...references },
    { kind: 'check', logicalId: 'browser', checkType: 'BROWSER', ...browser, ...references },
    {
      kind: 'alert-channel-subscription',
      logicalId: 'of-check',
      alertChannelId: { ref: 'webhook' },
      checkId: { ref: 'dns' },
      activated: false,
    },
    {
      kind: 'alert-channel-subscription',
      logicalId: 'of-group',
      alertChannelId: { ref: 'webhook' },
      groupId: { ref: 'group' },
      activated: true,
    },
    {
      kind: 'maintenance-window',
      logicalId: 'patches',
      ...window,
      statusPageVisibility: { ...visibility, serviceIds: [{ ref: 'checkout' }] },
    },
    { kind: 'check-trigger', logicalId: 'dns', checkId: { ref: 'dns' } },
  ]);
  const found = await shown();
  const idOf = (name: string) => found.get(name)?.['id'];
  const linked = {
    groupId: idOf('check-group/group'),
    privateLocations: ['office'],
    triggerIncident: { ...references.triggerIncident, serviceId: idOf('status-page-service/checkout') },
  };
  expect(found.get('check/dns')).toMatchObject({ ...dns, ...linked, checkType: 'DNS' });
  expect(found.get('check/browser')).toMatchObject({
    ...browser,
    ...linked,
    checkType: 'BROWSER',
    environmentVariables: browser.environmentVariables.map((one) =>
      one.secret ? { ...one, value: '' } : one,
    ),
  });
  const own = { alertChannelId: idOf('alert-channel/email'), activated: true };
  const other = { alertChannelId: idOf('alert-channel/webhook'), activated: false };
  expect(found.get('check/dns')?.['alertChannelSubscriptions']).toEqual([own, other]);
  expect(found.get('maintenance-window/patches')).toMatchObject({
    ...window,
    statusPageVisibility: { ...visibility, serviceIds: [idOf('status-page-service/checkout')] },
  });
  for (const { logicalId, type, sendDegraded, sslExpiryThreshold } of channels) {
    const expected = { type, sendRecovery: false, sendFailure: false, sendDegraded, sslExpiry: true };
    expect(found.get(`alert-channel/${String(logicalId)}`)).toMatchObject({
      ...expected,
      sslExpiryThreshold,
    });
  }
}, 60_000);

test("a project of all examples of the API's document can be applied", async () => {
  const bundle = await api.call('POST', '/v1/playwright-bundles', {
    body: gzipSync('a suite'),
    headers: { 'content-type': 'application/octet-stream' },
  });
  const document = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'),
  ) as {
    paths: {
      [path: string]: { post?: { requestBody: { content: { [type: string]: { example?: Fields } } } } };
    };
  }; // our own generated file
  const exampleOf = (path: string): Fields =>
    document.paths[path]?.post?.requestBody.content['application/json']?.example ?? {};
  const resources = [
    ...checkTypes.map((type): Fields => {
      const example = exampleOf(`/v1/checks/${checkPaths[type]}`);
      expect([type, typeof example['name']]).toEqual([type, 'string']);
      const own = 'codeBundlePath' in example ? { codeBundlePath: bundle.body['key'] } : {};
      return { kind: 'check', logicalId: type, checkType: type, ...example, ...own };
    }),
    ...resourceTypes
      .filter((type) => type !== 'check' && kinds[type].createMethod !== 'PUT' && !type.endsWith('trigger'))
      .map((type): Fields => {
        const { subscriptions: _subscriptions, ...example } = exampleOf(kinds[type].create({}) ?? '');
        expect([type, Object.keys(example).length > 0]).toEqual([type, true]);
        return { kind: type, logicalId: type, ...example };
      }),
    { kind: 'check-trigger', logicalId: 'URL', checkId: { ref: 'URL' } },
    { kind: 'check-group-trigger', logicalId: 'group', groupId: { ref: 'check-group' } },
  ];
  await applied(resources.map((resource) => withReferences(resource, '') as Fields)); // an object in, an object out
  expect((await shown()).size).toBe(resources.length);
}, 60_000);

/** The ids of the examples are of other resources of the document, which have the examples' own logical ids here. */
function withReferences(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withReferences(item, field));
  if (typeof value === 'object' && value !== null)
    return 'ref' in value
      ? value
      : Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withReferences(one, name)]));
  const type = typeOfField[field];
  if (type === undefined || value === null) return value;
  return { ref: type === 'check' ? 'URL' : type };
}
