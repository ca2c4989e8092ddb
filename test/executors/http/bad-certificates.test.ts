// The library's container needs the polyfill to be loaded first.
import 'reflect-metadata';
import {
  AuthorityInfoAccessExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeApi } from '../../../src/executors/api.ts';
import { executeUrl } from '../../../src/executors/url.ts';
import { apiJob, listening, startTestNetwork, testContext, urlJob } from '../../helpers/network/http.ts';
import type { Running, TestNetwork } from '../../helpers/network/http.ts';

/**
 * Servers with bad certificates and old TLS, of the kinds that badssl.com shows. Expired, not yet valid, of another
 * host, self-signed and of an unknown authority: http-tls.test.ts.
 */

const host = 'bad.test';
const year = 365 * 86_400_000;
const ec = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsa = (modulusLength: number, hash: string) => ({
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash,
});

type Keys = webcrypto.CryptoKeyPair;
type Algorithm = typeof ec | ReturnType<typeof rsa>;
type Signed = { name: string; keys: Keys; algorithm: Algorithm; pem: string; key: string };

type Request = {
  name?: string;
  /** Absent = `host`; null = no alternative names. */
  names?: readonly string[] | null;
  algorithm?: Algorithm;
  /** Absent = signed by itself. */
  issuer?: Signed;
  /** Hash of the signature; absent = that of the algorithm. */
  hash?: string;
  authority?: boolean;
  /** Extended key usages. */
  usages?: string[];
  ocsp?: string;
};

async function signed(request: Request): Promise<Signed> {
  const { name = host, algorithm = ec, issuer, authority = false, usages = ['1.3.6.1.5.5.7.3.1'] } = request;
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as Keys; // of a pair
  const names = request.names === undefined ? [host] : request.names;
  const signer = issuer ?? { name, keys, algorithm };
  const certificate = await X509CertificateGenerator.create({
    subject: name === '' ? [] : [{ CN: [name] }],
    issuer: [{ CN: [signer.name] }],
    notBefore: new Date(Date.now() - year),
    notAfter: new Date(Date.now() + year),
    publicKey: keys.publicKey,
    signingKey: signer.keys.privateKey,
    signingAlgorithm: { ...signer.algorithm, hash: request.hash ?? signer.algorithm.hash },
    extensions: [
      new BasicConstraintsExtension(authority, undefined, true),
      ...(authority ? [new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)] : []),
      ...(authority ? [] : [new ExtendedKeyUsageExtension(usages)]),
      ...(authority || names === null
        ? []
        : [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value })))]),
      ...(request.ocsp === undefined ? [] : [new AuthorityInfoAccessExtension({ ocsp: request.ocsp })]),
    ],
  });
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    name,
    keys,
    algorithm,
    pem: `${certificate.toString('pem')}\n`,
    key: PemConverter.encode(pkcs8, 'PRIVATE KEY'),
  };
}

let network: TestNetwork;
let root: Signed;
let middle: Signed;
let good: Signed;
const running: Running[] = [];

beforeAll(async () => {
  network = await startTestNetwork({ [host]: ['127.0.0.1'] });
  root = await signed({ name: 'Root', authority: true });
  middle = await signed({ name: 'Middle', authority: true, issuer: root });
  good = await signed({ issuer: middle });
});
afterAll(async () => {
  for (const server of running) await server.close();
  await network.close();
});

/** What a check that trusts `root` makes of a server: its verdict and the facts about the certificate. */
async function verdict(options: ServerOptions) {
  const server = await listening(
    createServer(
      // The server itself accepts everything that its library can do.
      { ciphers: 'ALL:eNULL:@SECLEVEL=0', ...options },
      (_request, response) => response.end('ok'),
    ),
  );
  running.push(server);
  const outcome = await executeApi(
    apiJob(
      { url: `https://${host}:${server.port}/` },
      { clientCertificates: [{ host: '*', cert: good.pem, key: good.key, ca: root.pem, passphrase: null }] },
    ),
    testContext({ network: network.network }),
  );
  return { base: outcome.base, certificate: outcome.details['certificate'] };
}

const code = ({ base }: Awaited<ReturnType<typeof verdict>>) =>
  base.ok ? 'ok' : `${base.reason.code} (${base.reason.owner})`;

const show = ({ pem, key }: Signed, ...chain: Signed[]): ServerOptions => ({
  cert: pem + chain.map((each) => each.pem).join(''),
  key,
});

