import { generateKeyPairSync } from 'node:crypto';
import { createServer, type ServerOptions } from 'node:https';
import { createSecureServer } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeApi } from '../../../src/executors/api.ts';
import { executeUrl } from '../../../src/executors/url.ts';
import type { ClientCertificate } from '../../../src/protocol/job.ts';
import {
  createAuthority,
  selfSigned,
  type Authority,
  type Certificate,
} from '../../../src/targets/certificates.ts';
import { apiJob, listening, startTestNetwork, testContext, urlJob } from '../../helpers/network/http.ts';
import type { Running, TestNetwork } from '../../helpers/network/http.ts';

const day = 86_400_000;
/** The context's clock stands at 2026-03-31, Node's own runs; both lie within. */
const from = new Date('2020-01-01T00:00:00Z');
const until = new Date('2036-04-10T13:00:00Z');

let authority: Authority;
let client: Certificate;
let names: TestNetwork;
const running: Running[] = [];
const { privateKey: otherKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

beforeAll(async () => {
  names = await startTestNetwork({
    'good.test': ['127.0.0.1'],
    'other.test': ['127.0.0.1'],
    'api.good.test': ['127.0.0.1'],
  });
  authority = await createAuthority({ commonName: 'Test Authority' });
  client = await authority.issue({ commonName: 'client', notBefore: from, notAfter: until });
});
afterAll(async () => {
  for (const server of running) await server.close();
  await names.close();
});

async function httpsServer(certificate: Certificate, options: ServerOptions = {}): Promise<number> {
  const server = await listening(
    createServer({ ...certificate, ...options }, (request, response) => {
      const peer = (request.socket as TLSSocket).getPeerCertificate(); // an https server's socket
      response.end(
        JSON.stringify({
          client: peer?.subject?.CN ?? null,
          reused: (request.socket as TLSSocket).isSessionReused(),
        }),
      );
    }),
  );
  running.push(server);
  return server.port;
}

/** A client certificate for every host, which makes the test's authority trusted. */
const trusting = (host = '*', certificate = client): ClientCertificate => ({
  host,
  cert: certificate.cert,
  key: certificate.key,
  ca: authority.certificate.cert,
  passphrase: null,
});

const context = () => testContext({ network: names.network });

function get(url: string, options: { skipSSL?: boolean; clientCertificates?: ClientCertificate[] } = {}) {
  const { skipSSL = false, clientCertificates = [trusting()] } = options;
  return executeApi(apiJob({ url, skipSSL }, { clientCertificates }), context());
}

describe('the server certificate', () => {
  test('good: its facts', async () => {
    const certificate = await authority.issue({
      commonName: 'good.test',
      names: ['good.test', '*.good.test', '10.1.2.3'],
      notBefore: from,
      notAfter: until,
    });
    const port = await httpsServer({ ...certificate, cert: certificate.cert + authority.certificate.cert });
    const outcome = await get(`https://good.test:${port}/`);
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details['certificate']).toEqual({
      subject: 'CN=good.test',
      issuer: 'CN=Test Authority',
      validFrom: '2020-01-01T00:00:00.000Z',
      validTo: '2036-04-10T13:00:00.000Z',
      // From 2026-03-31T12:34:56 on.
      daysRemaining: 3663,
      fingerprint256: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      serial: expect.stringMatching(/^[0-9A-F]+$/),
      altNames: ['good.test', '*.good.test', '10.1.2.3'],
      chain: [
        { subject: 'CN=good.test', issuer: 'CN=Test Authority', validTo: '2036-04-10T13:00:00.000Z' },
        { subject: 'CN=Test Authority', issuer: 'CN=Test Authority', validTo: expect.any(String) },
      ],
      protocol: 'TLSv1.3',
      cipher: expect.stringMatching(/^TLS_/),
      alpn: 'http/1.1',
      authorized: true,
      authorizationError: null,
    });
    expect(outcome.timings).toEqual({
      dns: expect.any(Number),
      connect: expect.any(Number),
      tls: expect.any(Number),
      firstByte: expect.any(Number),
      download: expect.any(Number),
      remainder: expect.any(Number),
      total: expect.any(Number),
    });
    const under = await get(`https://api.good.test:${port}/`);
    expect(under.base).toEqual({ ok: true });
  });

  const now = Date.now();
  const range = (start: number, end: number) => ({
    notBefore: new Date(now + start),
    notAfter: new Date(now + end),
  });
  const cases: [string, () => Promise<Certificate>, string][] = [
    [
      'expired',
      () => authority.issue({ commonName: 'good.test', ...range(-20 * day, -10 * day) }),
      'CERT_HAS_EXPIRED',
    ],
    [
      'not yet valid',
      () => authority.issue({ commonName: 'good.test', ...range(10 * day, 20 * day) }),
      'CERT_NOT_YET_VALID',
    ],
    [
      'of another host',
      () => authority.issue({ commonName: 'other.test', ...range(-day, day) }),
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
    [
      'self-signed',
      () => selfSigned({ commonName: 'good.test', ...range(-day, day) }),
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ],
    [
      'of an unknown authority',
      async () =>
        (await createAuthority({ commonName: 'Nobody' })).issue({
          commonName: 'good.test',
          ...range(-day, day),
        }),
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
  ];
  test.each(cases)('%s: fails with its facts, and passes with skipSSL', async (_name, issue, code) => {
    const port = await httpsServer(await issue());
    const refused = await get(`https://good.test:${port}/`);
    expect(refused.base).toEqual({
      ok: false,
      reason: { code, owner: 'target', message: `the certificate of good.test is not accepted: ${code}` },
    });
    expect(refused.assertions).toEqual([]);
    expect(refused.details).toMatchObject({
      response: null,
      certificate: { authorized: false, authorizationError: code, issuer: expect.any(String) },
    });
    const accepted = await get(`https://good.test:${port}/`, { skipSSL: true });
    expect(accepted.base).toEqual({ ok: true });
    expect(accepted.details).toMatchObject({
      response: { status: 200 },
      certificate: { authorized: false, authorizationError: code },
    });
  });

  test("the check's own Host header is the name that the certificate must have", async () => {
    const port = await httpsServer(
      await authority.issue({ commonName: 'good.test', notBefore: from, notAfter: until }),
    );
    const job = apiJob(
      { url: `https://127.0.0.1:${port}/`, headers: [{ key: 'Host', value: 'good.test', locked: false }] },
      { clientCertificates: [trusting()] },
    );
    const outcome = await executeApi(job, context());
    expect(outcome.base).toEqual({ ok: true });
  });

  test('an address as host is checked against the addresses of the certificate', async () => {
    const port = await httpsServer(
      await authority.issue({ commonName: 'x', names: ['127.0.0.1'], notBefore: from, notAfter: until }),
    );
    const outcome = await get(`https://127.0.0.1:${port}/`);
    expect(outcome.base).toEqual({ ok: true });
  });

  test('a URL check uses no client certificates and trusts only the default roots', async () => {
    const port = await httpsServer(
      await authority.issue({ commonName: 'good.test', notBefore: from, notAfter: until }),
    );
    const outcome = await executeUrl(urlJob({ url: `https://good.test:${port}/` }), context());
    expect(outcome.base).toMatchObject({ ok: false, reason: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' } });
  });
});

test('sessions are not resumed: each attempt makes a full handshake', async () => {
  const port = await httpsServer(
    await authority.issue({ commonName: 'good.test', notBefore: from, notAfter: until }),
  );
  for (let i = 0; i < 3; i++) {
    const outcome = await get(`https://good.test:${port}/`);
    expect(outcome.details['response']).toMatchObject({ body: '{"client":null,"reused":false}' });
  }
});

describe('HTTP/2', () => {
  const seen: { version: string; method: string; body: string; type: string | undefined }[] = [];
  let port: number;
  beforeAll(async () => {
    const { cert, key } = await authority.issue({
      commonName: 'good.test',
      notBefore: from,
      notAfter: until,
    });
    const server = await listening(
      createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
        let body = '';
        request.on('data', (chunk: Buffer) => (body += chunk.toString()));
        request.on('end', () => {
          seen.push({
            version: request.httpVersion,
            method: request.method,
            body,
            type: request.headers['content-type'],
          });
          if (request.url === '/to') {
            response.statusCode = 302;
            response.setHeader('location', '/end');
          }
          response.setHeader('set-cookie', ['a=1', 'b=2']);
          response.setHeader('content-type', 'application/json');
          response.end('{"ok":true}');
        });
      }),
    );
    running.push(server);
    port = server.port;
  });

  test('is chosen when the server offers it', async () => {
    seen.length = 0;
    const outcome = await executeApi(
      apiJob(
        {
          url: `https://good.test:${port}/`,
          assertions: [
            { source: 'JSON_BODY', property: '$.ok', comparison: 'EQUALS', target: 'true', regex: null },
            { source: 'HEADERS', property: 'Set-Cookie', comparison: 'EQUALS', target: 'b=2', regex: null },
          ],
        },
        { clientCertificates: [trusting()] },
      ),
      context(),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.assertions.map(({ error }) => error)).toEqual([null, null]);
    expect(outcome.details).toMatchObject({
      response: {
        status: 200,
        httpVersion: '2',
        body: '{"ok":true}',
        headers: { 'set-cookie': ['a=1', 'b=2'] },
      },
      certificate: { alpn: 'h2' },
    });
    expect(seen).toEqual([{ version: '2.0', method: 'GET', body: '', type: undefined }]);
  });

  test.each([
    ['POST', '2.0'],
    ['PUT', '2.0'],
    // The library cannot send a body with these over HTTP/2.
    ['GET', '1.1'],
    ['DELETE', '1.1'],
    ['OPTIONS', '1.1'],
  ] as const)('%s with a body goes by %s', async (method, version) => {
    seen.length = 0;
    const outcome = await executeApi(
      apiJob(
        { url: `https://good.test:${port}/`, method, body: '{"a":1}', bodyType: 'JSON' },
        { clientCertificates: [trusting()] },
      ),
      context(),
    );
    expect(outcome.base).toEqual({ ok: true });
    expect(seen).toEqual([{ version, method, body: '{"a":1}', type: 'application/json' }]);
  });

  test('redirects work by it', async () => {
    const outcome = await get(`https://good.test:${port}/to`);
    expect(outcome.base).toEqual({ ok: true });
    expect(outcome.details['hops']).toHaveLength(2);
  });
});

describe('client certificates', () => {
  let port: number;
  beforeAll(async () => {
    const certificate = await authority.issue({
      commonName: 'good.test',
      names: ['good.test', 'api.good.test', 'other.test'],
      notBefore: from,
      notAfter: until,
    });
    port = await httpsServer(certificate, {
      ca: authority.certificate.cert,
      requestCert: true,
      rejectUnauthorized: false,
    });
  });

  const named = async (commonName: string, host: string): Promise<ClientCertificate> =>
    trusting(host, await authority.issue({ commonName, notBefore: from, notAfter: until }));

  test.each([
    [
      'exact before pattern',
      'good.test',
      [
        ['exact', 'good.test'],
        ['glob', '*'],
      ],
      'exact',
    ],
    [
      'the newest of equals',
      'good.test',
      [
        ['old', 'good.test'],
        ['new', 'good.test'],
      ],
      'new',
    ],
    [
      'the newest pattern',
      'api.good.test',
      [
        ['one', '*.good.test'],
        ['two', '*'],
      ],
      'two',
    ],
    ['a pattern of a subdomain', 'api.good.test', [['sub', '*.good.test']], 'sub'],
    ['letter case', 'good.test', [['upper', 'GOOD.test']], 'upper'],
    [
      'host and port',
      'good.test',
      [
        ['glob', '*'],
        ['port', 'good.test:PORT'],
      ],
      'port',
    ],
    ['one character', 'good.test', [['mark', 'go?d.test']], 'mark'],
  ] as const)('%s', async (_name, host, certificates, expected) => {
    const outcome = await get(`https://${host}:${port}/`, {
      clientCertificates: await Promise.all(
        certificates.map(([name, pattern]) => named(name, pattern.replace('PORT', String(port)))),
      ),
    });
    expect(outcome.details['response']).toMatchObject({
      body: JSON.stringify({ client: expected, reused: false }),
    });
    expect(outcome.details['clientCertificate']).toEqual({
      host: expect.any(String),
      subject: `CN=${expected}`,
      issuer: 'CN=Test Authority',
      validTo: '2036-04-10T13:00:00.000Z',
      daysRemaining: 3663,
    });
  });

  test('no pattern matches: none is offered', async () => {
    const outcome = await get(`https://other.test:${port}/`, {
      skipSSL: true,
      clientCertificates: [await named('x', '*.good.test')],
    });
    expect(outcome.details['response']).toMatchObject({ body: '{"client":null,"reused":false}' });
    expect(outcome.details).not.toHaveProperty('clientCertificate');
  });

  test('a server that insists', async () => {
    const certificate = await authority.issue({ commonName: 'good.test', notBefore: from, notAfter: until });
    const strict = await httpsServer(certificate, {
      ca: authority.certificate.cert,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const without = await get(`https://good.test:${strict}/`, { skipSSL: true, clientCertificates: [] });
    expect(without.base).toMatchObject({ ok: false });
    expect(without.base.ok ? '' : without.base.reason.code).toBeOneOf([
      'TLS_ERROR',
      'ECONNRESET',
      'CONNECTION_CLOSED',
    ]);
    const withOne = await get(`https://good.test:${strict}/`);
    expect(withOne.base).toEqual({ ok: true });
  });

  test.each([
    ['no PEM', { cert: 'nonsense' }],
    ['another key', { key: otherKey.export({ type: 'pkcs8', format: 'pem' }).toString() }],
    ['a CA that is none', { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' }],
  ])('unusable: %s', async (_name, part) => {
    const outcome = await get(`https://good.test:${port}/`, {
      clientCertificates: [{ ...trusting('good.test'), ...part }],
    });
    expect(outcome.base).toMatchObject({
      ok: false,
      reason: { code: 'CLIENT_CERTIFICATE_INVALID', owner: 'target' },
    });
  });

  test('plain http offers none', async () => {
    const outcome = await get(`http://good.test:${port}/`);
    expect(outcome.details).not.toHaveProperty('clientCertificate');
  });
});
