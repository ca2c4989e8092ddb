import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { executeApi } from '../../../src/executors/api.ts';
import { executeUrl } from '../../../src/executors/url.ts';
import { selfSigned } from '../../../src/targets/certificates.ts';
import {
  apiJob,
  listening,
  pair,
  rawServer,
  startTestNetwork,
  sumOfPhases,
  testContext,
  urlJob,
} from '../../helpers/network/http.ts';
import type { Running, TestNetwork } from '../../helpers/network/http.ts';

type Seen = {
  method: string;
  url: string;
  host: string;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
};

let target: Running;
let secure: Running;
let names: TestNetwork;
let url: string;
const seen: Seen[] = [];

beforeAll(async () => {
  names = await startTestNetwork({ 'a.example.test': ['127.0.0.1'], 'b.example.test': ['127.0.0.1'] });
  target = await listening(
    createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
        seen.push({
          method: request.method ?? '',
          url: request.url ?? '',
          host: request.headers.host ?? '',
          headers: request.headers,
          body,
        });
        const count = /^\/count\/(\d+)$/.exec(pathname)?.[1];
        if (count !== undefined && count !== '0') {
          response.writeHead(302, { location: `/count/${Number(count) - 1}` }).end();
          return;
        }
        const location = searchParams.getAll('to');
        if (location.length === 0) {
          response.end('the end');
          return;
        }
        const cookies = searchParams.getAll('cookie');
        response.statusCode = Number(searchParams.get('status') ?? 302);
        response.setHeader('location', location);
        if (cookies.length > 0) response.setHeader('set-cookie', cookies);
        response.end('moved');
      });
    }),
  );
  const { cert, key } = await selfSigned({
    commonName: 'localhost',
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 86_400_000),
  });
  secure = await listening(createHttpsServer({ cert, key }, (_request, response) => response.end('secure')));
  url = `http://127.0.0.1:${target.port}`;
});
afterAll(async () => {
  await target.close();
  await secure.close();
  await names.close();
});
beforeEach(() => {
  seen.length = 0;
});

