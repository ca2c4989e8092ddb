import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { weakSuites } from '../../../src/executors/ssl/client-hello.ts';
import { issue, rsa, type Issued } from '../../helpers/network/authority.ts';
import { listening } from '../../helpers/network/http.ts';
import { hasOpenssl, opensslIssue } from '../../helpers/network/openssl-certificates.ts';
import { show, startSslLab, verdictOf, type SslLab } from '../../helpers/network/ssl-lab.ts';

/** Certificates and connections of a kind that no server should have, and the scan for them. */

let lab: SslLab;
let rsaRoot: Issued;
beforeAll(async () => {
  lab = await startSslLab();
  rsaRoot = await issue({ name: 'Old root', authority: true, algorithm: rsa(2048) }, lab.now);
});
afterAll(() => lab.close());
if (!hasOpenssl) process.stdout.write('skipped: weak certificates (needs openssl)\n');

const usual = { skipChainValidation: true } as const;
const curve = (name: string) => ['ec', '-pkeyopt', `ec_paramgen_curve:${name}`];

describe.skipIf(!hasOpenssl)('certificates', () => {
  test.each([
    ['RSA with 512 bits', ['rsa:512'], 'sha256', /the key has 512 bits, below 2048/, 'RSA', 512],
    ['RSA with 1024 bits', ['rsa:1024'], 'sha256', /the key has 1024 bits, below 2048/, 'RSA', 1024],
    ['P-192', curve('prime192v1'), 'sha256', /192 bits on a curve, below 224/, 'ECDSA', 192],
    ['sect163k1', curve('sect163k1'), 'sha256', /163 bits on a curve, below 224/, 'ECDSA', 163],
    ['MD5', ['rsa:2048'], 'md5', /MD5-RSA/, 'RSA', 2048],
    ['SHA-1', ['rsa:2048'], 'sha1', /SHA1-RSA/, 'RSA', 2048],
  ])('%s fails the baseline', async (_name, key, digest, why, keyAlgorithm, keySizeBits) => {
    const port = await lab.serve({ ...opensslIssue(rsaRoot, { key, digest }), ecdhCurve: everyCurve });
    const outcome = await lab.check(port, usual);
    expect(verdictOf(outcome)).toBe('failed TLS_BASELINE null');
    expect(outcome.base).toMatchObject({ reason: { message: expect.stringMatching(why) as string } });
    expect(outcome.details).toMatchObject({
      baselineGrade: 'F',
      response: { certificate: { keyAlgorithm, keySizeBits } },
    });
  });

  test.each([
    ['Ed25519', ['ed25519'], 'Ed25519'],
    ['Ed448', ['ed448'], 'Ed448'],
    ['P-224', curve('secp224r1'), 'ECDSA'],
    ['brainpoolP256r1', curve('brainpoolP256r1'), 'ECDSA'],
    ['RSA with 4096 bits', ['rsa:4096'], 'RSA'],
  ])('%s passes the baseline', async (_name, key, keyAlgorithm) => {
    const port = await lab.serve({ ...opensslIssue(rsaRoot, { key }), ecdhCurve: everyCurve });
    const outcome = await lab.check(port, usual);
    expect(verdictOf(outcome)).toBe('passed');
    expect(outcome.details).toMatchObject({
      baselineGrade: 'A-',
      response: { certificate: { keyAlgorithm } },
    });
  });
});

/** A server that speaks every curve, as the library calls them. */
const everyCurve = 'X25519:P-256:X448:secp224r1:prime192v1:sect163k1:brainpoolP256r1';

test(
  '10,000 names are more than OpenSSL reads (100 kB), which the reason says',
  { timeout: 120_000 },
  async () => {
    const names = Array.from({ length: 10_000 }, (_, at) => `host-${at}.test`).concat('good.test');
    const port = await lab.serve(show(await lab.leaf({ names }), lab.middle));
    const outcome = await lab.check(port);
    expect(verdictOf(outcome)).toBe('failed TLS_ERROR handshake');
    expect(outcome.details['requestError']).toMatch(/excessive message size/);
  },
);

test('3,000 names fit, and the name of the host may be the last', { timeout: 120_000 }, async () => {
  const names = Array.from({ length: 3000 }, (_, at) => `host-${at}.test`).concat('good.test');
  const outcome = await lab.check(await lab.serve(show(await lab.leaf({ names }), lab.middle)));
  expect(verdictOf(outcome)).toBe('passed');
  const { certificate } = outcome.details['response'] as { certificate: Record<string, unknown> };
  expect(certificate).toMatchObject({ sansTruncated: true });
  expect(certificate['sans']).toHaveLength(200);
});

test('a distrusted authority', async () => {
  const bad = await issue({ name: 'DigiNotar Root CA', authority: true }, lab.now);
  const port = await lab.serve(show(await issue({ issuer: bad }, lab.now), bad));
  const outcome = await lab.check(port, usual);
  expect(verdictOf(outcome)).toBe('failed TLS_BASELINE null');
  expect(outcome.base).toMatchObject({
    reason: { message: expect.stringContaining('browsers distrust') as string },
  });
  const ignored = { securityBaseline: { knownBadCA: { severity: 'ignore' } } as never };
  expect(verdictOf(await lab.check(port, { ...usual, ...ignored }))).toBe('passed');
});

