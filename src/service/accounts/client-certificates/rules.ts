import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { certificateHostMatch } from '../../../protocol/certificate-host.ts';
import type { ClientCertificate } from '../../../protocol/job.ts';
import type { ClientCertificateRow } from './statements.ts';
import type { Encryption } from '../../engine/encryption.ts';
import type { ErrorAttributes } from '../../http/validation-errors.ts';

/** Rules for client certificates, and the choice of a check's certificates. */

export type CertificateParts = { cert: string; key: string; ca: string | null; passphrase: string | null };

/** Passphrase iterations allowed for opening a key, because the service waits for them. */
const maxIterations = 1_000_000;

const pemForm = (what: string) =>
  `must be ${what} in PEM form ("-----BEGIN ...-----"); convert a PKCS #12 file (.p12, .pfx) with: ` +
  'openssl pkcs12 -in FILE -out client.pem';

const pemBlocks = (text: string): { label: string; bytes: Buffer }[] =>
  [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/g)].map(
    ([, label = '', content = '']) => ({ label, bytes: Buffer.from(content, 'base64') }),
  );

function parseCertificate(pem: string): X509Certificate | null {
  const blocks = pemBlocks(pem);
  if (blocks.length === 0 || blocks.some(({ label }) => label !== 'CERTIFICATE')) return null;
  try {
    for (const { bytes } of blocks) new X509Certificate(bytes);
    // As lists, agents and OpenSSL read it: more strictly than this file finds the blocks.
    const first = new X509Certificate(pem);
    const hasTimes = [first.validFrom, first.validTo].every((time) => !Number.isNaN(Date.parse(time)));
    return hasTimes ? first : null;
  } catch {
    return null;
  }
}

/** Yields the integers in the sequences of a DER text (X.690), as far as it can be parsed. */
function* derIntegers(bytes: Buffer, depth = 0): Generator<bigint> {
  for (let at = 0; at + 2 <= bytes.length && depth < 10;) {
    const tag = bytes[at];
    let length = bytes[at + 1] ?? 0;
    let head = 2;
    if (length >= 0x80) {
      const octets = length & 0x7f;
      if (octets === 0 || octets > 4 || at + 2 + octets > bytes.length) return;
      length = bytes.readUIntBE(at + 2, octets);
      head += octets;
    }
    const content = bytes.subarray(at + head, at + head + length);
    if (tag === 0x30) yield* derIntegers(content, depth + 1);
    if (tag === 0x02 && content.length > 0) yield BigInt(`0x${content.toString('hex')}`);
    at += head + length;
  }
}

/** Whether opening the key would take long. An encrypted key contains its iteration count. */
const isSlowKey = (pem: string): boolean =>
  pemBlocks(pem)
    .filter(({ label }) => label === 'ENCRYPTED PRIVATE KEY')
    .some(({ bytes }) => [...derIntegers(bytes)].some((integer) => integer > maxIterations));

function parseKey({
  key,
  passphrase,
}: CertificateParts): { key: KeyObject } | { field: string; reason: string } {
  if (!pemBlocks(key).some(({ label }) => label.endsWith('PRIVATE KEY'))) {
    return { field: 'key', reason: pemForm('a private key') };
  }
  if (isSlowKey(key)) {
    return {
      field: 'key',
      reason: `hashes its passphrase more than ${maxIterations} times: encrypt it again with fewer iterations`,
    };
  }
  const isEncrypted = /ENCRYPTED/.test(key);
  if (isEncrypted && passphrase === null)
    return { field: 'passphrase', reason: 'is required: the key is encrypted' };
  try {
    return { key: createPrivateKey({ key, format: 'pem', ...(passphrase === null ? {} : { passphrase }) }) };
  } catch {
    return isEncrypted
      ? { field: 'passphrase', reason: 'does not open the key' }
      : { field: 'key', reason: 'cannot be read as a private key' };
  }
}

/** The problems of a certificate and its key, by field; null = none. */
export function certificateProblems(parts: CertificateParts): ErrorAttributes | null {
  const problems: ErrorAttributes = {};
  const certificate = parseCertificate(parts.cert);
  if (certificate === null) problems['cert'] = [pemForm('a certificate, with its chain if it has one,')];
  if (parts.ca !== null && parseCertificate(parts.ca) === null) {
    problems['ca'] = [pemForm('certificates')];
  }
  const parsed = parseKey(parts);
  if ('field' in parsed) problems[parsed.field] = [parsed.reason];
  else if (certificate !== null && !certificate.checkPrivateKey(parsed.key)) {
    problems['key'] = ['is not the key of the certificate'];
  }
  return Object.keys(problems).length > 0 ? problems : null;
}

/** The facts of a certificate that lists show. It was validated before it was stored. */
export function certificateFacts(pem: string): {
  subject: string;
  issuer: string;
  fingerprint: string;
  notBefore: string;
  expiresAt: string;
} {
  const certificate = new X509Certificate(pem);
  const names = (text: string) => text.split('\n').join(', ');
  return {
    subject: names(certificate.subject),
    issuer: names(certificate.issuer),
    fingerprint: certificate.fingerprint256,
    notBefore: new Date(certificate.validFrom).toISOString(),
    expiresAt: new Date(certificate.validTo).toISOString(),
  };
}

/** The target of a request; null = a template decides it. */
function targetOf(url: string): { host: string; port: number } | null {
  // Only the host matters; the rest of the URL may contain variables.
  const authority = /^https?:\/\/[^/?#]*/i.exec(url)?.[0];
  if (authority === undefined || authority.includes('{{') || !URL.canParse(authority)) return null;
  const { hostname, port, protocol } = new URL(authority);
  return { host: hostname, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}

/**
 * The certificates of a job, oldest first, in the agent's form: those that match its host, or all if a template
 * decides the host. An agent never gets a key that the check cannot use. Throws EncryptionError.
 */
export function certificatesFor(
  rows: readonly ClientCertificateRow[],
  { url, encryption }: { url: string | null; encryption: Encryption },
): ClientCertificate[] {
  const target = rows.length === 0 || url === null ? null : targetOf(url);
  return rows
    .filter(({ host }) => target === null || certificateHostMatch(host, target) !== null)
    .map(({ host, cert, key, ca, passphrase }) => ({
      host,
      cert,
      key: encryption.open(key),
      ca,
      passphrase: passphrase === null ? null : encryption.open(passphrase),
    }));
}