const to = (location: string, status = 302, cookies: string[] = []) =>
  `${url}/go?${[['to', location], ['status', String(status)], ...cookies.map((cookie) => ['cookie', cookie])]
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`)
    .join('&')}`;

type HopDetails = {
  url: string;
  status: number | null;
  timings: { total: number };
  address: string | null;
}[];

test('every hop is recorded, and the timings span them all', async () => {
  const outcome = await executeUrl(urlJob({ url: `${url}/count/2` }), testContext());
  expect(outcome.base).toEqual({ ok: true });
  const hops = outcome.details['hops'] as HopDetails;
  expect(hops.map(({ url: hopUrl, status, address }) => [hopUrl, status, address])).toEqual([
    [`${url}/count/2`, 302, '127.0.0.1'],
    [`${url}/count/1`, 302, '127.0.0.1'],
    [`${url}/count/0`, 200, '127.0.0.1'],
  ]);
  expect(outcome.details['response']).toMatchObject({ status: 200, href: `${url}/count/0` });
  expect(outcome.details['addresses']).toHaveLength(3);
  expect(sumOfPhases(outcome.timings ?? {})).toBeCloseTo(outcome.responseTime, 9);
  expect(outcome.responseTime).toBeGreaterThanOrEqual(
    hops.reduce((sum, { timings }) => sum + timings.total, 0) - 0.001,
  );
});

test('not followed: the redirect is the response, and passes', async () => {
  const outcome = await executeUrl(urlJob({ url: to('/end'), followRedirects: false }), testContext());
  expect(outcome.base).toEqual({ ok: true });
  expect(outcome.details['response']).toMatchObject({ status: 302, size: 5 });
  expect(seen).toHaveLength(1);
});

test.each([
  [10, true],
  [11, false],
])('%i redirects', async (count, passes) => {
  const outcome = await executeUrl(urlJob({ url: `${url}/count/${count}` }), testContext());
  expect(seen).toHaveLength(11);
  expect(outcome.base).toEqual(
    passes
      ? { ok: true }
      : {
          ok: false,
          reason: {
            code: 'TOO_MANY_REDIRECTS',
            owner: 'target',
            message: `more than 10 redirects, the last at ${url}/count/1`,
          },
        },
  );
});

describe('methods', () => {
  test.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [303, 'HEAD', 'HEAD', ''],
    [301, 'PUT', 'PUT', 'payload'],
    [302, 'PATCH', 'PATCH', 'payload'],
    [307, 'POST', 'POST', 'payload'],
    [308, 'POST', 'POST', 'payload'],
    [308, 'DELETE', 'DELETE', 'payload'],
  ] as const)('%i of %s goes on as %s', async (status, method, next, body) => {
    const outcome = await executeApi(
      apiJob({ url: to('/end', status), method, body: method === 'HEAD' ? '' : 'payload', bodyType: 'JSON' }),
      testContext(),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(seen[1]).toMatchObject({ method: next, url: '/end', body });
    expect(seen[1]?.headers['content-type']).toBe(body === '' ? undefined : 'application/json');
  });

  test.each([300, 304, 305, 306])('%i is not followed', async (status) => {
    const outcome = await executeUrl(urlJob({ url: to('/end', status) }), testContext());
    expect(outcome.base).toEqual({ ok: true });
    expect(seen).toHaveLength(1);
  });
});

describe('Location', () => {
  test.each([
    ['absolute', () => `${url}/end`, '/end'],
    ['of the root', () => '/end?x=1', '/end?x=1'],
    ['relative', () => 'end', '/end'],
    ['query only', () => '?x=2', '/go?x=2'],
    ['without a scheme', () => `//127.0.0.1:${target.port}/end`, '/end'],
    ['with spaces', () => '/a b', '/a%20b'],
  ])('%s', async (_name, location, expected) => {
    const outcome = await executeUrl(urlJob({ url: to(location()) }), testContext());
    expect(outcome.base).toEqual({ ok: true });
    expect(seen[1]?.url).toBe(expected);
  });

  test.each([
    ['http://', "the redirect's Location is not a URL: http://"],
    ['http://[::bad/', "the redirect's Location is not a URL: http://[::bad/"],
    ['ftp://127.0.0.1/x', 'the redirect leads to the scheme ftp: ftp://127.0.0.1/x'],
    ['javascript:alert(1)', 'the redirect leads to the scheme javascript: javascript:alert(1)'],
    ['file:///etc/passwd', 'the redirect leads to the scheme file: file:///etc/passwd'],
  ])('broken: %s', async (location, message) => {
    const outcome = await executeUrl(urlJob({ url: to(location) }), testContext());
    expect(outcome.base).toEqual({
      ok: false,
      reason: { code: 'INVALID_REDIRECT', owner: 'target', message },
    });
    expect(outcome.details['hops']).toHaveLength(1);
  });

  test('with characters beyond ASCII, as UTF-8', async () => {
    const paths: string[] = [];
    const server = await rawServer((socket, head) => {
      paths.push(head.split(' ')[1] ?? '');
      const next = paths.length === 1 ? 'HTTP/1.1 302 Found\r\nlocation: /ünd' : 'HTTP/1.1 204 No Content';
      socket.end(`${next}\r\n\r\n`);
    });
    try {
      await executeUrl(urlJob({ url: `http://127.0.0.1:${server.port}/` }), testContext());
      expect(paths).toEqual(['/', '/%C3%BCnd']);
    } finally {
      await server.close();
    }
  });

  test('twice, and different', async () => {
    const outcome = await executeUrl(urlJob({ url: `${to('/end')}&to=%2Fother` }), testContext());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'INVALID_REDIRECT' } });
  });

  test('to a target that refuses: its hop is recorded too', async () => {
    const gone = await listening(createServer());
    await gone.close();
    const outcome = await executeUrl(urlJob({ url: to(`http://127.0.0.1:${gone.port}/`) }), testContext());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ECONNREFUSED' } });
    expect((outcome.details['hops'] as HopDetails).map(({ status }) => status)).toEqual([302, null]);
    expect(outcome.details['response']).toBeNull();
  });
});

