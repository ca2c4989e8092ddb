import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Schema } from '../../helpers/fuzz-input.ts';

/** Every row of the specification's tables of endpoints and fields, looked up in the OpenAPI document. */

type Parameter = { name: string; in: string; required?: boolean; schema: Schema & { pattern?: string } };
type Operation = {
  parameters?: Parameter[];
  requestBody?: { content: { 'application/json': { schema: Schema } } };
  responses: { [status: string]: { content?: { 'application/json'?: { schema: Schema } } } };
  security?: unknown[];
};
const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'),
) as {
  // our own generated file
  paths: { [path: string]: { [method: string]: Operation } };
  components: { schemas: { [name: string]: Schema }; securitySchemes: object };
  security: unknown[];
};

type Rule = {
  type?: string | string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  minItems?: number;
  required?: boolean;
  enum?: unknown[];
};

const uuidLists = { limit: { default: 10, minimum: 1, maximum: 100 }, page: { default: 1 } };
const cursorLists = {
  limit: { default: 20, minimum: 1, maximum: 100 },
  nextId: {},
  paginated: { default: true },
};
const multistepMetrics = [
  'responseTime',
  'availability',
  'retries',
  ...['avg', 'max', 'median', 'min', 'p50', 'p90', 'p95', 'p99', 'stddev', 'sum'].map(
    (aggregation) => `responseTime_${aggregation}`,
  ),
];

const resolve = (schema: Schema | undefined): Schema => {
  const name = schema?.$ref?.split('/').at(-1);
  return name === undefined ? (schema ?? {}) : (document.components.schemas[name] ?? {});
};

/** Whether a schema says what a rule asks: its own keywords, or those of one of its alternatives. */
function says(schema: Schema, rule: Rule): boolean {
  const found = resolve(schema);
  const alternatives = [found, ...(found.anyOf ?? []), ...(found.oneOf ?? [])].map(resolve);
  return Object.entries(rule).every(([keyword, value]) => {
    if (keyword === 'required') return true;
    return alternatives.some((one) => {
      const own = (one as { [keyword: string]: unknown })[keyword];
      if (keyword === 'enum' || (keyword === 'type' && Array.isArray(value))) {
        const has = [own].flat();
        return (value as unknown[]).every((item) => has.includes(item));
      }
      if (keyword === 'type') return [own].flat().includes(value);
      return own === value;
    });
  });
}

type Row = {
  operation: string;
  success: number;
  path?: string[];
  query?: { [name: string]: Rule };
  /** Fields of the body and what they must be; of a list, its items'. */
  body?: { [field: string]: Rule };
  required?: string[];
  answers?: { [field: string]: Rule };
};

const frequencies = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];
const dataCenters = [
  'us-east-1',
  'us-east-2',
  'us-west-1',
  'us-west-2',
  'ca-central-1',
  'sa-east-1',
  'eu-west-1',
  'eu-central-1',
  'eu-west-2',
  'eu-west-3',
  'eu-north-1',
  'eu-south-1',
  'me-south-1',
  'ap-southeast-1',
  'ap-northeast-1',
  'ap-east-1',
  'ap-southeast-2',
  'ap-southeast-3',
  'ap-northeast-2',
  'ap-northeast-3',
  'ap-south-1',
  'af-south-1',
];
const checkTypes = 'AGENTIC API BROWSER HEARTBEAT ICMP MULTI_STEP TCP PLAYWRIGHT URL DNS'.split(' ');
const runtimeIds = ['2026.04', '2025.04', '2024.09', '2024.02', '2023.09', '2023.02', '2022.10'];

const ofChecks: { [field: string]: Rule } = {
  name: { type: 'string' },
  activated: { type: 'boolean', default: true },
  muted: { type: 'boolean', default: false },
  doubleCheck: { type: 'boolean', default: true },
  shouldFail: { type: 'boolean', default: false },
  locations: { type: ['array', 'null'] },
  tags: { type: 'array' },
  alertSettings: { type: 'object' },
  useGlobalAlertSettings: { type: 'boolean', default: true },
  groupId: { type: 'null' },
  groupOrder: { type: 'null', minimum: 0 },
  runtimeId: { type: 'null' },
  alertChannelSubscriptions: { type: 'array' },
  retryStrategy: { type: 'object' },
  triggerIncident: { type: 'object' },
  runParallel: { type: 'boolean', default: false },
  description: { type: ['string', 'null'], maxLength: 500 },
  frequency: { type: 'integer', default: 10, enum: frequencies },
  frequencyOffset: { type: 'integer', minimum: 1 },
  privateLocations: { type: ['array', 'null'] },
  sslCheckDomain: { type: 'string' },
  scriptPath: { type: ['string', 'null'] },
  environmentVariables: { type: ['array', 'null'], maxItems: 100 },
};
const response = { created_at: {}, updated_at: {}, alertChannels: {}, checkType: {}, id: {} };

