import { describe, expect, test } from 'vitest';
import {
  mergedLocations,
  mergedRequest,
  mergedRetries,
  mergedVariables,
  phaseSources,
  withGroupSettings,
  type ApiCheckDefaults,
  type GroupSettings,
  type Variable,
} from '../../../../src/service/checks/storage/settings.ts';

/** What counts of a check and its group, rule by rule (facts, 5.1). */

const own = {
  type: 'FIXED' as const,
  baseBackoffSeconds: 60,
  maxRetries: 2,
  maxDurationSeconds: 600,
  sameRegion: true,
  onlyOn: [],
};
const other = { ...own, type: 'LINEAR' as const };

const alertSettings = {
  escalationType: 'RUN_BASED' as const,
  runBasedEscalation: { failedRunThreshold: 1 as const },
  timeBasedEscalation: { minutesFailingThreshold: 5 as const },
  reminders: { amount: 0 as const, interval: 5 as const },
  parallelRunFailureThreshold: { enabled: false, percentage: 10 as const },
};
const louder = { ...alertSettings, runBasedEscalation: { failedRunThreshold: 3 as const } };

/** A group that changes nothing. */
const silent: GroupSettings = {
  activated: true,
  muted: false,
  locations: [],
  privateLocations: [],
  runParallel: null,
  runtimeId: null,
  retryStrategy: null,
  doubleCheck: null,
  apiCheckDefaults: null,
  environmentVariables: [],
  useGlobalAlertSettings: null,
  alertSettings,
  alertChannelSubscriptions: [],
  localSetupScript: null,
  setupSnippetId: null,
  localTearDownScript: null,
  tearDownSnippetId: null,
};

const pair = (key: string, value: string) => ({ key, value, locked: false });
const variable = (key: string, value: string): Variable => ({ key, value, locked: false, secret: false });

const request = {
  method: 'POST' as const,
  url: '{{GROUP_BASE_URL}}/x',
  followRedirects: true,
  skipSSL: false,
  ipFamily: 'IPv4' as const,
  body: 'own',
  bodyType: 'RAW' as const,
  headers: [pair('X-Own', 'check')],
  queryParameters: [pair('page', '2')],
  basicAuth: null,
  assertions: [
    {
      source: 'STATUS_CODE' as const,
      property: '',
      comparison: 'EQUALS' as const,
      target: '201',
      regex: null,
    },
  ],
};
const defaults: ApiCheckDefaults = {
  url: 'https://shop.example',
  headers: [pair('x-own', 'group'), pair('x-more', 'group')],
  queryParameters: [pair('page', '1'), pair('Page', '9')],
  basicAuth: { username: 'ann', password: 'pass' },
  assertions: [
    {
      source: 'HEADERS' as const,
      property: 'server',
      comparison: 'NOT_EMPTY' as const,
      target: '',
      regex: null,
    },
  ],
};

const check = {
  name: 'own',
  activated: true,
  muted: false,
  locations: ['eu-west-1'],
  privateLocations: ['office'],
  runParallel: false,
  runtimeId: null as string | null,
  retryStrategy: own as typeof own | null,
  doubleCheck: true,
  environmentVariables: [variable('A', 'check')],
  useGlobalAlertSettings: true,
  alertSettings,
  alertChannelSubscriptions: [{ alertChannelId: 1, activated: true }],
  request,
  degradedResponseTime: 100,
};

test.each([
  ['neither list', { locations: [], privateLocations: [] }, ['eu-west-1'], ['office']],
  ['data centres', { locations: ['us-east-1'], privateLocations: [] }, ['us-east-1'], []],
  ['private ones', { locations: [], privateLocations: ['home'] }, [], ['home']],
  ['both', { locations: ['us-east-1'], privateLocations: ['home'] }, ['us-east-1'], ['home']],
])('locations of a group with %s', (_what, group, locations, privateLocations) => {
  expect(mergedLocations(check, group)).toEqual({ locations, privateLocations });
});

test.each([
  ['a strategy', { retryStrategy: other, doubleCheck: null }, { retryStrategy: other, doubleCheck: false }],
  [
    'a strategy and doubleCheck',
    { retryStrategy: other, doubleCheck: true },
    { retryStrategy: other, doubleCheck: false },
  ],
  [
    'FALLBACK',
    { retryStrategy: 'FALLBACK' as const, doubleCheck: true },
    { retryStrategy: own, doubleCheck: true },
  ],
  ['nothing', { retryStrategy: null, doubleCheck: null }, { retryStrategy: own, doubleCheck: true }],
  ['doubleCheck', { retryStrategy: null, doubleCheck: true }, { retryStrategy: null, doubleCheck: true }],
  [
    'no doubleCheck',
    { retryStrategy: null, doubleCheck: false },
    { retryStrategy: null, doubleCheck: false },
  ],
])('retries of a group with %s', (_what, group, expected) => {
  expect(mergedRetries({ retryStrategy: own, doubleCheck: true }, group)).toEqual(expected);
});

test('variables: check before group before account, each key once', () => {
  const merged = mergedVariables(
    [variable('A', 'check')],
    [variable('A', 'group'), variable('B', 'group')],
    [variable('A', 'account'), variable('B', 'account'), variable('C', 'account')],
  );
  expect(new Map(merged.map(({ key, value }) => [key, value]))).toEqual(
    new Map([
      ['A', 'check'],
      ['B', 'group'],
      ['C', 'account'],
    ]),
  );
  expect(merged).toHaveLength(3);
});