describe('the chain', () => {
  test('complete', async () => {
    expect(code(await verdict(show(good, middle)))).toBe('ok');
  });

  test('incomplete', async () => {
    expect(code(await verdict(show(good)))).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE (target)');
  });

  test('ends in another root, which is sent along', async () => {
    const stranger = await signed({ name: 'Stranger', authority: true });
    const leaf = await signed({ issuer: stranger });
    expect(code(await verdict(show(leaf, stranger)))).toBe('SELF_SIGNED_CERT_IN_CHAIN (target)');
  });

  test('an ordinary certificate has signed', async () => {
    const ordinary = await signed({ name: 'ordinary', issuer: root });
    const leaf = await signed({ issuer: ordinary });
    expect(code(await verdict(show(leaf, ordinary)))).toBeOneOf([
      'INVALID_CA (target)',
      'INVALID_PURPOSE (target)', // OpenSSL 3.0
    ]);
  });

  test('the signature is wrong', async () => {
    const impostor = await signed({ name: 'Middle', authority: true });
    const leaf = await signed({ issuer: impostor });
    expect(code(await verdict(show(leaf, middle)))).toBe('CERT_SIGNATURE_FAILURE (target)');
  });
});

describe('the certificate', () => {
  test('for clients only', async () => {
    const leaf = await signed({ issuer: root, usages: ['1.3.6.1.5.5.7.3.2'] });
    expect(code(await verdict(show(leaf)))).toBe('INVALID_PURPOSE (target)');
  });

  test('signed with SHA-1', async () => {
    const weak = await signed({ name: 'Weak', authority: true, issuer: root, algorithm: rsa(2048, 'SHA-1') });
    const leaf = await signed({ issuer: weak });
    const found = await verdict(show(leaf, weak));
    expect(code(found)).toBe('CERT_UNTRUSTED (target)');
    expect(found.base).toMatchObject({ reason: { message: expect.stringContaining('weak') } });
  });

  test('a key of 512 bits', async () => {
    const leaf = await signed({ issuer: root, algorithm: rsa(512, 'SHA-256') });
    expect(code(await verdict(show(leaf)))).toBe('TLS_ERROR (target)');
  });

  test('no common name, but alternative names', async () => {
    const leaf = await signed({ name: '', issuer: root });
    const found = await verdict(show(leaf));
    expect(code(found)).toBe('ok');
    expect(found.certificate).toMatchObject({ subject: '', altNames: [host] });
  });

  test('no names at all', async () => {
    const leaf = await signed({ name: '', names: null, issuer: root });
    expect(code(await verdict(show(leaf)))).toBe('ERR_TLS_CERT_ALTNAME_INVALID (target)');
  });

  test('1,000 names: a hundred are shown', async () => {
    const names = [host, ...Array.from({ length: 999 }, (_, index) => `n${index}.test`)];
    const found = await verdict(show(await signed({ issuer: root, names })));
    expect(code(found)).toBe('ok');
    expect((found.certificate as { altNames: string[] }).altNames).toHaveLength(100);
  });

  test('3,000 long names: more than a handshake may carry', async () => {
    const names = [host, ...Array.from({ length: 2999 }, (_, index) => `${index}${'-long'.repeat(10)}.test`)];
    const found = await verdict(show(await signed({ issuer: root, names })));
    expect(code(found)).toBe('TLS_ERROR (target)');
    expect(found.base).toMatchObject({
      reason: { message: expect.stringContaining('excessive message size') },
    });
  });

  test('revoked: nobody is asked', async () => {
    let asked = 0;
    const responder = await listening(
      createHttpServer((_request, response) => void ((asked += 1), response.end())),
    );
    running.push(responder);
    const leaf = await signed({ issuer: root, ocsp: `http://127.0.0.1:${responder.port}/` });
    expect(code(await verdict(show(leaf)))).toBe('ok');
    expect(asked).toBe(0);
  });
});

describe('the protocol', () => {
  test.each([
    ['TLS 1.0', { minVersion: 'TLSv1', maxVersion: 'TLSv1' }],
    ['TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }],
    ['no encryption', { maxVersion: 'TLSv1.2', ciphers: 'NULL:eNULL:@SECLEVEL=0' }],
    ['no authentication', { maxVersion: 'TLSv1.2', ciphers: 'aNULL:@SECLEVEL=0' }],
  ] as const)('%s', async (_name, options) => {
    expect(code(await verdict({ ...show(good, middle), ...options }))).toBe('TLS_ERROR (target)');
  });

  test('plain HTTP on the port of HTTPS', async () => {
    const server = await listening(createHttpServer((_request, response) => response.end('ok')));
    running.push(server);
    const job = urlJob({ url: `https://${host}:${server.port}/` });
    const { base } = await executeUrl(job, testContext({ network: network.network }));
    expect(base).toMatchObject({ ok: false, reason: { code: 'TLS_ERROR', owner: 'target' } });
  });
});

test('a URL check trusts only known roots, and skipSSL accepts each of these certificates', async () => {
  const server = await listening(createServer(show(good), (_request, response) => response.end('ok')));
  running.push(server);
  for (const skipSSL of [false, true]) {
    const job = urlJob({ url: `https://${host}:${server.port}/`, skipSSL });
    const { base } = await executeUrl(job, testContext({ network: network.network }));
    expect(base.ok ? 'ok' : base.reason.code).toBe(skipSSL ? 'ok' : 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  }
});