test('to https: its certificate decides, and is described', async () => {
  const job = { url: to(`https://localhost:${secure.port}/`) };
  const refused = await executeUrl(urlJob(job), testContext());
  expect(refused.base).toMatchObject({ ok: false, reason: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
  const accepted = await executeUrl(urlJob({ ...job, skipSSL: true }), testContext());
  expect(accepted.base).toEqual({ ok: true });
  expect(accepted.details['certificate']).toMatchObject({ subject: 'CN=localhost', authorized: false });
  expect(accepted.timings).toHaveProperty('tls');
});

describe('credentials', () => {
  const headers = [
    pair('Authorization', 'Bearer abc'),
    pair('Cookie', 'own=1'),
    pair('Host', 'shop.test'),
    pair('X-API-Key', 'k'),
    pair('X-Other', 'o'),
  ];

  test('stay within the origin', async () => {
    await executeApi(apiJob({ url: to('/end'), headers }), testContext());
    expect(seen[1]).toMatchObject({ host: 'shop.test' });
    expect(seen[1]?.headers).toMatchObject({ authorization: 'Bearer abc', cookie: 'own=1', 'x-other': 'o' });
  });

  test("of the check's URL stay within the origin, also where Location names it in full", async () => {
    const withUser = (location: string) => to(location).replace('://', '://ann:pass@');
    await executeUrl(urlJob({ url: withUser(`http://127.0.0.1:${target.port}/end`) }), testContext());
    await executeUrl(urlJob({ url: withUser(`http://localhost:${target.port}/end`) }), testContext());
    const basic = `Basic ${Buffer.from('ann:pass').toString('base64')}`;
    expect(seen.map(({ headers: sent }) => sent['authorization'])).toEqual([basic, basic, basic, undefined]);
  });

  test('do not follow to another origin', async () => {
    await executeApi(apiJob({ url: to(`http://localhost:${target.port}/end`), headers }), testContext());
    expect(seen[1]).toMatchObject({ url: '/end', host: `localhost:${target.port}` });
    expect(Object.keys(seen[1]?.headers ?? {})).not.toEqual(expect.arrayContaining(['authorization']));
    expect(seen[1]?.headers['cookie']).toBeUndefined();
    expect(seen[1]?.headers['x-api-key']).toBeUndefined();
    expect(seen[1]?.headers['x-other']).toBe('o');
  });
});

describe('cookies of a run', () => {
  const cookieAfter = async (location: string, cookies: string[]) => {
    await executeUrl(urlJob({ url: to(location, 302, cookies) }), testContext({ network: names.network }));
    return seen[1]?.headers['cookie'];
  };

  test('are kept across redirects', async () => {
    expect(await cookieAfter('/end', ['session=1; HttpOnly', 'theme=dark; Path=/'])).toBe(
      'session=1; theme=dark',
    );
  });

  test.each([
    ['another path', '/end', ['a=1; Path=/other']],
    ['secure', '/end', ['a=1; Secure']],
    ['expired', '/end', ['a=1; Max-Age=0']],
    ['expired by date', '/end', ['a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT']],
    ['a foreign domain', '/end', ['a=1; Domain=example.test']],
    ['without a name', '/end', ['=1']],
  ])('are not sent: %s', async (_name, location, cookies) => {
    expect(await cookieAfter(location, cookies)).toBeUndefined();
  });

  test('are sent to other hosts of their domain, and to no others', async () => {
    const run = async (cookie: string) => {
      seen.length = 0;
      const first = to(`http://b.example.test:${target.port}/end`, 302, [cookie]).replace(
        '127.0.0.1',
        'a.example.test',
      );
      await executeUrl(urlJob({ url: first }), testContext({ network: names.network }));
      return seen[1]?.headers['cookie'];
    };
    expect(await run('a=1; Domain=example.test')).toBe('a=1');
    expect(await run('a=1')).toBeUndefined();
  });

  test("are joined to the check's own, and do not outlive the run", async () => {
    const job = apiJob({ url: to('/end', 302, ['b=2']), headers: [pair('Cookie', 'a=1')] });
    await executeApi(job, testContext());
    expect(seen.map(({ headers }) => headers['cookie'])).toEqual(['a=1', 'a=1; b=2']);
    seen.length = 0;
    await executeApi(job, testContext());
    expect(seen[0]?.headers['cookie']).toBe('a=1');
  });
});
