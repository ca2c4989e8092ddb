import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JobAborted } from '../../src/errors.ts';
import { executeApi } from '../../src/executors/api.ts';
import { version } from '../../src/version.ts';
import {
  apiJob,
  listening,
  pair,
  settledAt,
  startTestNetwork,
  sumOfPhases,
  testContext,
  variable,
  type Running,
  type TestNetwork,
} from '../helpers/network/http.ts';

type Seen = {
  method: string;
  url: string;
  headers: NodeJS.Dict<string | string[]>;
  raw: string[];
  body: string;
};

let target: Running;
let names: TestNetwork;
let url: string;
const seen: Seen[] = [];

beforeAll(async () => {
  names = await startTestNetwork();
  target = await listening(
    createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', headers, rawHeaders } = request;
        seen.push({ method, url: path, headers, raw: rawHeaders, body: Buffer.concat(chunks).toString() });
        if (path === '/slow') return;
        response.writeHead(Number(/^\/status\/(\d+)/.exec(path)?.[1] ?? 200), {
          'content-type': 'application/json',
        });
        response.end('{"ok":true,"list":[1,2,3]}');
      });
    }),
  );
  url = `http://127.0.0.1:${target.port}`;
});
afterAll(async () => {
  await target.close();
  await names.close();
});
beforeEach(() => {
  seen.length = 0;
});

const equals = (source: 'STATUS_CODE' | 'JSON_BODY', property: string, expected: string) => ({
  source,
  property,
  comparison: 'EQUALS' as const,
  target: expected,
  regex: null,
});

describe('the six cases', () => {
  test('pass', async () => {
    const outcome = await executeApi(
      apiJob({
        url: `${url}/things?a=1`,
        method: 'POST',
        headers: [pair('X-Thing', 'one')],
        body: '{"b":2}',
        bodyType: 'JSON',
        assertions: [equals('STATUS_CODE', '', '200'), equals('JSON_BODY', '$.list.length', '3')],
      }),
      testContext(),
    );
    expect(outcome).toEqual({
      base: { ok: true },
      responseTime: outcome.timings?.total,
      timings: {
        connect: expect.any(Number),
        firstByte: expect.any(Number),
        download: expect.any(Number),
        remainder: expect.any(Number),
        total: expect.any(Number),
      },
      assertions: [
        { ...equals('STATUS_CODE', '', '200'), actual: 200, error: null },
        { ...equals('JSON_BODY', '$.list.length', '3'), actual: 3, error: null },
      ],
      details: {
        request: {
          method: 'POST',
          url: `${url}/things?a=1`,
          headers: {
            'X-Thing': 'one',
            'content-type': 'application/json',
            accept: '*/*',
            'accept-encoding': expect.any(String),
            'user-agent': `private-location-agent/${version}`,
          },
          body: '{"b":2}',
        },
        response: {
          status: 200,
          statusText: 'OK',
          headers: expect.objectContaining({ 'content-type': 'application/json' }),
          body: '{"ok":true,"list":[1,2,3]}',
          truncated: false,
          size: 26,
          httpVersion: '1.1',
          href: `${url}/things?a=1`,
        },
        hops: [{ url: `${url}/things?a=1`, status: 200, timings: expect.any(Object), address: '127.0.0.1' }],
        addresses: [{ address: '127.0.0.1', ms: expect.any(Number) }],
        requestError: null,
      },
    });
    expect(sumOfPhases(outcome.timings ?? {})).toBeCloseTo(outcome.responseTime, 9);
    expect(seen).toMatchObject([
      { method: 'POST', url: '/things?a=1', body: '{"b":2}', headers: { 'content-length': '7' } },
    ]);
  });

  test('an assertion fails', async () => {
    const outcome = await executeApi(
      apiJob({ url, assertions: [equals('JSON_BODY', '$.ok', 'false')] }),
      testContext(),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.assertions).toEqual([
      { ...equals('JSON_BODY', '$.ok', 'false'), actual: true, error: expect.any(String) },
    ]);
  });

  test('refused', async () => {
    const gone = await listening(createServer());
    await gone.close();
    const outcome = await executeApi(apiJob({ url: `http://127.0.0.1:${gone.port}/` }), testContext());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ECONNREFUSED', owner: 'target' } });
    expect(outcome.details).toMatchObject({
      request: { method: 'GET', body: '' },
      response: null,
      addresses: [{ address: '127.0.0.1', error: 'ECONNREFUSED' }],
      requestError: `127.0.0.1:${gone.port}: connect ECONNREFUSED 127.0.0.1:${gone.port}`,
    });
  });

  test('unknown host', async () => {
    const outcome = await executeApi(
      apiJob({ url: 'http://nowhere.test/' }),
      testContext({ network: names.network }),
    );
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ENOTFOUND' } });
    expect(outcome.assertions).toEqual([]);
  });

  test('deadline', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new JobAborted('deadline')), 100);
    const outcome = await executeApi(
      apiJob({ url: `${url}/slow` }),
      testContext({ signal: controller.signal }),
    );
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'TIMEOUT' } });
    expect(outcome.timings?.firstByte).toBeGreaterThan(0);
  });

  test('cancelled', async () => {
    const controller = new AbortController();
    const reason = new JobAborted('cancelled');
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    // Files that ran before in this process may have left some.
    const openBefore = sockets();
    setTimeout(() => controller.abort(reason), 50);
    const run = executeApi(apiJob({ url: `${url}/slow` }), testContext({ signal: controller.signal }));
    await expect(run).rejects.toBe(reason);
    expect(await settledAt(openBefore, sockets)).toBeLessThanOrEqual(openBefore);
  });
});

