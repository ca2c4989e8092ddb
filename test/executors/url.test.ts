import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JobAborted } from '../../src/errors.ts';
import type { Network } from '../../src/executors/interface/network.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { executeUrl } from '../../src/executors/url.ts';
import { version } from '../../src/version.ts';
import { startDnsServer } from '../helpers/network/dns-server.ts';
import {
  listening,
  settledAt,
  sumOfPhases,
  testContext,
  startTestNetwork,
  urlJob,
  type Running,
  type TestNetwork,
} from '../helpers/network/http.ts';
import { fullListener } from '../helpers/network/full-listener.ts';
import { hasIpv6Loopback } from '../helpers/machine.ts';

const sockets = () => process.getActiveResourcesInfo().filter((name) => /TCPSocket|TLS/.test(name)).length;
/** Other test files run in this process, and may have left some. */
let openBefore = 0;
let target: Running;
let names: TestNetwork;
let url: string;
const seen: { url: string; headers: NodeJS.Dict<string | string[]> }[] = [];

const routes: { readonly [path: string]: RequestListener } = {
  '/ok': (_request, response) => response.end('hello'),
  '/slow': () => undefined,
  '/headers-then-slow': (_request, response) => void response.writeHead(200).write('part'),
  '/to-ok': (_request, response) => response.writeHead(302, { location: '/ok' }).end('moved'),
  '/not-followed': (_request, response) => response.writeHead(304).end(),
};

beforeAll(async () => {
  openBefore = sockets();
  names = await startTestNetwork({
    'site.test': ['127.0.0.1'],
    // Nothing listens on the first of these.
    'two.test': ['127.0.0.2', '127.0.0.1'],
    // On the first of these, no connection is accepted.
    'hole.test': ['127.0.0.3', '127.0.0.1'],
  });
  target = await listening(
    createHttpServer((request, response) => {
      const path = request.url ?? '';
      seen.push({ url: path, headers: request.headers });
      const status = /^\/status\/(\d+)$/.exec(path)?.[1];
      if (status !== undefined) response.writeHead(Number(status)).end('body');
      else routes[path]?.(request, response);
    }),
  );
  url = `http://127.0.0.1:${target.port}`;
});
afterAll(async () => {
  await target.close();
  await names.close();
});

