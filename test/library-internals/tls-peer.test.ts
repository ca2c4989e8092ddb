import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpsServer, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, TLSSocket, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executeUrl } from '../../src/executors/url.ts';
import { readCertificate } from '../../src/executors/ssl/certificate.ts';
import { parsedCertificate } from '../../src/native/certificate-object.ts';
import { presentedCertificates, readPeersSafely } from '../../src/native/tls-peer.ts';
import { createAuthority, type Authority } from '../../src/targets/certificates.ts';
import {
  listening,
  startTestNetwork,
  testContext,
  urlJob,
  type TestNetwork,
} from '../helpers/network/http.ts';
import { issue } from '../helpers/network/authority.ts';
import { hasOpenssl, opensslIssue } from '../helpers/network/openssl-certificates.ts';

/** The methods of TLS sockets that the agent replaces, and what Node makes of them. */

// As the file is loaded, before any connection: how Node itself reads certificates.
const ownWay = TLSSocket.prototype.getPeerCertificate;
readPeersSafely();

let authority: Authority;
let network: TestNetwork;
beforeAll(async () => {
  authority = await createAuthority({ commonName: 'Test authority' });
  network = await startTestNetwork({ 'good.test': ['127.0.0.1'] });
});
afterAll(() => network.close());

const day = 86_400_000;
const issued = (more: { commonName?: string; names?: string[] } = {}) =>
  authority.issue({
    commonName: 'good.test',
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    ...more,
  });

async function serve(options: {
  cert: string;
  key: string;
}): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer(options, (socket) => socket.on('error', () => undefined));
  return listening(server);
}

async function opened(options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', servername: 'good.test', ...options });
  await once(socket, 'secureConnect');
  return socket;
}

const ders = (pem: string) =>
  pem.split(/(?=-----BEGIN)/).map((one) => new X509Certificate(one).raw.toString('hex'));
const hex = (certificates: readonly Buffer[]) => certificates.map((one) => one.toString('hex'));

describe('a certificate in the text of another one', () => {
  // Node looks for PEM in any bytes before it reads them as DER.
  const both = async () => {
    const root = await issue({ name: 'Root', authority: true }, Date.now());
    const inner = await issue({ name: 'victim.test', issuer: root }, Date.now());
    const outer = await issue({ name: 'evil.test', issuer: root, hidden: `\n${inner.pem}\n` }, Date.now());
    return { root, outer };
  };

  test('is not read in its place', async () => {
    const { outer } = await both();
    const der = Buffer.from(outer.pem.replaceAll(/-----.*?-----|\s/g, ''), 'base64');
    expect(new X509Certificate(der).subject).toBe('CN=victim.test');
    expect(parsedCertificate(der).subject).toBe('CN=evil.test');
    expect(readCertificate(der, Date.now()).facts.subjectCN).toBe('evil.test');
  });

  test('certificates of any length are read', async () => {
    const root = await issue({ name: 'Root', authority: true }, Date.now());
    // Lines of PEM have 48 bytes.
    for (let length = 0; length < 48; length++) {
      const { pem } = await issue({ name: 'a.test', issuer: root, hidden: 'x'.repeat(length) }, Date.now());
      const der = new X509Certificate(pem).raw;
      expect(parsedCertificate(der).raw.equals(der)).toBe(true);
    }
  });

  test('does not give its host name to the server', async () => {
    const { root, outer } = await both();
    const server = await serve({ cert: outer.pem, key: outer.key });
    const to = { host: '127.0.0.1', port: server.port, ca: root.pem };
    const honest = connect({ ...to, servername: 'evil.test' });
    await once(honest, 'secureConnect');
    honest.destroy();
    const [error] = (await once(connect({ ...to, servername: 'victim.test' }), 'error')) as [Error]; // its only error
    expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    await server.close();
  });
});