test('a status assertion does not lift the rule that 404 fails', async () => {
  const outcome = await executeApi(
    apiJob({ url: `${url}/status/404`, assertions: [equals('STATUS_CODE', '', '404')] }),
    testContext(),
  );
  expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'HTTP_STATUS' } });
  expect(outcome.assertions).toEqual([{ ...equals('STATUS_CODE', '', '404'), actual: 404, error: null }]);
});

test.each(['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'PATCH', 'OPTIONS'] as const)('%s', async (method) => {
  const outcome = await executeApi(apiJob({ url, method }), testContext());
  expect(outcome.base).toEqual({ ok: true });
  expect(seen).toMatchObject([{ method, body: '' }]);
  expect(outcome.details['response']).toMatchObject({
    body: method === 'HEAD' ? '' : '{"ok":true,"list":[1,2,3]}',
  });
});

describe('bodies', () => {
  test.each([
    ['JSON', '{"a":1}', '{"a":1}', 'application/json'],
    ['FORM', 'k=v&k2=v2', 'k=v&k2=v2', 'application/x-www-form-urlencoded'],
    ['RAW', '<a>ä</a>', '<a>ä</a>', undefined],
    ['GRAPHQL', 'query { me { id } }', '{"query":"query { me { id } }"}', 'application/json'],
    ['GRAPHQL', '{ me { id } }', '{"query":"{ me { id } }"}', 'application/json'],
    ['GRAPHQL', '{"query":"{ me }","variables":{}}', '{"query":"{ me }","variables":{}}', 'application/json'],
    ['NONE', 'not sent', '', undefined],
    ['JSON', '', '', undefined],
  ] as const)('%s: %s', async (bodyType, body, sent, type) => {
    await executeApi(apiJob({ url, method: 'POST', bodyType, body }), testContext());
    expect(seen).toMatchObject([{ body: sent }]);
    expect(seen[0]?.headers['content-type']).toBe(type);
    expect(seen[0]?.headers['content-length']).toBe(String(Buffer.byteLength(sent)));
  });

  test("the check's own Content-Type wins", async () => {
    const headers = [pair('content-TYPE', 'application/vnd.test+json')];
    await executeApi(apiJob({ url, method: 'POST', bodyType: 'JSON', body: '{}', headers }), testContext());
    expect(seen[0]?.headers['content-type']).toBe('application/vnd.test+json');
  });

  test.each(['GET', 'DELETE', 'OPTIONS'] as const)('%s may have one', async (method) => {
    await executeApi(apiJob({ url, method, bodyType: 'RAW', body: 'text' }), testContext());
    expect(seen).toMatchObject([{ method, body: 'text' }]);
  });
});