describe('the six cases', () => {
  test('pass', async () => {
    seen.length = 0;
    const outcome = await executeUrl(
      urlJob({
        url: `${url}/ok`,
        assertions: [
          { source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200', regex: null },
        ],
      }),
      testContext(),
    );
    const { timings, details } = outcome;
    expect(outcome).toEqual({
      base: { ok: true },
      responseTime: timings?.total,
      timings: {
        connect: expect.any(Number),
        firstByte: expect.any(Number),
        download: expect.any(Number),
        remainder: expect.any(Number),
        total: expect.any(Number),
      },
      assertions: [
        {
          source: 'STATUS_CODE',
          property: '',
          comparison: 'EQUALS',
          target: '200',
          regex: null,
          actual: 200,
          error: null,
        },
      ],
      details: {
        request: { method: 'GET', url: `${url}/ok` },
        response: {
          status: 200,
          statusText: 'OK',
          headers: expect.objectContaining({ 'content-length': '5' }),
          truncated: false,
          size: 5,
          httpVersion: '1.1',
          href: `${url}/ok`,
        },
        hops: [{ url: `${url}/ok`, status: 200, timings: expect.any(Object), address: '127.0.0.1' }],
        addresses: [{ address: '127.0.0.1', ms: expect.any(Number) }],
        requestError: null,
      },
    });
    expect(sumOfPhases(timings ?? {})).toBeCloseTo(timings?.total ?? -1, 9);
    const [hop] = details['hops'] as { timings: object }[];
    expect(Object.keys(hop?.timings ?? {})).toEqual(Object.keys(timings ?? {}));
    expect(seen).toEqual([
      {
        url: '/ok',
        headers: {
          host: `127.0.0.1:${target.port}`,
          connection: 'close',
          accept: '*/*',
          'accept-encoding': expect.stringMatching(/^gzip, br, deflate(, zstd)?$/),
          'user-agent': `private-location-agent/${version}`,
        },
      },
    ]);
  });

  test('an assertion fails', async () => {
    const outcome = await executeUrl(
      urlJob({
        url: `${url}/ok`,
        assertions: [
          { source: 'STATUS_CODE', property: '', comparison: 'GREATER_THAN', target: '299', regex: null },
        ],
      }),
      testContext(),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.assertions).toEqual([expect.objectContaining({ actual: 200, error: expect.any(String) })]);
  });

  test('refused', async () => {
    const gone = await listening(createServer());
    await gone.close();
    const outcome = await executeUrl(urlJob({ url: `http://127.0.0.1:${gone.port}/` }), testContext());
    expect(outcome).toEqual({
      base: {
        ok: false,
        reason: {
          code: 'ECONNREFUSED',
          owner: 'target',
          message: `127.0.0.1:${gone.port}: connect ECONNREFUSED 127.0.0.1:${gone.port}`,
        },
      },
      responseTime: outcome.timings?.total,
      timings: { connect: expect.any(Number), remainder: expect.any(Number), total: expect.any(Number) },
      assertions: [],
      details: {
        request: { method: 'GET', url: `http://127.0.0.1:${gone.port}/` },
        response: null,
        hops: [
          {
            url: `http://127.0.0.1:${gone.port}/`,
            status: null,
            timings: expect.any(Object),
            address: '127.0.0.1',
          },
        ],
        addresses: [{ address: '127.0.0.1', ms: expect.any(Number), error: 'ECONNREFUSED' }],
        requestError: `127.0.0.1:${gone.port}: connect ECONNREFUSED 127.0.0.1:${gone.port}`,
      },
    });
  });

  test('unknown host', async () => {
    const outcome = await executeUrl(
      urlJob({ url: 'http://nowhere.test/' }),
      testContext({ network: names.network }),
    );
    expect(outcome.base).toEqual({
      ok: false,
      reason: { code: 'ENOTFOUND', owner: 'target', message: 'nowhere.test has no IPv4 address' },
    });
    expect(outcome.timings).toEqual({
      dns: expect.any(Number),
      remainder: expect.any(Number),
      total: expect.any(Number),
    });
    expect(outcome.details['addresses']).toEqual([]);
  });

  test.each([
    ['/slow', 'firstByte', null],
    ['/headers-then-slow', 'download', 200],
  ])('deadline: %s', async (path, phase, status) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new JobAborted('deadline')), 150);
    const outcome = await executeUrl(urlJob({ url: url + path }), testContext({ signal: controller.signal }));
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'TIMEOUT',
        owner: 'target',
        message: `the deadline passed in the phase ${phase} (127.0.0.1:${target.port})`,
      },
    });
    expect(outcome.assertions).toEqual([]);
    expect(outcome.details['hops']).toEqual([expect.objectContaining({ status })]);
    expect(outcome.timings?.[phase as 'firstByte']).toBeGreaterThan(0);
    expect(sumOfPhases(outcome.timings ?? {})).toBeCloseTo(outcome.responseTime, 9);
  });

  test.each(['cancelled', 'shutdown', 'lease-lost'] as const)('%s', async (code) => {
    const controller = new AbortController();
    const reason = new JobAborted(code);
    setTimeout(() => controller.abort(reason), 50);
    const run = executeUrl(urlJob({ url: `${url}/slow` }), testContext({ signal: controller.signal }));
    await expect(run).rejects.toBe(reason);
  });

  test('cancelled and past the deadline before it begins', async () => {
    await expect(
      executeUrl(
        urlJob({ url: `${url}/ok` }),
        testContext({ signal: AbortSignal.abort(new JobAborted('cancelled')) }),
      ),
    ).rejects.toMatchObject({ code: 'cancelled' });
    const late = await executeUrl(
      urlJob({ url: `${url}/ok` }),
      testContext({ signal: AbortSignal.abort(new JobAborted('deadline')) }),
    );
    expect(late.base).toMatchObject({ ok: false, reason: { code: 'TIMEOUT' } });
  });
});

describe('verdict', () => {
  test.each([200, 201, 299, 304])('%i passes', async (status) => {
    const outcome = await executeUrl(urlJob({ url: `${url}/status/${status}` }), testContext());
    expect(outcome.base).toEqual({ ok: true });
  });

  test.each([
    [400, 'Bad Request'],
    [404, 'Not Found'],
    [500, 'Internal Server Error'],
    [599, 'unknown'],
  ])('%i fails, regardless of assertions', async (status, text) => {
    const outcome = await executeUrl(
      urlJob({
        url: `${url}/status/${status}`,
        assertions: [
          { source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: String(status), regex: null },
        ],
      }),
      testContext(),
    );
    expect(outcome.base).toEqual({
      ok: false,
      reason: {
        code: 'HTTP_STATUS',
        owner: 'target',
        message: `the response has the status ${status} ${text}`,
      },
    });
    expect(outcome.assertions).toEqual([expect.objectContaining({ actual: status, error: null })]);
  });
});

