import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TlsOptions } from 'node:tls';
import { ec, issue, rsa, type Issued, type Wanted } from '../../helpers/network/authority.ts';
import { show, startSslLab, verdictOf, type SslLab } from '../../helpers/network/ssl-lab.ts';
import { closedPort } from '../../helpers/network/closed-port.ts';
import { rawServer } from '../../helpers/network/http.ts';

/** SSL checks against servers of every kind. */

let lab: SslLab;
beforeAll(async () => {
  lab = await startSslLab();
});
afterAll(() => lab.close());

type Config = Parameters<SslLab['check']>[1];
type Server = (lab: SslLab) => Promise<TlsOptions>;
const signed =
  (wanted: Wanted = {}, options: TlsOptions = {}): Server =>
  async ({ leaf, middle }) => ({ ...show(await leaf(wanted), middle), ...options });

const rows: readonly [what: string, server: Server, config: Config, verdict: string | RegExp][] = [
  ['a good certificate', signed(), {}, 'passed'],
  ['an RSA key of 2048 bits', signed({ algorithm: rsa(2048) }), {}, 'passed'],
  ['a key on P-384', signed({ algorithm: ec('P-384') }), {}, 'passed'],
  ['a key on P-521', signed({ algorithm: ec('P-521') }), {}, 'passed'],
  ['a wildcard', signed({ names: ['*.test'] }), {}, 'failed ERR_TLS_CERT_ALTNAME_INVALID hostname'],
  ['a wildcard that fits', signed({ names: ['*.good.test'] }), { serverName: 'a.good.test' }, 'passed'],
  ['a common name alone', signed({ names: null }), {}, 'passed'],
  ['an address', signed({ names: ['127.0.0.1'] }), { hostname: '127.0.0.1' }, 'passed'],
  [
    'another address',
    signed({ names: ['127.0.0.2'] }),
    { hostname: '127.0.0.1' },
    'failed ERR_TLS_CERT_ALTNAME_INVALID hostname',
  ],
  ['another host', signed({ names: ['else.test'] }), {}, 'failed ERR_TLS_CERT_ALTNAME_INVALID hostname'],
  ['the name of serverName', signed({ names: ['else.test'] }), { serverName: 'else.test' }, 'passed'],
  [
    '1,000 names',
    signed({ names: Array.from({ length: 1000 }, (_, at) => `n${at}.test`).concat('good.test') }),
    {},
    'passed',
  ],
  ['expired yesterday', signed({ from: -30, to: -1 }), {}, 'failed CERT_HAS_EXPIRED null'],
  ['expired a year ago', signed({ from: -800, to: -365 }), {}, 'failed CERT_HAS_EXPIRED null'],
  [
    'expired, and not trusted either',
    signed({ from: -30, to: -1 }),
    { skipChainValidation: true },
    'failed CERT_HAS_EXPIRED null',
  ],
  ['not yet valid', signed({ from: 2, to: 90 }), {}, 'failed CERT_NOT_YET_VALID null'],
  ['expires in 20 days', signed({ to: 20.5 }), {}, 'degraded CERT_EXPIRES_SOON'],
  ['expires in 21 days', signed({ to: 21.5 }), {}, 'passed'],
  [
    'expires in 21 days, alert at 30',
    signed({ to: 21.5 }),
    { alertDaysBeforeExpiry: 30 },
    'degraded CERT_EXPIRES_SOON',
  ],
  [
    'expires in 6 days, fails at 7',
    signed({ to: 6.5 }),
    { failDaysBeforeExpiry: 7 },
    'failed CERT_EXPIRES_SOON null',
  ],
  ['RSA of 1024 bits', signed({ algorithm: rsa(1024) }), {}, 'failed TLS_BASELINE null'],
  [
    'RSA of 1024 bits, degraded',
    signed({ algorithm: rsa(1024) }),
    baseline({ minKeySizeBits: { value: 2048, severity: 'degrade' } }),
    'degraded TLS_BASELINE',
  ],
  [
    'RSA of 1024 bits, ignored',
    signed({ algorithm: rsa(1024) }),
    baseline({ minKeySizeBits: { value: 2048, severity: 'ignore' } }),
    'passed',
  ],
  ['RSA of 1024 bits, no baseline', signed({ algorithm: rsa(1024) }), baseline({ enabled: false }), 'passed'],
  [
    'RSA of 2048 bits where 3072 are recommended',
    signed({ algorithm: rsa(2048) }),
    baseline({ recommendedKeySizeBits: { value: 3072, severity: 'degrade' } }),
    'degraded TLS_BASELINE',
  ],
  [
    'signed with SHA-1',
    async ({ now }) => {
      const old = await issue({ name: 'Old', authority: true, algorithm: rsa(2048, 'SHA-1') }, now);
      return show(await issue({ issuer: old }, now), old);
    },
    { skipChainValidation: true },
    'failed TLS_BASELINE null',
  ],
  [
    'signed with SHA-1, degraded',
    async ({ now }) => {
      const old = await issue({ name: 'Old', authority: true, algorithm: rsa(2048, 'SHA-1') }, now);
      return show(await issue({ issuer: old }, now), old);
    },
    { skipChainValidation: true, ...baseline({ weakSignatureAlgorithm: { severity: 'degrade' } }) },
    'degraded TLS_BASELINE',
  ],
  [
    'no SCT, where one is demanded',
    signed(),
    baseline({ sctPresent: { severity: 'degrade' } }),
    'degraded TLS_BASELINE',
  ],
  [
    'must staple, nothing stapled',
    signed({ mustStaple: true }),
    baseline({ ocspMustStapleRespected: { severity: 'fail' } }),
    'failed TLS_BASELINE null',
  ],
  [
    'self-signed',
    async ({ now }) => show(await issue({}, now)),
    {},
    'failed DEPTH_ZERO_SELF_SIGNED_CERT chain',
  ],
  [
    'self-signed, accepted',
    async ({ now }) => show(await issue({}, now)),
    { skipChainValidation: true },
    'passed',
  ],
  ['an unknown root that is sent', unknownRoot(true), {}, 'failed SELF_SIGNED_CERT_IN_CHAIN chain'],
  [
    'an unknown root that is not sent',
    unknownRoot(false),
    {},
    'failed UNABLE_TO_VERIFY_LEAF_SIGNATURE chain',
  ],
  [
    'a missing intermediate',
    async ({ leaf }) => show(await leaf()),
    {},
    'failed UNABLE_TO_VERIFY_LEAF_SIGNATURE chain',
  ],
  ['a chain with the root', async ({ leaf, middle, root }) => show(await leaf(), middle, root), {}, 'passed'],
  ['a disorderly chain', async ({ leaf, middle, root }) => show(await leaf(), root, middle), {}, 'passed'],
  [
    'a superfluous certificate',
    async ({ leaf, middle, now }) => show(await leaf(), middle, await issue({ name: 'else' }, now)),
    {},
    'passed',
  ],
  [
    'an intermediate that expires first',
    async ({ root, now }) => {
      const short = await issue({ name: 'Short', authority: true, issuer: root, to: 10.5 }, now);
      return show(await issue({ issuer: short }, now), short);
    },
    {},
    'degraded CERT_EXPIRES_SOON',
  ],
  [
    'an expired intermediate',
    async ({ root, now }) => {
      const short = await issue({ name: 'Short', authority: true, issuer: root, from: -30, to: -2 }, now);
      return show(await issue({ issuer: short }, now), short);
    },
    {},
    'failed CERT_HAS_EXPIRED null',
  ],
  [
    'an issuer that is no authority',
    async ({ leaf, middle, now }) => {
      const fake = await leaf({ name: 'fake.test' });
      return show(await issue({ issuer: fake }, now), fake, middle);
    },
    {},
    /^failed INVALID_(CA|PURPOSE) chain$/,
  ],
  ['TLS 1.3 only', signed({}, { minVersion: 'TLSv1.3' }), {}, 'passed'],
  ['TLS 1.2 only', signed({}, { maxVersion: 'TLSv1.2' }), {}, 'passed'],
  [
    'TLS 1.2 only, 1.3 demanded',
    signed({}, { maxVersion: 'TLSv1.2' }),
    baseline({ minTLSVersion: { value: 'TLS1.3', severity: 'fail' } }),
    'failed TLS_BASELINE null',
  ],
  [
    'TLS 1.2 only, 1.3 recommended',
    signed({}, { maxVersion: 'TLSv1.2' }),
    baseline({ recommendedTLSVersion: { value: 'TLS1.3', severity: 'degrade' } }),
    'degraded TLS_BASELINE',
  ],
  ['TLS 1.1 only', signed({}, { maxVersion: 'TLSv1.1' }), {}, 'failed TLS_BASELINE null'],
  ['TLS 1.0 only', signed({}, { maxVersion: 'TLSv1' }), {}, 'failed TLS_BASELINE null'],
  [
    'TLS 1.0 only, ignored',
    signed({}, { maxVersion: 'TLSv1' }),
    baseline({ minTLSVersion: { value: 'TLS1.2', severity: 'ignore' } }),
    'passed',
  ],
  ['TLS 1.0 is accepted too, not asked', signed(), {}, 'passed'],
  [
    'TLS 1.0 is accepted too, asked',
    signed(),
    { scan: true, ...baseline({ weakCipherSuite: { severity: 'ignore' } }) },
    'failed TLS_BASELINE null',
  ],
  [
    'TLS 1.2 and 1.3, asked',
    signed({}, { minVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }),
    { scan: true },
    'passed',
  ],
  [
    'a NULL suite',
    signed({ algorithm: rsa(2048) }, { maxVersion: 'TLSv1.2', ciphers: 'NULL-SHA256:@SECLEVEL=0' }),
    {},
    'failed TLS_BASELINE null',
  ],
  [
    'an anonymous suite',
    async () => ({ maxVersion: 'TLSv1.2', ciphers: 'ADH-AES128-SHA256:@SECLEVEL=0' }),
    {},
    'failed TLS_ERROR handshake',
  ],
  [
    'a client certificate is demanded',
    signed({}, { requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' }),
    {},
    /^failed (TLS_ERROR|ECONNRESET) handshake$/,
  ],
];

function baseline(rules: { [rule: string]: unknown }): { securityBaseline: never } {
  return { securityBaseline: rules as never }; // the schema's defaults fill in the others
}

function unknownRoot(isSent: boolean): Server {
  return async ({ now }) => {
    const unknown: Issued = await issue({ name: 'Unknown', authority: true }, now);
    const certificate = await issue({ issuer: unknown }, now);
    return isSent ? show(certificate, unknown) : show(certificate);
  };
}

test.each(rows)('%s', async (_what, server, config, verdict) => {
  const port = await lab.serve(await server(lab));
  const found = verdictOf(await lab.check(port, config));
  if (typeof verdict === 'string') expect(found).toBe(verdict);
  else expect(found).toMatch(verdict);
});

describe('details', () => {
  test('after a handshake, nothing waits for its time limit', async () => {
    const port = await lab.serve(show(await lab.leaf(), lab.middle));
    const { signal } = new AbortController();
    const { base } = await lab.check(port, {}, { signal });
    expect([base.ok, getEventListeners(signal, 'abort')]).toEqual([true, []]);
  });

  test('of a good server', async () => {
    const port = await lab.serve(show(await lab.leaf({ algorithm: rsa(2048), serial: '0abc' }), lab.middle));
    const { details, responseTime, timings } = await lab.check(port);
    expect(details).toMatchObject({
      tlsVersion: 'TLS1.3',
      cipherSuite: expect.stringMatching(/^TLS_/) as string,
      chainTrusted: true,
      hostnameVerified: true,
      failureCategory: null,
      requestError: null,
      baselineVerdict: 'pass',
      baselineGrade: 'A-',
      handshakeTimeMs: responseTime,
      response: {
        resolvedIp: '127.0.0.1',
        ocspStapled: false,
        ocspStatus: null,
        incompleteChain: false,
        chainOrdered: true,
        certificate: {
          subjectCN: 'good.test',
          issuerCN: 'Middle',
          serialNumber: '2748',
          keyAlgorithm: 'RSA',
          keySizeBits: 2048,
          signatureAlgorithm: 'ECDSA-SHA256',
          sans: ['good.test'],
          selfSigned: false,
          isCA: false,
          daysUntilExpiry: 89,
        },
        chain: [{ subjectCN: 'good.test' }, { subjectCN: 'Middle', isCA: true }],
      },
    });
    expect(responseTime).toBeGreaterThan(0);
    expect(timings?.tls).toBeGreaterThan(0);
  });

  test('a disorderly and an incomplete chain are named', async () => {
    const disorderly = await lab.serve(show(await lab.leaf(), lab.root, lab.middle));
    expect((await lab.check(disorderly)).details).toMatchObject({
      response: { chainOrdered: false, chainTrusted: true },
    });
    const incomplete = await lab.serve(show(await lab.leaf()));
    expect((await lab.check(incomplete)).details).toMatchObject({
      response: { incompleteChain: true, missingIntermediate: expect.stringContaining('Middle') as string },
    });
  });

  test('the scan names versions and weak suites', async () => {
    const port = await lab.serve({
      ...show(await lab.leaf({ algorithm: rsa(2048) }), lab.middle),
      ciphers: 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-SHA:NULL-SHA256:@SECLEVEL=0',
    });
    const { details } = await lab.check(port, { scan: true });
    expect(details).toMatchObject({
      response: {
        accepted: {
          versions: ['TLS1.0', 'TLS1.1', 'TLS1.2', 'TLS1.3'],
          weakCiphers: ['TLS_RSA_WITH_NULL_SHA256'],
          incomplete: null,
        },
      },
    });
    const { handshakes } = (details as { response: { accepted: { handshakes: number } } }).response.accepted;
    expect(handshakes).toBeLessThanOrEqual(12);
  });

  test('assertions', async () => {
    const port = await lab.serve(show(await lab.leaf({ names: ['good.test', 'www.good.test'] }), lab.middle));
    const assertion = (source: string, property: string, comparison: string, target: string) => ({
      source,
      property,
      comparison,
      target,
    });
    const { assertions } = await lab.check(
      port,
      {},
      {
        assertions: [
          assertion('CERTIFICATE', 'daysUntilExpiry', 'GREATER_THAN', '30'),
          assertion('CERTIFICATE', 'sans', 'CONTAINS', 'www.good.test'),
          assertion('CERTIFICATE', 'selfSigned', 'EQUALS', 'false'),
          assertion('CONNECTION', 'tlsVersion', 'GREATER_THAN', 'TLS1.2'),
          assertion('CONNECTION', 'tlsVersion', 'EQUALS', 'TLS 1.3'),
          assertion('CONNECTION', 'tlsVersion', 'LESS_THAN', 'TLSv1.3'),
          assertion('CONNECTION', 'cipherSuite', 'CONTAINS', 'RC4'),
          assertion('RESPONSE_TIME', '', 'LESS_THAN', '60000'),
          assertion('JSON_RESPONSE', '$.chain[1].subjectCN', 'EQUALS', 'Middle'),
          assertion('TEXT_RESPONSE', '"hostnameVerified":(\\w+)', 'EQUALS', 'true'),
          assertion('CERTIFICATE', 'issuerFingerprintSha256', 'EQUALS', '00'),
        ],
      },
    );
    expect(assertions.map(({ error }) => error === null)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      true,
      true,
      true,
      false,
    ]);
    expect(assertions[5]).toMatchObject({ target: 'TLSv1.3', actual: 'TLS1.3' });
  });

  test('a client certificate of the check is shown', async () => {
    const own = await issue({ name: 'client', issuer: lab.middle, usages: ['1.3.6.1.5.5.7.3.2'] }, lab.now);
    const seen: string[] = [];
    const { createServer } = await import('node:tls');
    const { listening } = await import('../../helpers/network/http.ts');
    const server = createServer(
      {
        ...show(await lab.leaf(), lab.middle),
        requestCert: true,
        rejectUnauthorized: false,
        maxVersion: 'TLSv1.2',
      },
      (socket) => {
        seen.push(socket.getPeerCertificate().subject?.CN?.toString() ?? 'none');
        socket.on('error', () => undefined).end();
      },
    );
    const port = lab.keep(await listening(server));
    const certificate = {
      host: 'good.test',
      cert: own.pem,
      key: own.key,
      ca: lab.root.pem,
      passphrase: null,
    };
    const job = { clientCertificates: [certificate] };
    await lab.check(port, {});
    const outcome = await lab.check(port, { clientCertificateMode: 'explicit' }, { job });
    expect(verdictOf(outcome)).toBe('passed');
    await expect.poll(() => seen).toEqual(['none', 'client']);
  });
});

describe('servers that are no TLS servers', () => {
  test('a closed port', async () => {
    expect(verdictOf(await lab.check(await closedPort()))).toBe('failed ECONNREFUSED connect');
  });

  test('an unknown name', async () => {
    const outcome = await lab.check(443, { hostname: 'nowhere.test' });
    expect(verdictOf(outcome)).toBe('failed ENOTFOUND dns');
    expect(outcome.details['requestError']).toMatch(/nowhere\.test/);
  });

  test.each([
    ['plain text', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['an alert', '\x15\x03\x03\x00\x02\x02\x28'],
    ['a record of zeros', '\x16\x03\x03\x40\x00' + '\0'.repeat(16_384)],
  ])('%s', async (_what, answer) => {
    const port = lab.keep(await rawServer((socket) => socket.end(Buffer.from(answer, 'latin1'))));
    expect(verdictOf(await lab.check(port))).toMatch(/^failed (TLS_ERROR|ECONNRESET) handshake$/);
  });

  test('one that closes at once', async () => {
    const port = lab.keep(await rawServer((socket) => socket.destroy()));
    expect(verdictOf(await lab.check(port))).toMatch(/^failed (ECONNRESET|CONNECTION_CLOSED) handshake$/);
  });

  test('one that says nothing runs into the time limit', async () => {
    const port = lab.keep(await rawServer(() => undefined));
    const outcome = await lab.check(port, { handshakeTimeoutMs: 1000 });
    expect(verdictOf(outcome)).toBe('failed SOCKET_TIMEOUT timeout');
    expect(outcome.base).toMatchObject({
      reason: { message: expect.stringContaining('during the handshake') as string },
    });
  });
});
