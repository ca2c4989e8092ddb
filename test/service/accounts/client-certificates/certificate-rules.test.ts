import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  certificateFacts,
  certificateProblems,
} from '../../../../src/service/accounts/client-certificates/rules.ts';
import { createAuthority } from '../../../../src/targets/certificates.ts';

/** A certificate that is accepted can be described; one that OpenSSL would not load is refused. */

const authority = await createAuthority({ commonName: 'Test Authority' });
const from = new Date('2020-01-01T00:00:00Z');
const client = await authority.issue({
  commonName: 'client',
  notBefore: from,
  notAfter: new Date('2036-01-01'),
});
const der = new X509Certificate(client.cert).raw;
const pemOf = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`;
const problemsOf = (cert: string) =>
  certificateProblems({ cert, key: client.key, ca: null, passphrase: null });

test('good', () => {
  expect(problemsOf(client.cert)).toBeNull();
  expect(certificateFacts(client.cert).subject).toBe('CN=client');
});

/** The time at which it becomes valid, as it lies in the certificate: UTCTime of 2020. */
const withTime = (time: string): Buffer => {
  const bytes = Buffer.from(der);
  const at = bytes.indexOf('200101000000Z');
  expect(at).toBeGreaterThan(0);
  bytes.write(time, at);
  return bytes;
};

test.each([
  ['bytes after its end', Buffer.concat([der, Buffer.from([0])])],
  ['a time that is none', withTime('209901000000Z')],
])('refused: %s', (_name, bytes) => {
  expect(problemsOf(pemOf(bytes))).toEqual({ cert: [expect.stringContaining('must be a certificate')] });
});