test('timestamps in the certificate are counted, and the rule holds', async () => {
  const demanded = { securityBaseline: { sctPresent: { severity: 'fail' } } as never };
  const without = await lab.serve(show(await lab.leaf(), lab.middle));
  expect(verdictOf(await lab.check(without, demanded))).toBe('failed TLS_BASELINE null');
  const port = await lab.serve(show(await lab.leaf({ scts: 2 }), lab.middle));
  const outcome = await lab.check(port, demanded);
  expect(verdictOf(outcome)).toBe('passed');
  expect(outcome.details).toMatchObject({ response: { certificate: { scts: 2 } } });
});

/** The version and the suites of a ClientHello without extensions that matter (SSL 3.0 has none). */
function readHello(bytes: Buffer): { version: number; offers13: boolean; suites: number[] } {
  const version = bytes.readUInt16BE(9);
  const at = 44 + (bytes[43] ?? 0);
  const length = bytes.readUInt16BE(at);
  const suites = Array.from({ length: length / 2 }, (_, index) => bytes.readUInt16BE(at + 2 + index * 2));
  return { version, offers13: suites.includes(0x1301), suites };
}

function serverHello(version: number, suite: number): Buffer {
  const body = Buffer.alloc(38);
  body.writeUInt16BE(version, 0);
  body.writeUInt16BE(suite, 35);
  const message = Buffer.concat([Buffer.from([2, 0, 0, body.length]), body]);
  return Buffer.concat([Buffer.from([22, version >> 8, version & 0xff, 0, message.length]), message]);
}

/**
 * A server whose first connection is a real one, and whose next ones answer a hello of `versions` with the first offered
 * suite of `suites`, as servers do that OpenSSL no longer speaks with.
 */
async function rawScanned(versions: readonly number[], suites: readonly number[]) {
  const hellos: ReturnType<typeof readHello>[] = [];
  const real = createTlsServer(
    { ...show(await lab.leaf(), lab.middle), minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' },
    (socket) => socket.on('error', () => undefined).end(),
  );
  real.on('tlsClientError', () => undefined);
  let connections = 0;
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    connections += 1;
    if (connections === 1) {
      real.emit('connection', socket);
      return;
    }
    socket.once('data', (bytes: Buffer) => {
      const hello = readHello(bytes);
      hellos.push(hello);
      const suite = suites.find((each) => hello.suites.includes(each));
      if (hello.offers13 || !versions.includes(hello.version) || suite === undefined)
        socket.end(Buffer.from([21, 3, 0, 0, 2, 2, 40]));
      else socket.write(serverHello(hello.version, suite));
    });
  });
  return { port: lab.keep(await listening(server)), hellos };
}

const numberOf = (name: string) => [...weakSuites].find(([, each]) => each === name)?.[0] ?? 0;

describe('the scan finds', () => {
  test.each([
    ['RC4', ['TLS_RSA_WITH_RC4_128_SHA', 'TLS_RSA_WITH_RC4_128_MD5']],
    ['3DES', ['TLS_RSA_WITH_3DES_EDE_CBC_SHA']],
    ['NULL', ['TLS_RSA_WITH_NULL_SHA256']],
    ['EXPORT', ['TLS_RSA_EXPORT_WITH_RC4_40_MD5', 'TLS_DHE_RSA_EXPORT_WITH_DES40_CBC_SHA']],
    ['anonymous suites', ['TLS_DH_anon_WITH_AES_128_CBC_SHA']],
  ])('%s', async (_name, names) => {
    const { port } = await rawScanned([0x0303], [...names.map(numberOf), 0xc02f]);
    const outcome = await lab.check(port, { scan: true });
    expect(verdictOf(outcome)).toBe('failed TLS_BASELINE null');
    expect(outcome.details).toMatchObject({
      response: { accepted: { versions: ['TLS1.2'], weakCiphers: names, incomplete: null } },
    });
  });

  test('SSL 3.0, asked without extensions', async () => {
    const { port, hellos } = await rawScanned([0x0300, 0x0303], [0xc02f, 0x002f]);
    const outcome = await lab.check(port, { scan: true });
    expect(verdictOf(outcome)).toBe('failed TLS_BASELINE null');
    expect(outcome.base).toMatchObject({
      reason: { message: expect.stringContaining('also accepts SSL3.0') as string },
    });
    expect(outcome.details).toMatchObject({
      response: { accepted: { versions: ['SSL3.0', 'TLS1.2'], weakCiphers: [] } },
    });
    expect(hellos.map(({ version }) => version)).toContain(0x0300);
  });

  test('as many weak suites as 12 connections can show, and says that there may be more', async () => {
    const { port, hellos } = await rawScanned([0x0303], [...weakSuites.keys()]);
    const outcome = await lab.check(port, { scan: true });
    const { accepted } = outcome.details['response'] as {
      accepted: { weakCiphers: string[]; handshakes: number; incomplete: string };
    };
    expect(accepted.handshakes).toBe(12);
    expect(hellos).toHaveLength(12);
    expect(accepted.weakCiphers).toHaveLength(8);
    expect(accepted.incomplete).toMatch(/limit of connections/);
  });

  test('nothing at a server that picks what nobody offered', async () => {
    const { port } = await rawScanned([0x0303], [0xc02f]);
    const liar = await lab.check(port, { scan: true });
    expect(liar.details).toMatchObject({ response: { accepted: { weakCiphers: [] } } });
  });
});
