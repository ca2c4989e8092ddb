import { fieldsOf, itemsOf, type Fields } from '../json-values.ts';

/** When the certificate of a target expires, read from the details of a result of any check type. */
export type CertificateExpiry = {
  /** The host that presented the certificate; null when only the request names it. */
  host: string | null;
  subject: string;
  issuer: string;
  /** ISO time; null when the details do not contain it. */
  expiresAt: string | null;
  /** Complete days; negative if it has expired. */
  daysRemaining: number;
};

const mostDays = 1e6;

/**
 * The certificate of URL and API checks is in `certificate`, that of a script's `sslCheckDomain` in `sslCheck`. SSL
 * checks have a whole chain in `response`: its first certificate to expire counts, as it does for the check itself.
 * Null without a certificate.
 */
export function certificateExpiryOf(details: Readonly<Fields>): CertificateExpiry | null {
  const own = plainExpiry(fieldsOf(details['certificate']), null);
  if (own !== null) return own;
  const { host, certificate } = fieldsOf(details['sslCheck']);
  return plainExpiry(fieldsOf(certificate), textIn(host)) ?? chainExpiry(details);
}

function plainExpiry(certificate: Readonly<Fields>, host: string | null): CertificateExpiry | null {
  const daysRemaining = daysIn(certificate['daysRemaining']);
  if (daysRemaining === null) return null;
  return {
    host,
    subject: textIn(certificate['subject']) ?? '',
    issuer: textIn(certificate['issuer']) ?? '',
    expiresAt: timeIn(certificate['validTo']),
    daysRemaining,
  };
}

function chainExpiry(details: Readonly<Fields>): CertificateExpiry | null {
  const response = fieldsOf(details['response']);
  const leaf = fieldsOf(response['certificate']);
  const earliest = fieldsOf(response['earliestExpiry']);
  const first =
    daysIn(earliest['daysUntilExpiry']) === null
      ? leaf
      : (itemsOf(response['chain']).map(fieldsOf).find(isSame(earliest)) ??
        (isSame(earliest)(leaf) ? leaf : earliest));
  const daysRemaining = daysIn(first['daysUntilExpiry']) ?? daysIn(details['daysUntilExpiry']);
  if (daysRemaining === null) return null;
  return {
    host: textIn(fieldsOf(details['request'])['hostname']),
    subject: textIn(first['subject']) ?? textIn(first['subjectCN']) ?? '',
    issuer: textIn(first['issuer']) ?? '',
    expiresAt: timeIn(first['notAfter']),
    daysRemaining,
  };
}

/** Finds a certificate of the chain by its expiry; its name alone may occur twice. */
const isSame = (earliest: Readonly<Fields>) => (certificate: Readonly<Fields>) =>
  certificate['notAfter'] === earliest['notAfter'] &&
  (certificate['subjectCN'] || certificate['subject']) === earliest['subjectCN'];

const textIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const timeIn = (value: unknown): string | null =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : null;

const daysIn = (value: unknown): number | null =>
  typeof value === 'number' && Math.abs(value) < mostDays ? Math.trunc(value) : null;