describe('headers', () => {
  test('names keep their letters, and a repeated one is sent again', async () => {
    const headers = [pair('X-Case', '1'), pair('x-twice', 'a'), pair('x-twice', 'b'), pair('X-Empty', '')];
    const outcome = await executeApi(apiJob({ url, headers }), testContext());
    expect(seen[0]?.raw.slice(0)).toEqual(expect.arrayContaining(['X-Case', 'X-Empty']));
    expect(seen[0]?.headers['x-twice']).toBe('a, b');
    expect(outcome.details['request']).toMatchObject({ headers: { 'X-Case': '1', 'x-twice': ['a', 'b'] } });
  });

  test('request settings override defaults', async () => {
    const headers = [pair('User-Agent', 'mine/1'), pair('Accept', 'text/plain'), pair('Host', 'shop.test')];
    await executeApi(apiJob({ url, headers }), testContext());
    expect(seen[0]?.headers).toMatchObject({
      'user-agent': 'mine/1',
      accept: 'text/plain',
      host: 'shop.test',
    });
  });

  test('those of the connection are the agent’s', async () => {
    const context = testContext();
    const headers = [
      pair('Connection', 'upgrade'),
      pair('Content-Length', '999'),
      pair('Transfer-Encoding', 'chunked'),
    ];
    const outcome = await executeApi(
      apiJob({ url, method: 'POST', headers, bodyType: 'RAW', body: 'abc' }),
      context,
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(seen[0]?.headers).toMatchObject({ connection: 'close', 'content-length': '3' });
    expect(context.lines).toEqual([
      "warn the header Connection is set by the agent; the check's value is not sent",
      "warn the header Content-Length is set by the agent; the check's value is not sent",
      "warn the header Transfer-Encoding is set by the agent; the check's value is not sent",
    ]);
  });

  test.each([
    [[pair('bad name', 'x')], 'headers[0].key is not a valid header name: bad name'],
    [
      [pair('X-Good', 'x'), pair('X-Bad', 'a\r\nInjected: 1')],
      'headers[1].value: the header X-Bad contains a line break or another character that is not allowed in headers',
    ],
    [
      [pair('X-Bad', '€')],
      'headers[0].value: the header X-Bad contains a line break or another character that is not allowed in headers',
    ],
    [[pair('Host', 'a'), pair('host', 'b')], 'headers[1].key: the header host may be set only once'],
  ])('headers that cannot be sent: %j', async (headers, message) => {
    const outcome = await executeApi(apiJob({ url, headers }), testContext());
    expect(outcome).toEqual({
      base: { ok: false, reason: { code: 'INVALID_REQUEST', owner: 'target', message } },
      responseTime: 0,
      timings: null,
      assertions: [],
      details: {
        request: { method: 'GET', url },
        response: null,
        hops: [],
        addresses: [],
        requestError: message,
      },
    });
    expect(seen).toEqual([]);
  });
});

test('basic auth', async () => {
  const basicAuth = { username: 'käthe', password: 'pa:ss' };
  await executeApi(apiJob({ url, basicAuth }), testContext());
  expect(seen[0]?.headers['authorization']).toBe(`Basic ${Buffer.from('käthe:pa:ss').toString('base64')}`);
  seen.length = 0;
  await executeApi(apiJob({ url, basicAuth, headers: [pair('authorization', 'Bearer x')] }), testContext());
  expect(seen[0]?.headers['authorization']).toBe('Bearer x');
});

test('query parameters are added, encoded once', async () => {
  const queryParameters = [pair('b', 'two words'), pair('ä&', '=+%'), pair('b', 'again'), pair('e', '')];
  await executeApi(apiJob({ url: `${url}/q?a=1#f`, queryParameters }), testContext());
  expect(seen[0]?.url).toBe('/q?a=1&b=two%20words&%C3%A4%26=%3D%2B%25&b=again&e=');
});

describe('templates', () => {
  const environmentVariables = [
    variable('HOST', '127.0.0.1'),
    variable('WORD', 'two words & more'),
    variable('JSON', '{"x":1}'),
    variable('USER', 'us er'),
    variable('with.dot', 'dotted'),
    variable('EMPTY', ''),
  ];
  const run = (request: Parameters<typeof apiJob>[0]) =>
    executeApi(apiJob(request, { environmentVariables }), testContext());

  test('in every field: encoded with two braces, raw with three', async () => {
    const outcome = await run({
      url: `http://{{HOST}}:${target.port}/{{WORD}}`,
      method: 'POST',
      headers: [pair('X-Two', '{{WORD}}'), pair('X-Three', '{{{WORD}}}')],
      queryParameters: [pair('q', '{{WORD}}'), pair('r', '{{{WORD}}}')],
      body: '{"two":"{{WORD}}","three":{{{JSON}}},"url":"{{{REQUEST_URL}}}","base":"{{GROUP_BASE_URL}}"}',
      bodyType: 'JSON',
      basicAuth: { username: '{{{USER}}}', password: '{{USER}}' },
    });
    expect(outcome.base).toEqual({ ok: true });
    const path = '/two%20words%20%26%20more?q=two%20words%20%26%20more&r=two%20words%20%26%20more';
    expect(seen).toMatchObject([
      {
        url: path,
        headers: {
          'x-two': 'two%20words%20%26%20more',
          'x-three': 'two words & more',
          authorization: `Basic ${Buffer.from('us er:us%20er').toString('base64')}`,
        },
      },
    ]);
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      two: 'two%20words%20%26%20more',
      three: { x: 1 },
      url: `${url}${path}`,
      base: '',
    });
  });

  test('built-in values', async () => {
    await run({
      url,
      method: 'POST',
      bodyType: 'RAW',
      body: '{{$UUID}} {{$UUID}} {{$RANDOM_NUMBER}} {{moment "2 days ago" "YYYY-MM-DD"}} {{date "last week" "X"}}',
    });
    const [first, second, number, day, week] = (seen[0]?.body ?? '').split(' ');
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    expect(second).not.toBe(first);
    expect(Number(number)).toBeGreaterThanOrEqual(0);
    expect(Number(number)).toBeLessThanOrEqual(10_000);
    expect([day, week]).toEqual(['2026-03-29', String(Date.parse('2026-03-24T12:34:56Z') / 1000)]);
  });

  test('conditions, comments, dots, brackets and escapes', async () => {
    await run({
      url,
      method: 'POST',
      bodyType: 'RAW',
      body: '{{#if WORD}}yes{{else}}no{{/if}} {{#unless EMPTY}}empty{{/unless}}{{! a comment }} {{with.dot}} {{[with.dot]}} \\{{WORD}}',
    });
    expect(seen[0]?.body).toBe('yes empty dotted dotted {{WORD}}');
  });

  test('parentheses around and between expressions are plain text', async () => {
    const body = `${'('.repeat(2000)}{{WORD}}${'('.repeat(2000)}{{WORD}}${')'.repeat(4000)}`;
    await run({ url, method: 'POST', bodyType: 'RAW', body });
    const word = 'two%20words%20%26%20more';
    expect(seen[0]?.body).toBe(`${'('.repeat(2000)}${word}${'('.repeat(2000)}${word}${')'.repeat(4000)}`);
  });

  test('an unset variable renders as an empty string, and is named in the log', async () => {
    const context = testContext();
    await executeApi(apiJob({ url: `${url}/[{{NOPE}}]` }), context);
    expect(seen[0]?.url).toBe('/[]');
    expect(context.lines).toEqual(['warn the variable NOPE is not set and renders as an empty text']);
  });

  test.each([
    'constructor',
    '__proto__',
    'toString',
    'constructor.name',
    '@root',
    'this',
    '../x',
    'process.env.PATH',
  ])('{{%s}} renders as an empty string', async (name) => {
    await run({ url, method: 'POST', bodyType: 'RAW', body: `[{{${name}}}{{{${name}}}}]` });
    expect(seen[0]?.body).toBe('[]');
  });

  test.each([
    ['url', { url: 'http://{{HOST' }, 'Parse error on line 1'],
    ['body', { body: '{{#if WORD}}', bodyType: 'RAW' as const }, 'Parse error on line 1'],
    [
      'headers[0].value',
      { headers: [pair('X', '{{> partial}}')] },
      'partials and decorators are not supported',
    ],
    [
      'queryParameters[0].value',
      { queryParameters: [pair('x', '{{#each WORD}}a{{/each}}')] },
      '{{#each}} is not supported; use {{#if X}} or {{#unless X}}',
    ],
    [
      'basicAuth.username',
      { basicAuth: { username: '{{lookup a b}}', password: '' } },
      'there is no helper lookup; use moment or date',
    ],
    [
      'body',
      { body: '{{moment "the day of doom"}}', bodyType: 'RAW' as const },
      '{{moment}} does not understand the time "the day of doom"',
    ],
    [
      'body',
      { body: '{{moment (date)}}', bodyType: 'RAW' as const },
      'expressions within expressions are not supported',
    ],
    [
      'body',
      { body: '{{date "now" f=1}}', bodyType: 'RAW' as const },
      'name=value arguments are not supported',
    ],
    [
      'body',
      { body: `{{moment ${'(date '.repeat(8000)}1${')'.repeat(8000)}}}`, bodyType: 'RAW' as const },
      'it has more than 1000 opening parentheses',
    ],
    ['body', { body: '{{X}}'.repeat(1001), bodyType: 'RAW' as const }, 'it has more than 1000 expressions'],
    [
      'body',
      { body: `${'{{#if WORD}}'.repeat(40)}x${'{{/if}}'.repeat(40)}`, bodyType: 'RAW' as const },
      'its blocks are nested more than 32 deep',
    ],
  ])('invalid in %s: %j', async (field, request, message) => {
    const outcome = await run({ url, ...request });
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'TEMPLATE_INVALID',
        owner: 'target',
        message: `the template in ${field} is not valid: ${message}`,
      },
    });
    expect(seen).toEqual([]);
  });

  test('a template that renders to more than 2 MiB is refused', async () => {
    const outcome = await executeApi(
      apiJob(
        { url, bodyType: 'RAW', body: '{{{BIG}}}'.repeat(30) },
        { environmentVariables: [variable('BIG', 'x'.repeat(100_000))] },
      ),
      testContext(),
    );
    expect(outcome.base).toMatchObject({ reason: { code: 'TEMPLATE_INVALID' } });
  });
});