test('requests: own headers and parameters win, assertions of both hold, method and body stay', () => {
  expect(mergedRequest(request, defaults)).toEqual({
    ...request,
    headers: [pair('x-more', 'group'), pair('X-Own', 'check')],
    queryParameters: [pair('Page', '9'), pair('page', '2')],
    basicAuth: { username: 'ann', password: 'pass' },
    assertions: [...request.assertions, ...defaults.assertions],
  });
  const basicAuth = { username: 'bob', password: 'own' };
  expect(mergedRequest({ ...request, basicAuth }, defaults).basicAuth).toEqual(basicAuth);
});

describe('a check with its group', () => {
  const apply = (group: Partial<GroupSettings>, fields: Partial<typeof check> = {}, type = 'API') =>
    withGroupSettings(type, { ...check, ...fields }, { ...silent, ...group });

  test('a group without settings changes nothing', () => {
    expect(apply({})).toEqual(check);
  });

  const rows: [what: string, group: Partial<GroupSettings>, expected: Partial<typeof check>][] = [
    ['deactivated', { activated: false }, { activated: false }],
    ['muted', { muted: true }, { muted: true }],
    ['locations', { privateLocations: ['home'] }, { locations: [], privateLocations: ['home'] }],
    ['runParallel', { runParallel: true }, { runParallel: true }],
    ['runtime', { runtimeId: '2025.04' }, { runtimeId: '2025.04' }],
    [
      'retries',
      { retryStrategy: { ...own, maxRetries: 5 } },
      { retryStrategy: { ...own, maxRetries: 5 }, doubleCheck: false },
    ],
    [
      "the account's alerts, told to the group's channels",
      { useGlobalAlertSettings: true, alertSettings: louder, alertChannelSubscriptions: [] },
      { useGlobalAlertSettings: true, alertChannelSubscriptions: [] },
    ],
    [
      'own alerts',
      { useGlobalAlertSettings: false, alertSettings: louder },
      { useGlobalAlertSettings: false, alertSettings: louder as never, alertChannelSubscriptions: [] },
    ],
    [
      'channels without a policy',
      { alertChannelSubscriptions: [{ alertChannelId: 2, activated: true }] },
      {},
    ],
    [
      'variables',
      { environmentVariables: [variable('A', 'group'), variable('B', 'group')] },
      { environmentVariables: [variable('A', 'check'), variable('B', 'group')] },
    ],
  ];
  test.each(rows)('%s', (_what, group, expected) => {
    expect(apply(group)).toEqual({ ...check, ...expected });
  });

  test('runParallel: false of a group replaces too', () => {
    expect(apply({ runParallel: false }, { runParallel: true }).runParallel).toBe(false);
  });
  test("the check's own runtime wins", () => {
    expect(apply({ runtimeId: '2025.04' }, { runtimeId: '2024.09' }).runtimeId).toBe('2024.09');
  });
  test('a group replaces only settings of a heartbeat that do not concern runs', () => {
    const own = { locations: [], privateLocations: [], retryStrategy: null, doubleCheck: false };
    const group = {
      locations: ['us-east-1'],
      retryStrategy: other,
      doubleCheck: true,
      runParallel: true,
      runtimeId: '2025.04',
    };
    const more = { muted: true, activated: false, useGlobalAlertSettings: false, alertSettings: louder };
    expect(apply({ ...group, ...more }, own, 'HEARTBEAT')).toEqual({
      ...check,
      ...own,
      ...more,
      alertChannelSubscriptions: [],
    });
  });
  test('a suite takes neither retries nor a runtime of its group, but its locations', () => {
    const own = { retryStrategy: null, doubleCheck: false };
    const group = { retryStrategy: other, doubleCheck: true, runtimeId: '2025.04', locations: ['us-east-1'] };
    expect(apply(group, own, 'PLAYWRIGHT')).toEqual({
      ...check,
      ...own,
      locations: ['us-east-1'],
      privateLocations: [],
    });
  });
  test('limits of response times stay with the check', () => {
    expect(apply({ apiCheckDefaults: defaults }).degradedResponseTime).toBe(100);
  });
  test('defaults for API checks apply only to API checks', () => {
    expect(apply({ apiCheckDefaults: defaults }).request).toEqual(mergedRequest(request, defaults));
    expect(apply({ apiCheckDefaults: defaults }, {}, 'URL').request).toEqual(request);
  });
});

test('scripts: setup of the group first, teardown of the group last', () => {
  const of = (name: string) => ({
    localSetupScript: `${name} setup`,
    setupSnippetId: null,
    localTearDownScript: null,
    tearDownSnippetId: name === 'group' ? 7 : 8,
  });
  expect(phaseSources(of('check'), of('group'))).toEqual({
    setup: [
      { origin: 'group', local: 'group setup', snippetId: null },
      { origin: 'check', local: 'check setup', snippetId: null },
    ],
    teardown: [
      { origin: 'check', local: null, snippetId: 8 },
      { origin: 'group', local: null, snippetId: 7 },
    ],
  });
  const none = {
    localSetupScript: '',
    setupSnippetId: null,
    localTearDownScript: null,
    tearDownSnippetId: null,
  };
  expect(phaseSources(none, null)).toEqual({ setup: [], teardown: [] });
});