const rows: Row[] = [
  {
    operation: 'post /v1/checks/dns',
    success: 201,
    query: { autoAssignAlerts: { type: 'boolean', default: true } },
    // Where the specification requires heartbeat and script, they are accepted and say nothing.
    required: ['name', 'request'],
    body: {
      ...ofChecks,
      frequency: { default: 10, enum: [0, ...frequencies] },
      request: { type: 'object' },
      heartbeat: {},
      script: {},
      degradedResponseTime: { default: 500, minimum: 0, maximum: 5000, type: 'null' },
      maxResponseTime: { default: 1000, minimum: 0, maximum: 5000, type: 'null' },
      setupSnippetId: { type: 'null' },
      tearDownSnippetId: { type: 'null' },
      localSetupScript: { type: ['string', 'null'] },
      localTearDownScript: { type: ['string', 'null'] },
    },
    answers: { ...response, request: {}, alertChannelSubscriptions: {} },
  },
  {
    operation: 'post /v1/checks/browser',
    success: 201,
    query: { autoAssignAlerts: { type: 'boolean', default: true } },
    required: ['name', 'script'],
    body: {
      ...ofChecks,
      sslCheckDomain: { type: ['string', 'null'] },
      script: { type: ['string', 'null'] },
      dependencies: { type: ['array', 'null'] },
    },
    answers: response,
  },
  {
    operation: 'get /v1/checks/{id}',
    success: 200,
    path: ['id'],
    query: {
      includeDependencies: { type: 'boolean' },
      applyGroupSettings: { type: 'boolean', default: false },
    },
  },
  { operation: 'get /v1/check-groups/{id}/checks', success: 200, path: ['id'], query: uuidLists },
  {
    operation: 'get /v1/check-groups/{groupId}/checks/{checkId}',
    success: 200,
    path: ['groupId', 'checkId'],
  },
  {
    operation: 'get /v1/triggers/checks/{checkId}',
    success: 200,
    path: ['checkId'],
    answers: {
      id: {},
      token: { type: 'string' },
      created_at: {},
      checkId: {},
      called_at: {},
      updated_at: {},
    },
  },
  { operation: 'delete /v1/triggers/checks/{checkId}', success: 204, path: ['checkId'] },
  ...['v1', 'v2'].map((version): Row => ({
    operation: `post /${version}/check-sessions/trigger`,
    success: 201,
    body: { target: { type: 'object' } },
    answers: { sessions: { type: 'array' } },
  })),
  { operation: 'get /v2/check-sessions/{checkSessionId}', success: 200, path: ['checkSessionId'] },
  { operation: 'get /v2/check-sessions/{checkSessionId}/completion', success: 200, path: ['checkSessionId'] },
  {
    operation: 'post /v1/check-sessions/{checkSessionId}/cancel',
    success: 204,
    path: ['checkSessionId'],
    body: { sequenceId: { type: 'array', minItems: 1 } },
  },
  {
    operation: 'post /v1/alert-channels',
    success: 201,
    required: ['type', 'config'],
    body: {
      type: { enum: ['EMAIL', 'CHAT_A', 'CHAT_A_APP', 'WEBHOOK', 'SMS', 'PAGING_A', 'PAGING_B', 'CALL'] },
      config: {},
      subscriptions: { type: 'array' },
      sendRecovery: { type: 'boolean' },
      sendFailure: { type: 'boolean' },
      sendDegraded: { type: 'boolean' },
      sslExpiry: { type: 'boolean', default: false },
      sslExpiryThreshold: { type: 'integer', default: 30, minimum: 1, maximum: 30 },
      autoSubscribe: { type: 'boolean', default: false },
    },
    answers: { id: {}, created_at: {}, updated_at: {} },
  },
  {
    operation: 'put /v1/alert-channels/{id}/subscriptions',
    success: 200,
    path: ['id'],
    required: ['activated'],
    body: {
      activated: { type: 'boolean' },
      checkId: { type: ['string', 'null'] },
      groupId: { type: 'null' },
    },
    answers: { id: {}, activated: {}, checkId: {}, groupId: {} },
  },
  {
    operation: 'get /v1/maintenance-windows',
    success: 200,
    query: { ...uuidLists, startsAt: { type: 'object' }, endsAt: { type: 'object' } },
    answers: Object.fromEntries(
      (
        'id name startsAt endsAt created_at updated_at tags repeatInterval repeatUnit repeatEndsAt description ' +
        'statusPageVisibility pauseAllChecks silenceAlertsTags silenceAllAlerts'
      )
        .split(' ')
        .map((field) => [field, {}]),
    ),
  },
  {
    operation: 'get /v1/status-pages/services',
    success: 200,
    query: cursorLists,
    answers: {
      length: { type: 'integer' },
      entries: { type: 'array' },
      nextId: { type: ['string', 'null'] },
    },
  },
  {
    operation: 'post /v1/status-pages/services',
    success: 200,
    required: ['name'],
    body: { name: { type: 'string' } },
    answers: { name: {}, id: {}, accountId: {}, created_at: {}, updated_at: {} },
  },
  {
    operation: 'get /v1/incidents/{id}',
    success: 200,
    query: { includeAllIncidentUpdates: { type: 'boolean' } },
    answers: {
      id: {},
      name: {},
      severity: { enum: ['MAINTENANCE', 'MAJOR', 'MINOR'] },
      dashboardId: {},
      created_at: {},
      updated_at: {},
      incidentUpdates: { type: 'array' },
      startedAt: {},
      stoppedAt: {},
    },
  },
  {
    operation: 'get /v1/checks/heartbeats/{checkId}/events/{id}',
    success: 200,
    path: ['checkId', 'id'],
    answers: { event: {}, stats: {} },
  },
  {
    operation: 'get /v1/error-groups/checks/{checkId}',
    success: 200,
    path: ['checkId'],
    query: uuidLists,
    answers: {
      id: {},
      checkId: {},
      errorHash: {},
      rawErrorMessage: { type: ['string', 'null'] },
      cleanedErrorMessage: {},
      firstSeen: {},
      lastSeen: {},
      archivedUntilNextEvent: { type: 'boolean' },
      rootCauseAnalyses: { type: 'array' },
    },
  },
  {
    operation: 'post /v1/root-cause-analyses/error-groups/{errorGroupId}',
    success: 202,
    path: ['errorGroupId'],
    body: { userContext: { type: ['string', 'null'], default: '', maxLength: 256 } },
    answers: { id: { type: 'string' }, status: {} },
  },
  {
    operation: 'get /v1/root-cause-analyses/{id}',
    success: 200,
    path: ['id'],
    answers: Object.fromEntries(
      'id checkType provider model durationMs status checkId errorGroupId analysis created_at'
        .split(' ')
        .map((field) => [field, {}]),
    ),
  },
  {
    operation: 'get /v1/runtimes/{id}',
    success: 200,
    answers: {
      name: {},
      multiStepSupport: { type: 'boolean' },
      nodeJsVersion: { type: 'string' },
      runtimeEndOfLife: { type: 'string' },
      stage: { enum: ['ALPHA', 'BETA', 'CURRENT', 'DEPRECATED', 'REMOVED', 'STABLE'] },
      description: {},
      dependencies: { type: 'object' },
    },
  },
  {
    operation: 'get /v1/analytics/multistep-checks/{id}',
    success: 200,
    path: ['id'],
    query: {
      from: {},
      to: {},
      quickRange: {
        default: 'last24Hours',
        enum: ['last24Hours', 'last7Days', 'last30Days', 'thisWeek', 'thisMonth', 'lastWeek', 'lastMonth'],
      },
      aggregationInterval: { minimum: 1, maximum: 43_200 },
      filterByStatus: { type: 'array' },
      groupBy: { enum: ['runLocation'] },
      metrics: { type: 'array', required: true },
      ...uuidLists,
    },
    answers: Object.fromEntries(
      'checkId name checkType activated muted frequency from to tags series pagination metadata'
        .split(' ')
        .map((field) => [field, {}]),
    ),
  },
];

