import { isFields, type Fields } from '../../json-values.ts';
import { printableLine } from '../terminal-text.ts';

/** Formats what an SSL check found for a terminal: grade, name, trust and the chain. */

const maxLinks = 10;
const maxShownText = 120;

/** Lines of an SSL check's details; empty for other types and for a connection without a handshake. */
export function sslLines({ response }: Fields): string[] {
  if (!isFields(response) || !Array.isArray(response['chain'])) return [];
  const baseline = isFields(response['securityBaseline']) ? response['securityBaseline'] : {};
  const reasons = Array.isArray(baseline['reasons']) ? baseline['reasons'].map(String) : [];
  const accepted = isFields(response['accepted']) ? response['accepted'] : null;
  const facts: [string, string][] = [
    ['connection', [response['protocol'], response['cipherSuite']].map(String).join(', ')],
    ['grade', gradeText(baseline['grade'], reasons)],
    ['name', response['hostnameVerified'] === true ? 'matches' : 'does not match'],
    ['chain', chainText(response)],
    ['revocation', String(response['ocspStatus'] ?? 'unknown')],
    ...(accepted === null ? [] : acceptedFacts(accepted)),
  ];
  const links = response['chain'].filter(isFields).slice(0, maxLinks);
  return [
    ...facts.map(([name, text]) => `${name.padEnd(12)}  ${printableLine(text, maxShownText)}`),
    ...links.map(
      (link, index) => `${String(index + 1).padStart(12)}  ${printableLine(linkText(link), maxShownText)}`,
    ),
  ];
}

const gradeText = (grade: unknown, reasons: readonly string[]) =>
  typeof grade === 'string'
    ? `${grade}${reasons.length === 0 ? '' : `: ${reasons.join('; ')}`}`
    : 'none: the name or the chain does not hold';

function chainText(response: Fields): string {
  const detail = response['chainTrustDetail'];
  const trust =
    response['chainTrusted'] === true
      ? 'trusted'
      : `not trusted: ${typeof detail === 'string' ? detail : 'unknown'}`;
  return response['chainOrdered'] === false ? `${trust}; the certificates are out of order` : trust;
}

function acceptedFacts(accepted: Fields): [string, string][] {
  const names = (value: unknown) => (Array.isArray(value) ? value.map(String).join(', ') : '');
  const { incomplete } = accepted;
  return [
    ['accepts', names(accepted['versions'])],
    ['weak suites', names(accepted['weakCiphers']) || 'none'],
    ...(typeof incomplete === 'string' ? [['', incomplete] as [string, string]] : []),
  ];
}

function linkText(link: Fields): string {
  const name = String(link['subjectCN'] || link['subject'] || 'a certificate');
  const key = [link['keyAlgorithm'], link['keySizeBits']].filter((part) => part !== null).join(' ');
  const until = `until ${String(link['notAfter']).slice(0, 10)} (${String(link['daysUntilExpiry'])} days)`;
  return `${name}, issued by ${String(link['issuerCN'] || link['issuer'])}, ${key}, ${until}`;
}
