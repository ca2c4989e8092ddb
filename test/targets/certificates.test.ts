import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthority, selfSigned } from '../../src/targets/certificates.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'certificates-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const validity = { notBefore: new Date('2026-01-02T03:04:05Z'), notAfter: new Date('2055-06-07T08:09:10Z') };

test('openssl accepts the certificates of the authority by its strictest rules', async () => {
  const authority = await createAuthority({
    commonName: 'Test authority',
    now: new Date('2026-03-01T00:00:00Z'),
  });
  const leaf = await authority.issue({
    commonName: 'a.test',
    names: ['a.test', '*.b.test', '10.0.0.1', 'fe80::1'],
    ...validity,
  });
  const ca = join(folder, 'ca.pem');
  const cert = join(folder, 'leaf.pem');
  writeFileSync(ca, authority.certificate.cert);
  writeFileSync(cert, leaf.cert);
  const at = String(Date.parse('2026-06-01T00:00:00Z') / 1000);
  const verdict = execFileSync('openssl', ['verify', '-x509_strict', '-attime', at, '-CAfile', ca, cert], {
    encoding: 'utf8',
  });
  expect(verdict.trim()).toBe(`${cert}: OK`);
});

test('names, validity and issuer are as requested', async () => {
  const authority = await createAuthority({ commonName: 'Test authority' });
  const issued = await authority.issue({
    commonName: 'a.test',
    names: ['a.test', '10.0.0.1', 'fe80::1'],
    ...validity,
  });
  const leaf = new X509Certificate(issued.cert);
  const ca = new X509Certificate(authority.certificate.cert);
  expect({
    subject: leaf.subject,
    issuer: leaf.issuer,
    names: leaf.subjectAltName,
    from: Date.parse(leaf.validFrom),
    to: Date.parse(leaf.validTo),
    ca: leaf.ca,
    issuedByCa: leaf.checkIssued(ca) && leaf.verify(ca.publicKey),
    caIsOne: ca.ca,
  }).toEqual({
    subject: 'CN=a.test',
    issuer: 'CN=Test authority',
    names: 'DNS:a.test, IP Address:10.0.0.1, IP Address:FE80:0:0:0:0:0:0:1',
    from: validity.notBefore.getTime(),
    to: validity.notAfter.getTime(),
    ca: false,
    issuedByCa: true,
    caIsOne: true,
  });
});

test('a self-signed certificate is its own issuer', async () => {
  const own = new X509Certificate((await selfSigned({ commonName: 'alone.test', ...validity })).cert);
  expect([own.issuer, own.subject, own.verify(own.publicKey)]).toEqual([
    'CN=alone.test',
    'CN=alone.test',
    true,
  ]);
});
