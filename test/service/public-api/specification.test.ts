import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Schema } from '../../helpers/fuzz-input.ts';
import {
  checkTypes,
  dataCenters,
  frequencies,
  multistepMetrics,
  rows,
  runtimeIds,
  type Rule,
} from './specification-rows.ts';

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

const resolve = (schema: Schema | undefined): Schema => {
  if (schema?.$ref === undefined) return schema ?? {};
  // Next to the reference is what belongs to its place, such as a default.
  const { $ref, ...place } = schema;
  return { ...document.components.schemas[$ref.split('/').at(-1) ?? ''], ...place };
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

describe.each(rows)(
  '$operation',
  ({ operation: name, success, path = [], query = {}, body = {}, required, answers = {}, always = '' }) => {
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
      expect(operation?.security ?? document.security).toEqual([{ apiKey: [] }, { session: [] }]);
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
      expect(schema.required ?? []).toEqual(expect.arrayContaining(always === '' ? [] : always.split(' ')));
      for (const [field, rule] of Object.entries(answers)) {
        const found = schema.properties?.[field];
        expect([field, found === undefined ? 'missing' : says(found, rule)]).toEqual([field, true]);
      }
    });
  },
);

const own: { readonly [path: string]: number | undefined } = {
  '/v1/status-pages/services': 20,
  // A report is whole unless a page of it is asked for.
  '/v1/reporting': undefined,
  // The runs that a chart has as its columns.
  '/v1/checks/{id}/suite-tests': 30,
};

test('every list has pages of 1 to 100, 10 by default; services of status pages 20', () => {
  const lists = Object.entries(document.paths).flatMap(([path, methods]) =>
    (methods['get']?.parameters ?? [])
      .filter(({ name }) => name === 'limit')
      .map(({ schema }) => ({ path, schema })),
  );
  expect(lists.length).toBeGreaterThan(40);
  for (const { path, schema } of lists) {
    const usual = path in own ? own[path] : 10;
    const { minimum, maximum, default: found } = schema as { [keyword: string]: unknown };
    expect([path, minimum, maximum, found]).toEqual([path, 1, 100, usual]);
  }
});

test('every path begins with its version, and every error has the same form', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!/^\/v[12]\//.test(path)) continue;
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) < 400) continue;
        // This answer also names the other deployment.
        if (status === '409' && path.startsWith('/v1/projects/')) continue;
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
  expect(required).toEqual(['statusCode', 'error', 'message', 'attributes']);
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
      (one) => resolve(one).enum ?? [],
    );
    expect(offered).toEqual(expect.arrayContaining(runtimeIds));
    const filter = document.paths['/v1/checks']?.['get']?.parameters?.find(
      ({ name }) => name === 'checkType',
    );
    expect(new Set(filter?.schema.enum)).toEqual(new Set([...checkTypes, 'SSL', 'GRPC', 'TRACEROUTE']));
    const parameters = document.paths['/v1/analytics/multistep-checks/{id}']?.['get']?.parameters ?? [];
    const metrics = parameters.find(({ name }) => name === 'metrics');
    expect(metrics?.schema.items?.enum).toEqual(expect.arrayContaining(multistepMetrics));
    const statuses = parameters.find(({ name }) => name === 'filterByStatus');
    expect(statuses?.schema.items?.enum).toEqual(expect.arrayContaining(['success', 'failure']));
  });

  test('a browser check does not run every few seconds, a DNS check may', () => {
    expect(body('/v1/checks/browser').properties?.['frequency']?.enum).toEqual(frequencies);
    expect(body('/v1/checks/dns').properties?.['frequency']?.enum).toEqual([0, ...frequencies]);
  });

  test('parts of a check', () => {
    const { alertSettings, retryStrategy, triggerIncident, alertChannelSubscriptions, environmentVariables } =
      body('/v1/checks/browser').properties ?? {};
    const fields = (schema: Schema | undefined) => {
      const found = resolve(schema);
      const whole = [found, ...(found.anyOf ?? []).map(resolve)].find(
        ({ properties }) => properties !== undefined,
      );
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
