import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statusFields } from '../../helpers/service/error-body.ts';
import { openApiText } from '../../../src/service/openapi-document.ts';
import { anyDatabase } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';
import { minimalBody } from '../checks/check-bodies.ts';

/** What holds for every route: authentication, errors, the document, the page. One database is enough. */

let service: TestService;
let clock = Date.parse('2026-03-05T12:00:00.000Z');

beforeAll(async () => {
  service = await startTestService(await anyDatabase.open(), { now: () => clock });
});
afterAll(async () => {
  await service.close();
  await anyDatabase.close();
});

type Operation = {
  security?: unknown[];
  operationId: string;
  requestBody?: object;
  responses: Fields;
};
type Paths = { [path: string]: { [method: string]: Operation } };

const document = async () => (await service.call<{ paths: Paths } & Fields>('GET', '/openapi.json')).body;

/** Every operation of the public API, with ids that name nothing. */
async function operations(): Promise<{ method: string; path: string }[]> {
  const { paths } = await document();
  return Object.entries(paths)
    .filter(([path]) => /^\/v[12]\//.test(path))
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        // Badges are embedded in pages that cannot send a key.
        .filter(([, { security }]) => security === undefined)
        .map(([method]) => ({ method: method.toUpperCase(), path: path.replace(/\{[^}]+\}/g, 'x') })),
    );
}

describe('authentication', () => {
  const missing = {
    ...statusFields(401),
    message: 'The API key is missing: send it as "Authorization: Bearer <API key>".',
    attributes: { authorization: ['is missing'] },
  };

  test('every route checks the key first', async () => {
    const all = await operations();
    expect(all.length).toBeGreaterThan(20);
    for (const { method, path } of all) {
      const { status, body } = await service.call(method, path, { key: null });
      expect([method, path, status, body]).toEqual([method, path, 401, missing]);
    }
  });

  test('every route refuses the header of another account, and takes its own', async () => {
    for (const { method, path } of await operations()) {
      const { status, body } = await service.call(method, path, {
        headers: { 'x-service-account': service.foreign.id },
      });
      expect([method, path, status, body]).toEqual([
        method,
        path,
        403,
        {
          ...statusFields(403),
          message: 'The API key does not belong to the account in x-service-account.',
          attributes: {
            'x-service-account': ["is not the API key's account; omit it or set it to that account"],
          },
        },
      ]);
    }
    const own = { headers: { 'x-service-account': service.account.id } };
    expect((await service.call('GET', '/v1/checks', own)).status).toBe(200);
  });

  test.each([
    ['Bearer nobody-has-this-key', 'is not valid'],
    ['Bearer ', 'is not in the Bearer form'],
    ['Basic dXNlcjpwYXNz', 'is not in the Bearer form'],
    ['Bearer two words', 'is not in the Bearer form'],
    [`Bearer ${'x'.repeat(600)}`, 'is not in the Bearer form'],
    ['', 'is missing'],
  ])('refused: %s', async (authorization, reason) => {
    const { status, body } = await service.call('GET', '/v1/checks', {
      key: null,
      headers: { authorization },
    });
    expect([status, body['attributes']]).toEqual([401, { authorization: [reason] }]);
  });

  test('a key of a location is none of the API', async () => {
    const { body } = await service.call<{ rawKey: string }>('POST', '/v1/locations/eu-west-1/keys');
    expect((await service.call('GET', '/v1/checks', { key: body.rawKey })).status).toBe(401);
  });

  test('a key that is deleted stops working within five seconds', async () => {
    const { foreign } = service;
    expect((await service.call('GET', '/v1/accounts/me', { key: foreign.key })).status).toBe(200);
    await service.db.query('delete from api_keys where account_id = $1', [foreign.id]);
    clock += 5001;
    expect((await service.call('GET', '/v1/accounts/me', { key: foreign.key })).status).toBe(401);
  });

  test("the key's account is shown", async () => {
    const me = await service.call<Fields>('GET', '/v1/accounts/me');
    expect(me.body).toEqual({
      id: service.account.id,
      name: 'First',
      runtimeId: '2026.04',
      alertSettings: expect.objectContaining({ escalationType: 'RUN_BASED' }),
      created_at: me.body['created_at'],
      updated_at: null,
    });
    expect((await service.call('GET', '/v1/accounts')).body).toEqual([me.body]);
    expect((await service.call('GET', '/v1/accounts?page=2')).body).toEqual([]);
  });
});

