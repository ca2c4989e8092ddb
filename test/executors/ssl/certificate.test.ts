import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { readCertificate } from '../../../src/executors/ssl/certificate.ts';
import { createAuthority } from '../../../src/targets/certificates.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);

async function issued(): Promise<Buffer> {
  const authority = await createAuthority({ commonName: 'Test authority' });
  const { cert } = await authority.issue({
    commonName: 'good.test',
    notBefore: new Date(start),
    notAfter: new Date(start + 30 * day),
  });
  return new X509Certificate(cert).raw;
}

test('a certificate that is read again has the days of the new moment', async () => {
  const raw = await issued();
  expect(readCertificate(raw, start).facts.daysUntilExpiry).toBe(30);
  expect(readCertificate(raw, start + 10 * day).facts.daysUntilExpiry).toBe(20);
  expect(readCertificate(raw, start + 31 * day).facts.daysUntilExpiry).toBe(-1);
});

test('a certificate is parsed once, and changes to what was read do not affect the next reader', async () => {
  const raw = await issued();
  const first = readCertificate(raw, start);
  const before = structuredClone(first.facts);
  first.facts.sans.push('other.test');
  first.facts.subject = '';
  const again = readCertificate(Buffer.from(raw), start);
  expect(again.x509).toBe(first.x509);
  expect(again.facts).toEqual(before);
});

test('bytes that differ in one place are another certificate', async () => {
  const raw = await issued();
  const first = readCertificate(raw, start);
  const changed = Buffer.from(raw);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1; // the signature's last byte
  const other = readCertificate(changed, start);
  expect(other.x509).not.toBe(first.x509);
  expect(other.facts.fingerprintSha256).not.toBe(first.facts.fingerprintSha256);
});
