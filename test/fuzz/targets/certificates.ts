import { createPrivateKey } from 'node:crypto';
import { clientCertificateFacts } from '../../../src/executors/http/tls-facts.ts';
import {
  certificateFacts,
  certificateProblems,
} from '../../../src/service/accounts/client-certificates/rules.ts';

/** Uploaded client certificates: what the service accepts, it and the agents can describe. */

export const name = 'certificates';

/** Ed25519, from bytes that mean nothing. */
const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]);
const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({
  type: 'pkcs8',
  format: 'pem',
});
/** A certificate of that key with names of several kinds, in DER. */
const der = Buffer.from(
  'MIIBsDCCAWKgAwIBAgIUE2Fm6zb0H3HWopRhY/fhWzXSseQwBQYDK2VwMDQxCzAJBgNVBAYTAkRFMREwDwYDVQQKDAhTaG9wICJ4' +
    'IjESMBAGA1UEAwwJc2hvcC50ZXN0MB4XDTI2MTEyMzE2MzU0MFoXDTM2MTEyMDE2MzU0MFowNDELMAkGA1UEBhMCREUxETAPBgNV' +
    'BAoMCFNob3AgIngiMRIwEAYDVQQDDAlzaG9wLnRlc3QwKjAFBgMrZXADIQDqSmxj4pxSCr71UHsTLsX5lUd2rr6+e5JCHuppFEbS' +
    'LKOBhTCBgjAdBgNVHQ4EFgQUTF7OQCOgNB7irP/MTRcVSoVPAuUwHwYDVR0jBBgwFoAUTF7OQCOgNB7irP/MTRcVSoVPAuUwDwYD' +
    'VR0TAQH/BAUwAwEB/zAvBgNVHREEKDAmgglzaG9wLnRlc3SHBAoAAAGGE2h0dHBzOi8vc2hvcC50ZXN0L2EwBQYDK2VwA0EAGZIo' +
    'mjk2vGCMBym0rRNWoNoNt/7DhO8K7ltEPGGBp4zhifPWM0wvjlfWJI6gUP3CuKR1C3iXNYsGizIkxCFcCw==',
  'base64',
);

const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64')}\n-----END ${label}-----\n`;

/** The first byte chooses: the rest is the certificate in DER (0), in PEM (1), the key (2), or the authority (3). */
export function run(data: Buffer): void {
  const bytes = data.subarray(1);
  const part = (data[0] ?? 0) % 4;
  const cert =
    part === 0 ? pem('CERTIFICATE', bytes) : part === 1 ? bytes.toString() : pem('CERTIFICATE', der);
  const parts = {
    cert,
    key: part === 2 ? bytes.toString() : String(key),
    ca: part === 3 ? bytes.toString() : null,
    passphrase: part === 2 ? 'x' : null,
  };
  if (certificateProblems(parts) !== null) return;
  certificateFacts(cert);
  const { daysRemaining } = clientCertificateFacts({ host: '*', cert }, 1_772_700_000_000);
  if (!Number.isInteger(daysRemaining)) throw new Error(`${daysRemaining} days remaining`);
}

export const seeds = (): Buffer[] => [
  Buffer.concat([Buffer.from([0]), der]),
  Buffer.from(`\x01text\n${pem('CERTIFICATE', der)}${pem('CERTIFICATE', der)}`),
  Buffer.from(`\x02${String(key)}`),
  Buffer.from(`\x02${pem('ENCRYPTED PRIVATE KEY', pkcs8)}`),
  Buffer.from(`\x03${pem('CERTIFICATE', der)}`),
];

export const dictionary = [
  '-----BEGIN ',
  '-----END ',
  'CERTIFICATE',
  'PRIVATE KEY',
  '-----',
  '\n',
  'Z',
  '99991231235959Z',
  '000000000000Z',
  ...[
    [0x30, 0x82],
    [0x17, 0x0d],
    [0x18, 0x0f],
    [0x06, 0x03, 0x55],
    [0x02, 0x01],
    [0x84, 0xff],
  ].map((each) => Buffer.from(each)),
];