describe('errors', () => {
  const post = '/v1/checks/url';

  test('a body that is no JSON', async () => {
    for (const body of ['{', '{"a":}', 'name=x', '{"__proto__":{"a":1}}']) {
      const answer = await service.call('POST', post, { body });
      expect([answer.status, answer.body]).toEqual([
        400,
        {
          ...statusFields(400),
          message: 'The body is not valid JSON.',
          attributes: { body: ['is not valid JSON'] },
        },
      ]);
    }
  });

  test.each([
    ['null', ['is required']],
    ['[]', ['must be an object']],
    ['"text"', ['must be an object']],
    ['5', ['must be an object']],
  ])('a body that is no object: %s', async (body, reasons) => {
    const answer = await service.call('POST', post, { body });
    expect([answer.status, answer.body['attributes']]).toEqual([400, { body: reasons }]);
  });

  test('no body at all', async () => {
    const without = await service.call('POST', post);
    expect([without.status, without.body]).toEqual([
      400,
      { ...statusFields(400), message: 'body is required.', attributes: { body: ['is required'] } },
    ]);
    const empty = await service.call('POST', post, { body: '' });
    expect([empty.status, empty.body]).toEqual([without.status, without.body]);
  });

  test('another content type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      const answer = await service.call('POST', post, { body: 'a=1', headers: { 'content-type': type } });
      expect([answer.status, answer.body]).toEqual([
        415,
        {
          ...statusFields(415),
          message: 'The body must be sent as application/json.',
          attributes: { 'content-type': ['must be application/json'] },
        },
      ]);
    }
  });

  test('a body that is too large', async () => {
    const body = minimalBody('URL', { description: 'x'.repeat(4 * 1024 * 1024) });
    const answer = await service.call('POST', post, { body });
    expect([answer.status, answer.body]).toEqual([
      413,
      {
        ...statusFields(413),
        message: 'The body is too large.',
        attributes: { body: ['is larger than this endpoint accepts'] },
      },
    ]);
  });

  test('a POST without fields may carry an empty body of JSON', async () => {
    const answer = await service.call('POST', '/v1/locations/eu-west-2/keys', { body: '' });
    expect(answer.status).toBe(201);
    const deleted = await service.call(
      'DELETE',
      `/v1/locations/eu-west-2/keys/${String(answer.body['id'])}`,
      {
        headers: { 'content-type': 'application/json' },
      },
    );
    expect(deleted.status).toBe(204);
  });

  test.each([
    ['GET', '/nothing'],
    ['GET', '/v1/checks/a/b/c'],
  ])('no such route: %s %s', async (method, path) => {
    const { status, body } = await service.call(method, path);
    expect([status, body]).toEqual([
      404,
      { ...statusFields(404), message: `There is no ${method} ${path}.`, attributes: {} },
    ]);
  });

  test('a path with a broken percent code', async () => {
    const { status, body } = await service.call('GET', '/v1/checks/%zz');
    expect([status, body]).toEqual([
      400,
      {
        ...statusFields(400),
        message: 'The path is not valid: a percent sign must be followed by two hex digits.',
        attributes: { path: ['is not a valid path of a URL'] },
      },
    ]);
  });

  test('an id of any length and kind is an answer, not a failure', async () => {
    for (const id of ['x'.repeat(201), 'x'.repeat(5000), '%00', '%F0%9F%9A%80', "'%20or%201=1"]) {
      const { status } = await service.call('GET', `/v1/checks/${id}`);
      expect([400, 404]).toContain(status);
    }
  });

  test.each([
    ['this is not HTTP\r\n\r\n', 400, 'The request is not valid HTTP.'],
    [`GET / HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431, 'The headers are too large.'],
  ])('malformed requests', async (sent, status, message) => {
    const answer = await rawAnswer(sent);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toEqual({
      ...statusFields(status),
      message,
      attributes: {},
    });
  });

  function rawAnswer(sent: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write(sent));
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
  }
});

describe('the document', () => {
  test('matches docs/openapi.json', async () => {
    const file = readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8');
    expect(await openApiText(), 'run `npm run build && npm run openapi`').toBe(file);
  });

  test('describes every operation with its errors, and each has its own name', async () => {
    const { openapi, paths } = await document();
    expect(openapi).toBe('3.1.0');
    const all = Object.values(paths).flatMap((methods) => Object.values(methods));
    const names = all.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const [path, methods] of Object.entries(paths)) {
      for (const [, { responses, requestBody }] of Object.entries(methods)) {
        const statuses = Object.keys(responses);
        if (/^\/v[12]\//.test(path)) expect(statuses).toEqual(expect.arrayContaining(['401', '403']));
        if (path.includes('{')) expect(statuses).toContain('404');
        if (requestBody !== undefined) {
          expect(statuses).toEqual(expect.arrayContaining(['400', '413', '415']));
        }
      }
    }
  });

  test('marks only fields that a client has to send as required', async () => {
    const { paths, components } = JSON.parse(JSON.stringify(await document())) as {
      components: { schemas: { [name: string]: { required?: string[] } } };
      paths: {
        [path: string]: {
          [method: string]: {
            parameters?: { in: string; name: string; required?: boolean }[];
            requestBody?: { content: { [type: string]: { schema: { $ref?: string } } } };
          };
        };
      };
    };
    const operationsOf = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
    );
    const queries = operationsOf.flatMap(({ name, operation }) =>
      (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'query' && parameter.required === true)
        .map((parameter) => `${name} ${parameter.name}`),
    );
    // What the specification says of analytics, a range that has no default, and what a preview is of.
    const needed =
      /^get \/v1\/(analytics\/([a-z]+-(checks|monitors)|ssl|traceroute)\/\{id\} metrics|private-locations\/\{id\}\/metrics (from|to)|status-pages\/previews\/page token)$/;
    expect(queries.filter((query) => !needed.test(query))).toEqual([]);
    const required = operationsOf.map(({ name, operation }) => [
      name,
      components.schemas[
        operation.requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? ''
      ]?.required,
    ]);
    const marked = Object.fromEntries(required.filter(([, fields]) => fields !== undefined)) as {
      [name: string]: string[];
    };
    // A try takes the body of a new check.
    for (const [name, fields] of Object.entries(marked).filter(([name]) => name.endsWith('/try'))) {
      expect([name, fields]).toEqual([name, marked[name.replace(/\/try$/, '')]]);
      delete marked[name];
    }
    expect(marked).toEqual({
      'post /v1/checks': ['checkType'],
      'post /v1/status-pages/previews': ['name', 'url'],
      'post /v1/projects/deploy': ['project', 'resources'],
      'post /v1/projects/test': ['project', 'resources'],
      'post /v1/checks/agentic': ['name', 'prompt'],
      'post /v1/checks/api': ['name', 'request'],
      'post /v1/checks/browser': ['name', 'script'],
      'post /v1/checks/heartbeat': ['name', 'heartbeat'],
      'post /v1/checks/icmp': ['name', 'request'],
      'post /v1/checks/ssl': ['name', 'request'],
      'post /v1/checks/grpc': ['name', 'request'],
      'post /v1/checks/traceroute': ['name', 'request'],
      'post /v1/checks/multistep': ['name', 'script'],
      'post /v1/checks/tcp': ['name', 'request'],
      'post /v1/checks/playwright': ['name', 'codeBundlePath'],
      'post /v1/checks/url': ['name', 'request'],
      'post /v1/checks/dns': ['name', 'request'],
      'post /v1/check-groups': ['name'],
      'post /v2/check-groups': ['name'],
      'post /v1/snippets': ['name', 'script'],
      'post /v1/api-keys': ['name'],
      'post /v1/sign-in': ['apiKey'],
      'post /v1/variables': ['key', 'value'],
      'post /v1/client-certificates': ['host', 'cert', 'key'],
      'post /v1/private-locations': ['name', 'slugName'],
      'post /v1/alert-channels': ['type', 'config'],
      'put /v1/alert-channels/{id}/subscriptions': ['activated'],
      'post /v1/analytics/checks': ['checkIds'],
      'post /v1/test-sessions/trigger': ['name'],
      'post /v1/maintenance-windows': ['name', 'startsAt', 'endsAt'],
      'post /v1/maintenance-windows/{id}/occurrences/{occurrenceId}/updates': ['description'],
      'put /v1/maintenance-windows/{id}/occurrences/{occurrenceId}/updates/{updateId}': ['description'],
      'post /v1/status-pages/services': ['name'],
      'post /v1/status-pages/incidents': ['name', 'severity', 'services', 'incidentUpdates'],
      'post /v1/status-pages/incidents/{id}/incident-updates': ['status', 'description'],
      'post /v1/status-pages': ['name', 'url'],
      'post /v1/status-pages/{id}/subscriptions': ['email'],
      'post /v1/incidents': ['name', 'dashboardId', 'incidentUpdates'],
      'post /v1/incidents/{id}/updates': ['status', 'description'],
    });
  });

  test('names no schema that it does not hold', async () => {
    const text = JSON.stringify(await document());
    const { components } = JSON.parse(text) as { components: { schemas: Fields } };
    const names = new Set(
      [...text.matchAll(/"\$ref":"(#\/components\/schemas\/[^"]+)"/g)].map((match) => match[1]),
    );
    for (const name of names) {
      expect(Object.keys(components.schemas).map((schema) => `#/components/schemas/${schema}`)).toContain(
        name,
      );
    }
  });
});