describe('certificates as the server sent them', () => {
  test("Node checks the host's name with the method that is replaced, and refuses a wrong one", async () => {
    const { cert, key } = await issued();
    const server = await serve({ cert, key });
    const ca = authority.certificate.cert;
    const socket = connect({ host: '127.0.0.1', port: server.port, servername: 'good.test', ca });
    const asked: unknown[] = [];
    const replaced = socket.getPeerCertificate.bind(socket);
    const seen = (detailed?: boolean) => {
      asked.push(detailed);
      return replaced(detailed);
    };
    socket.getPeerCertificate = seen as typeof socket.getPeerCertificate; // whose overload promises a chain
    await once(socket, 'secureConnect');
    expect(asked).toEqual([true]);
    expect([socket.authorized, replaced().subject.CN]).toEqual([true, 'good.test']);
    socket.destroy();
    const wrong = connect({ host: '127.0.0.1', port: server.port, servername: 'other.test', ca });
    const [error] = (await once(wrong, 'error')) as [Error]; // the socket's only error
    expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    await server.close();
  });

  test('two connections at once have their own, and none is left after the end', async () => {
    const one = await issued();
    const two = await issued({ commonName: 'two' });
    const both = [one.cert + authority.certificate.cert, two.cert + one.cert + authority.certificate.cert];
    const servers = [
      await serve({ ...one, cert: both[0] ?? '' }),
      await serve({ ...two, cert: both[1] ?? '' }),
    ];
    const sockets = await Promise.all(servers.map(({ port }) => opened({ port, rejectUnauthorized: false })));
    expect(sockets.map((socket) => hex(presentedCertificates(socket)))).toEqual(both.map(ders));
    for (const socket of sockets) socket.destroy();
    const early = connect({ host: '127.0.0.1', port: servers[0]?.port ?? 0, rejectUnauthorized: false });
    expect(presentedCertificates(early)).toEqual([]);
    early.destroy();
    await once(early, 'close');
    expect(presentedCertificates(early)).toEqual([]);
    await Promise.all(servers.map((server) => server.close()));
  });

  test("an object is equal to Node's own, but for the key and the chain", async () => {
    const names = ['good.test', '*.good.test', '10.0.0.1', 'a,b', 'quote"d'];
    const { cert, key } = await issued({ commonName: 'Zoë, "A + B" \\ #1 ', names });
    const server = await serve({ cert, key });
    const socket = await opened({ port: server.port, rejectUnauthorized: false });
    const safe = { ...socket.getPeerCertificate() };
    const own = ownWay.call(socket, false);
    const { subject, issuer, ca, subjectaltname, valid_from, valid_to, serialNumber, raw } = own;
    const { fingerprint, fingerprint256, fingerprint512 } = own;
    expect(safe).toEqual({
      subject,
      issuer,
      ca,
      subjectaltname,
      valid_from,
      valid_to,
      serialNumber,
      raw,
      fingerprint,
      fingerprint256,
      fingerprint512,
      ...(own.ext_key_usage === undefined ? {} : { ext_key_usage: own.ext_key_usage }),
    });
    socket.destroy();
    await server.close();
  });
});

if (!hasOpenssl) process.stdout.write('skipped: keys on curves without a NIST name (needs openssl)\n');

describe.skipIf(!hasOpenssl)('a key on a curve without a NIST name does not end the process', () => {
  const curve = (name: string) => ['ec', '-pkeyopt', `ec_paramgen_curve:${name}`];
  /** An authority with such a key. */
  function odd(): { pem: string; key: string } {
    const folder = mkdtempSync(join(tmpdir(), 'odd-authority-'));
    const files = ['-keyout', join(folder, 'key'), '-out', join(folder, 'pem')];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        ...curve('brainpoolP256r1'),
        '-nodes',
        ...files,
        '-subj',
        '/CN=Odd',
        '-days',
        '9',
      ],
      { stdio: 'pipe' },
    );
    const [key = '', pem = ''] = ['key', 'pem'].map((name) => readFileSync(join(folder, name), 'latin1'));
    rmSync(folder, { recursive: true });
    return { pem, key };
  }

  test.each([
    ['of the server', 'brainpoolP256r1'],
    ['of its issuer', 'P-256'],
  ])('%s', async (_name, key) => {
    const root = odd();
    const server = await listening(
      createHttpsServer(
        { ...opensslIssue(root, { key: curve(key) }), ecdhCurve: 'auto' },
        (_request, response) => response.end('here'),
      ),
    );
    const url = `https://good.test:${server.port}/`;
    const context = () => testContext({ network: network.network });
    const skipped = await executeUrl(urlJob({ url, skipSSL: true }), context());
    const judged = await executeUrl(urlJob({ url }), context());
    // Some versions of OpenSSL refuse a server's key of this kind.
    const reached = { base: { ok: true }, details: { certificate: { issuer: 'CN=Odd' } } };
    const refused = { base: { ok: false, reason: { code: 'TLS_ERROR' } } };
    expect(skipped).toMatchObject(skipped.base.ok ? reached : refused);
    expect(judged.base.ok).toBe(false);
    // What any library of this process does, with the authority trusted.
    const [answer] = (await once(
      get({ host: '127.0.0.1', port: server.port, servername: 'good.test', ca: root.pem }),
      'response',
    ).catch((error: unknown) => [error])) as [object]; // a response, or OpenSSL's refusal
    expect(['statusCode' in answer, 'code' in answer]).toContain(true);
    await server.close();
  });
});