describe.each(rows)(
  '$operation',
  ({ operation: name, success, path = [], query = {}, body = {}, required, answers = {} }) => {
    const [method = '', url = ''] = name.split(' ');
    const operation = document.paths[url]?.[method];
    const parameters = operation?.parameters ?? [];

    test('its path, its parameters and its status', () => {
      expect(Object.keys(operation?.responses ?? {})).toContain(String(success));
      expect(Object.keys(operation?.responses ?? {})).toEqual(
        expect.arrayContaining(['400', '401', '403', '429']),
      );
      const inPath = parameters
        .filter((parameter) => parameter.in === 'path')
        .map((parameter) => parameter.name);
      expect(inPath).toEqual(expect.arrayContaining(path));
      const header = parameters.find((parameter) => parameter.in === 'header');
      expect([header?.name, header?.required ?? false]).toEqual(['x-service-account', false]);
      expect(operation?.security ?? document.security).toEqual([{ apiKey: [] }]);
      for (const [parameter, rule] of Object.entries(query)) {
        const found = parameters.find((one) => one.in === 'query' && one.name === parameter);
        expect([parameter, found === undefined ? 'missing' : says(found.schema, rule)]).toEqual([
          parameter,
          true,
        ]);
        expect([parameter, found?.required ?? false]).toEqual([parameter, rule.required ?? false]);
      }
    });

    test('the fields of its body', () => {
      const schema = resolve(operation?.requestBody?.content['application/json'].schema);
      if (required !== undefined) expect(schema.required).toEqual(required);
      for (const [field, rule] of Object.entries(body)) {
        const found = schema.properties?.[field];
        expect([field, found === undefined ? 'missing' : says(found, rule)]).toEqual([field, true]);
      }
    });

    test('the fields of its answer', () => {
      const whole = resolve(operation?.responses[String(success)]?.content?.['application/json']?.schema);
      const schema = whole.type === 'array' ? resolve(whole.items) : whole;
      for (const [field, rule] of Object.entries(answers)) {
        const found = schema.properties?.[field];
        expect([field, found === undefined ? 'missing' : says(found, rule)]).toEqual([field, true]);
      }
    });
  },
);

