import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { SslConfig } from '../../protocol/ssl.ts';
import { platformCode } from '../http/failures.ts';
import type { Inspection } from './response.ts';

/** Whether what was found fails a check or degrades it, and why. */

/** What kept the check from passing, in the words of section 1.3. */
export type Category = 'dns' | 'connect' | 'timeout' | 'handshake' | 'hostname' | 'chain';
export type Failure = { category: Category | null; reason: Reason };

/**
 * Why the target fails, in the order in which a person would want to know; null = it passes. `now`: milliseconds since the
 * epoch.
 */
export function failureOf(config: SslConfig, inspection: Inspection, now: number): Failure | null {
  const { response, trust, verdict, certificates } = inspection;
  const { certificate: leaf } = response;
  const shownName = leaf.subjectCN || leaf.subject || 'the certificate';
  if (response.ocspStatus === 'revoked') {
    return { category: null, reason: reasonOf('CERT_REVOKED', `${shownName} was revoked`) };
  }
  const early = certificates.find(({ facts }) => Date.parse(facts.notBefore) > now);
  const { earliestExpiry } = response;
  if (earliestExpiry.daysUntilExpiry < 0) {
    const message = `${earliestExpiry.subjectCN} expired on ${earliestExpiry.notAfter.slice(0, 10)}`;
    return { category: null, reason: reasonOf('CERT_HAS_EXPIRED', message) };
  }
  if (early !== undefined) {
    const message = `${early.facts.subjectCN} is valid only from ${early.facts.notBefore}`;
    return { category: null, reason: reasonOf('CERT_NOT_YET_VALID', message) };
  }
  if (!response.hostnameVerified) {
    const names = leaf.sans.length === 0 ? shownName : leaf.sans.slice(0, 5).join(', ');
    const message = `the certificate is for ${names}${leaf.sans.length > 5 ? ' and others' : ''}`;
    return { category: 'hostname', reason: reasonOf('ERR_TLS_CERT_ALTNAME_INVALID', message) };
  }
  if (!response.chainTrusted && !config.skipChainValidation) {
    const message = `${trust.detail ?? 'the chain is not trusted'}${trust.missingIntermediate === null ? '' : ` (missing: ${trust.missingIntermediate})`}`;
    return { category: 'chain', reason: reasonOf(trustCode(trust.reason), message) };
  }
  if (verdict?.verdict === 'fail') {
    return { category: null, reason: reasonOf('TLS_BASELINE', `grade F: ${verdict.reasons.join('; ')}`) };
  }
  if (config.failDaysBeforeExpiry > 0 && earliestExpiry.daysUntilExpiry <= config.failDaysBeforeExpiry) {
    return { category: null, reason: reasonOf('CERT_EXPIRES_SOON', expiryMessage(earliestExpiry)) };
  }
  return null;
}

type Expiry = Inspection['response']['earliestExpiry'];
const expiryMessage = ({ subjectCN, notAfter, daysUntilExpiry: days }: Expiry) =>
  `${subjectCN} expires in ${days} ${days === 1 ? 'day' : 'days'}, on ${notAfter.slice(0, 10)}`;

const trustCode = (code: string | null) => (code === null ? null : platformCode(code)) ?? 'CERT_UNTRUSTED';

/** Why the run is degraded, if nothing fails it. */
export function degradedBy(config: SslConfig, { response, verdict }: Inspection): Reason | null {
  const { earliestExpiry } = response;
  if (earliestExpiry.daysUntilExpiry <= config.alertDaysBeforeExpiry) {
    return reasonOf('CERT_EXPIRES_SOON', expiryMessage(earliestExpiry));
  }
  return verdict?.verdict === 'warn'
    ? reasonOf('TLS_BASELINE', `grade B: ${verdict.reasons.join('; ')}`)
    : null;
}
