import { readCertificate, type Certificate } from '../../../../src/executors/ssl/certificate.ts';
import { DerError, encodeOid, oidOf, readElement, timeOf } from '../../../../src/executors/ssl/der.ts';
import { isForName, judgeTrust } from '../../../../src/executors/ssl/trust.ts';
import { NotDerError } from '../../../../src/native/certificate-object.ts';
import { usualCertificates } from '../../engine/usual-certificates.ts';

/** Certificates that servers show in a handshake: each is described within bounds, or refused. */

export const name = 'ssl-certificates';

const now = 1_772_700_000_000;
let issuer: Certificate | null = null;

/** Throws if a certificate is not read, and not refused by our own error or the one of node:crypto. */
export async function run(data: Buffer): Promise<void> {
  issuer ??= readCertificate((await usualCertificates()).root, now);
  readParts(data);
  let certificate: Certificate;
  try {
    certificate = readCertificate(data, now);
  } catch (error) {
    if (error instanceof DerError || error instanceof NotDerError || isOfCrypto(error)) return;
    throw error;
  }
  const { facts } = certificate;
  if (!Number.isInteger(facts.daysUntilExpiry)) throw new Error(`${facts.daysUntilExpiry} days`);
  if (!/^-?\d+$|^[0-9A-F]+$/i.test(facts.serialNumber)) throw new Error(`serial ${facts.serialNumber}`);
  const text = JSON.stringify(facts);
  if (text.length > 500_000) throw new Error(`${text.length} characters of facts`);
  for (const chain of [[certificate], [certificate, issuer], [certificate, certificate, issuer]]) {
    for (const code of [null, 'CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN']) judgeTrust(chain, code);
  }
  isForName(certificate, 'good.test');
  isForName(certificate, '10.0.0.1');
}

/** The readers of single values, which take any element. */
function readParts(data: Buffer): void {
  for (const read of [timeOf, (element: ReturnType<typeof readElement>) => encodeOid(oidOf(element))]) {
    try {
      const value = read(readElement(data));
      if (typeof value === 'number' && Number.isNaN(value)) throw new Error('a time that is none');
    } catch (error) {
      if (!(error instanceof DerError)) throw error;
    }
  }
}

const isOfCrypto = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^ERR_(OSSL|CRYPTO|INVALID)/.test(String(error.code));

export const seeds = async (): Promise<Buffer[]> => {
  const { root, leaf, odd } = await usualCertificates();
  return [
    root,
    leaf,
    odd,
    Buffer.from('170d3236303130313030303030305a', 'hex'),
    Buffer.from('180f32303530303130313030303030305a', 'hex'),
    Buffer.from('06092a864886f70d01010b', 'hex'),
  ];
};

export const dictionary = [
  'http://',
  'DNS:',
  'Z',
  '99991231235959Z',
  '00000101000000Z',
  ...[
    '3082',
    '3084ffffffff',
    '170d',
    '180f',
    '0603551d11',
    '0603551d1f',
    '06082b06010505070101',
    '060a2b06010401d679020402',
    '06082b06010505070118',
    '020100',
    '0201ff',
    '0209ffffffffffffffffff',
    'a003020102',
    'a200',
    '0400',
    '3000',
    '06092a864886f70d01010a',
  ].map((text) => Buffer.from(text, 'hex')),
];