test('every list has pages of 1 to 100, 10 unless told otherwise; services of status pages 20', () => {
  const lists = Object.entries(document.paths).flatMap(([path, methods]) =>
    (methods['get']?.parameters ?? [])
      .filter(({ name }) => name === 'limit')
      .map(({ schema }) => ({ path, schema })),
  );
  expect(lists.length).toBeGreaterThan(40);
  for (const { path, schema } of lists) {
    // A report is whole unless a page of it is asked for.
    const usual = path === '/v1/status-pages/services' ? 20 : path === '/v1/reporting' ? undefined : 10;
    const { minimum, maximum, default: own } = schema as { [keyword: string]: unknown };
    expect([path, minimum, maximum, own]).toEqual([path, 1, 100, usual]);
  }
});

test('every path begins with its version, and every error has the same form', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!/^\/v[12]\//.test(path)) continue;
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        const { schema } = response.content?.['application/json'] ?? {};
        expect([method, path, status, schema]).toEqual([
          method,
          path,
          status,
          { $ref: '#/components/schemas/Error' },
        ]);
      }
    }
  }
  const { properties, required } = document.components.schemas['Error'] ?? {};
  expect(required).toEqual(['message', 'attributes']);
  expect([properties?.['message']?.type, properties?.['attributes']?.type]).toEqual(['string', 'object']);
});