describe('the URL', () => {
  test.each([
    ['upper case', (port: number) => `HTTP://127.0.0.1:${port}/ok`],
    ['mixed case', (port: number) => `hTtP://127.0.0.1:${port}/ok`],
    ['no scheme', (port: number) => `127.0.0.1:${port}/ok`],
    ['a name, no scheme', (port: number) => `localhost:${port}/ok`],
    ['spaces around', (port: number) => `  http://127.0.0.1:${port}/ok `],
    ['a fragment', (port: number) => `http://127.0.0.1:${port}/ok#part`],
  ])('scheme: %s', async (_name, of) => {
    const outcome = await executeUrl(urlJob({ url: of(target.port) }), testContext());
    expect(outcome.base).toEqual({ ok: true });
  });

  test.each([
    ['ftp://127.0.0.1/', 'the scheme ftp is not supported; use http or https'],
    ['http://', 'not a URL: http://; give http://host/path or https://host/path'],
    ['http://a b/', 'not a URL: http://a b/; give http://host/path or https://host/path'],
    [
      'http://127.0.0.1:99999/',
      'not a URL: http://127.0.0.1:99999/; give http://host/path or https://host/path',
    ],
    ['mailto:a@example.com', null],
  ])('not a URL: %s', async (text, message) => {
    const outcome = await executeUrl(urlJob({ url: text }), testContext());
    if (message === null) {
      expect(outcome.base).toMatchObject({ ok: false });
      return;
    }
    expect(outcome).toEqual({
      base: { ok: false, reason: { code: 'INVALID_URL', owner: 'target', message } },
      responseTime: 0,
      timings: null,
      assertions: [],
      details: {
        request: { method: 'GET', url: text },
        response: null,
        hops: [],
        addresses: [],
        requestError: message,
      },
    });
  });

  test('credentials of the URL are sent and not shown', async () => {
    seen.length = 0;
    const outcome = await executeUrl(
      urlJob({ url: `http://us%40er:p%3Aw@127.0.0.1:${target.port}/ok` }),
      testContext(),
    );
    expect(seen[0]?.headers['authorization']).toBe(`Basic ${Buffer.from('us@er:p:w').toString('base64')}`);
    expect(JSON.stringify(outcome)).not.toContain('p%3Aw');
  });

  test('encoded characters reach the server as they are', async () => {
    seen.length = 0;
    await executeUrl(urlJob({ url: `${url}/a%3Ab%2Fc/ü?q=%20+` }), testContext({ signal: deadlineIn(100) }));
    expect(seen[0]?.url).toBe('/a%3Ab%2Fc/%C3%BC?q=%20+');
  });
});