describe('health and page', () => {
  test('health', async () => {
    const { status, body } = await service.call('GET', '/health', { key: null });
    expect([status, body]).toEqual([200, { state: 'running', version: expect.any(String) }]);
  });

  test.each([
    ['/'],
    ['/sign-in'],
    ['/checks/new'],
    ['/checks/0197/runs/0198'],
    ['/settings'],
    ['/docs'],
    ['/docs/'],
  ])('%s is the page, with a strict policy, and only once', async (path) => {
    const { status, body, headers } = await service.call<string>('GET', path, { key: null });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body).toMatch(/^<!doctype html>/i);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
    expect(policy).toContain("base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|http:|https:|\*/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    // Nothing from elsewhere, nothing inline.
    expect(body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    expect(body).not.toMatch(/<script>|<style>| style="| on[a-z]+="/);
    const again = await service.call('GET', path, {
      key: null,
      headers: { 'if-none-match': headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
  });

  test('its files are compressed, kept for ever, and never a document of their own', async () => {
    const { body } = await service.call<string>('GET', '/', { key: null });
    const files = [...body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
    const names = new Set(files.map((path) => path.replace(/-\w+\./, '.')));
    expect([...names].sort()).toEqual([
      // Parts that the home page needs, asked for with it.
      '/assets/chunk.js',
      '/assets/icon.svg',
      '/assets/main.js',
      '/assets/style.css',
    ]);
    for (const path of files) {
      for (const encoding of ['br', 'gzip', 'identity']) {
        const { status, headers } = await service.call<string>('GET', path, {
          key: null,
          headers: { 'accept-encoding': encoding },
        });
        expect([path, status, headers.get('cache-control')]).toEqual([
          path,
          200,
          'public, max-age=31536000, immutable',
        ]);
        expect(headers.get('content-encoding') ?? 'identity').toBe(encoding);
        expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      }
    }
    expect((await service.call('GET', '/assets/names.json', { key: null })).status).toBe(404);
    expect((await service.call('GET', '/assets/..%2fnames.json', { key: null })).status).toBe(404);
  });
});