describe('parts of answers', () => {
  /** Names of the fields at a place below a schema: fields by name, `[]` = the items of a list. */
  function fieldsAt(name: string, ...place: string[]): string[] {
    let found = resolve({ $ref: `#/components/schemas/${name}` } as Schema);
    for (const step of place) {
      const one = step === '[]' ? found.items : found.properties?.[step];
      found = resolve(one);
      found = [found, ...(found.anyOf ?? []).map(resolve)].find((each) => each.type !== 'null') ?? found;
    }
    return Object.keys(found.properties ?? {});
  }
  test.each<[string, string[], string]>([
    ['DnsCheck', ['request'], 'query nameServer port assertions protocol'],
    ['DnsCheck', ['request', 'assertions', '[]'], 'source comparison target'],
    ['DnsCheck', [], 'heartbeat script sslCheckDomain'],
    ['BrowserCheck', ['dependencies', '[]'], 'path content'],
    ['BrowserCheck', ['alertSettings', 'runBasedEscalation'], 'failedRunThreshold'],
    ['BrowserCheck', ['alertSettings', 'reminders'], 'amount interval'],
    ['BrowserCheck', ['alertSettings', 'parallelRunFailureThreshold'], 'enabled percentage'],
    ['BrowserCheck', ['alertChannels'], 'email webhook chat_a sms'],
    ['BrowserCheck', ['alertChannels', 'email', '[]'], 'address'],
    ['BrowserCheck', ['alertChannels', 'webhook', '[]'], 'url name method headers queryParameters'],
    ['BrowserCheck', ['alertChannels', 'webhook', '[]', 'headers', '[]'], 'key value locked'],
    ['BrowserCheck', ['alertChannels', 'webhook', '[]', 'queryParameters', '[]'], 'key value locked'],
    ['BrowserCheck', ['alertChannels', 'chat_a', '[]'], 'url'],
    ['BrowserCheck', ['alertChannels', 'sms', '[]'], 'number name'],
    [
      'MaintenanceWindow',
      ['statusPageVisibility'],
      'enabled affectAllServices suppressAutoIncidents notifyOnStart notifyOnEnd autoStart autoEnd ' +
        'reminderMinutesBefore statusPageIds serviceIds',
    ],
    ['Incident', ['incidentUpdates', '[]'], 'id status description incidentId created_at updated_at'],
    ['HeartbeatEvent', [], 'id state timestamp source userAgent'],
    ['HeartbeatStats', [], 'last24Hours last7Days'],
    ['HeartbeatStats', ['last24Hours'], 'successRatio totalEntitiesCurrentPeriod'],
    ['HeartbeatStats', ['last7Days', 'successRatio'], 'previousPeriod currentPeriod'],
    [
      'RootCauseAnalysis',
      ['analysis'],
      'classification userImpact rootCause codeFix evidence referenceLinks',
    ],
    ['RootCauseAnalysis', ['analysis', 'evidence', '[]'], 'artifacts description'],
    ['RootCauseAnalysis', ['analysis', 'evidence', '[]', 'artifacts', '[]'], 'name type'],
    ['RootCauseAnalysis', ['analysis', 'referenceLinks', '[]'], 'url title'],
    ['Analytics', ['pagination'], 'page limit'],
  ])('%s %j', (schema, place, fields) => {
    expect(fieldsAt(schema, ...place)).toEqual(expect.arrayContaining(fields.split(' ')));
  });
});

describe('lists of values', () => {
  const body = (path: string) =>
    resolve(document.paths[path]?.['post']?.requestBody?.content['application/json'].schema);

  test('locations, runtimes, check types, metrics', () => {
    const browser = body('/v1/checks/browser').properties ?? {};
    expect(new Set(resolve(browser['locations']?.items).enum)).toEqual(new Set(dataCenters));
    const offered = [browser['runtimeId'], ...(browser['runtimeId']?.anyOf ?? [])].flatMap(
      (one) => one?.enum ?? [],
    );
    expect(offered).toEqual(expect.arrayContaining(runtimeIds));
    const filter = document.paths['/v1/checks']?.['get']?.parameters?.find(
      ({ name }) => name === 'checkType',
    );
    expect(new Set(filter?.schema.enum)).toEqual(new Set(checkTypes));
    const parameters = document.paths['/v1/analytics/multistep-checks/{id}']?.['get']?.parameters ?? [];
    const metrics = parameters.find(({ name }) => name === 'metrics');
    expect(metrics?.schema.items?.enum).toEqual(expect.arrayContaining(multistepMetrics));
    const statuses = parameters.find(({ name }) => name === 'filterByStatus');
    expect(statuses?.schema.items?.enum).toEqual(expect.arrayContaining(['success', 'failure']));
  });

  test('a browser check does not run every few seconds, a DNS check may', () => {
    expect(body('/v1/checks/browser').properties?.['frequency']?.enum).not.toContain(0);
    expect(body('/v1/checks/dns').properties?.['frequency']?.enum).toContain(0);
  });

  test('parts of a check', () => {
    const { alertSettings, retryStrategy, triggerIncident, alertChannelSubscriptions, environmentVariables } =
      body('/v1/checks/browser').properties ?? {};
    const fields = (schema: Schema | undefined) => {
      const found = resolve(schema);
      const whole = [found, ...(found.anyOf ?? [])].find(({ properties }) => properties !== undefined);
      return Object.keys(whole?.properties ?? {});
    };
    expect(fields(alertSettings)).toEqual(
      expect.arrayContaining([
        'escalationType',
        'runBasedEscalation',
        'reminders',
        'parallelRunFailureThreshold',
      ]),
    );
    expect(fields(retryStrategy)).toEqual(
      expect.arrayContaining([
        'baseBackoffSeconds',
        'sameRegion',
        'maxRetries',
        'maxDurationSeconds',
        'onlyOn',
      ]),
    );
    expect(fields(triggerIncident)).toEqual(
      expect.arrayContaining(['serviceId', 'name', 'description', 'notifySubscribers']),
    );
    expect(fields(alertChannelSubscriptions?.items)).toEqual(['alertChannelId', 'activated']);
    expect(fields(environmentVariables?.items)).toEqual(['key', 'value', 'locked', 'secret']);
  });
});