describe('addresses', () => {
  test('the name is resolved in a phase of its own', async () => {
    const { network } = names;
    const outcome = await executeUrl(
      urlJob({ url: `http://site.test:${target.port}/ok` }),
      testContext({ network }),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.timings).toHaveProperty('dns');
    expect(outcome.details['hops']).toEqual([expect.objectContaining({ address: '127.0.0.1' })]);
  });

  test('the next address is tried when one refuses, and each is reported', async () => {
    const { network } = names;
    const outcome = await executeUrl(
      urlJob({ url: `http://two.test:${target.port}/ok` }),
      testContext({ network }),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details['addresses']).toEqual([
      { address: '127.0.0.2', ms: expect.any(Number), error: 'ECONNREFUSED' },
      { address: '127.0.0.1', ms: expect.any(Number) },
    ]);
    expect(outcome.details['hops']).toEqual([expect.objectContaining({ address: '127.0.0.1' })]);
  });

  test('an IPv4 fallback is marked', async () => {
    // What a host without an IPv6 route answers; whether this machine has one is not the test's to say.
    const network: Network = {
      ...names.network,
      resolve: async (name, { signal }) => ({
        ...(await names.network.resolve(name, { family: 4, signal })),
        ipFallback: true,
      }),
    };
    const outcome = await executeUrl(
      urlJob({ url: `http://site.test:${target.port}/ok`, ipFamily: 'IPv6' }),
      testContext({ network }),
    );
    expect(outcome.details['ipFallback']).toBe(true);
  });

  test.skipIf(!hasIpv6Loopback)('IPv6', async () => {
    const six = await listening(
      createHttpServer((_request, response) => response.end('six')),
      '::1',
    );
    try {
      const outcome = await executeUrl(
        urlJob({ url: `http://[::1]:${six.port}/`, ipFamily: 'IPv6' }),
        testContext(),
      );
      expect(outcome.base).toEqual({ ok: true });
      expect(outcome.details['addresses']).toEqual([{ address: '::1', ms: expect.any(Number) }]);
    } finally {
      await six.close();
    }
  });

  test('an address of the other family is refused', async () => {
    const outcome = await executeUrl(urlJob({ url: 'http://[::1]/', ipFamily: 'IPv4' }), testContext());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'ERR_INVALID_IP_ADDRESS' } });
  });

  test('a deadline while the name is resolved names the phase', async () => {
    const silent = await startDnsServer({ answer: () => null });
    const folder = mkdtempSync(join(tmpdir(), 'url-test-'));
    writeFileSync(join(folder, 'resolv.conf'), `nameserver [${silent.address}]:${silent.port}\n`);
    const network = createNetwork({ useOsDnsResolver: false, resolvConfFile: join(folder, 'resolv.conf') });
    try {
      const outcome = await executeUrl(
        urlJob({ url: 'http://nowhere.test/' }),
        testContext({ network, signal: deadlineIn(80) }),
      );
      expect(outcome.base).toMatchObject({
        reason: { code: 'TIMEOUT', message: 'the deadline passed in the phase dns (nowhere.test:80)' },
      });
    } finally {
      network.close();
      await silent.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('a deadline while connecting names the phase', async () => {
    // A listener with a full backlog leaves further connections unanswered, as a black hole does.
    const full = await fullListener();
    try {
      const outcome = await executeUrl(
        urlJob({ url: `http://127.0.0.1:${full.port}/` }),
        testContext({ signal: deadlineIn(150) }),
      );
      expect(outcome.base).toMatchObject({
        reason: {
          code: 'TIMEOUT',
          message: `the deadline passed in the phase connect (127.0.0.1:${full.port})`,
        },
      });
      expect(outcome.details['addresses']).toEqual([
        { address: '127.0.0.1', ms: expect.any(Number), error: 'TIMEOUT' },
      ]);
    } finally {
      await full.close();
    }
  });
});

test('a black-holed first address costs a quarter of a second, not the budget', async () => {
  const hole = await fullListener('127.0.0.3', target.port);
  try {
    const outcome = await executeUrl(
      urlJob({ url: `http://hole.test:${target.port}/ok` }),
      testContext({ network: names.network, signal: deadlineIn(10_000) }),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details['addresses']).toEqual([
      { address: '127.0.0.3', ms: expect.any(Number), error: 'ABANDONED' },
      { address: '127.0.0.1', ms: expect.any(Number) },
    ]);
    expect(outcome.timings?.connect).toBeGreaterThanOrEqual(240);
  } finally {
    await hole.close();
  }
});

test('no connection stays open, however a run finishes', async () => {
  expect(await settledAt(openBefore, sockets)).toBeLessThanOrEqual(openBefore);
  const controllers: AbortController[] = [];
  const run = (path: string) => {
    const controller = new AbortController();
    controllers.push(controller);
    return {
      controller,
      done: executeUrl(urlJob({ url: url + path }), testContext({ signal: controller.signal })),
    };
  };
  for (const path of ['/ok', '/to-ok', '/status/500']) await run(path).done;
  for (const code of ['deadline', 'cancelled'] as const) {
    for (const path of ['/slow', '/headers-then-slow']) {
      const { controller, done } = run(path);
      setTimeout(() => controller.abort(new JobAborted(code)), 50);
      await done.catch(() => undefined);
    }
  }
  expect(controllers.map(({ signal }) => getEventListeners(signal, 'abort').length)).toEqual(
    controllers.map(() => 0),
  );
  expect(await settledAt(openBefore, sockets)).toBeLessThanOrEqual(openBefore);
});

function deadlineIn(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new JobAborted('deadline')), ms);
  return controller.signal;
}
