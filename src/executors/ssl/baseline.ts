import type { SecurityBaseline } from '../../protocol/ssl.ts';
import { versionNumber } from './handshake.ts';
import type { Certificate } from './certificate.ts';

/** The rules of the security baseline: facts in, verdict and grade with reasons out. */

export type Severity = 'fail' | 'degrade' | 'ignore';
type Rule = { violated: boolean; severity: Severity; reason: string | null };
export type Verdict = {
  verdict: 'pass' | 'warn' | 'fail';
  grade: 'A-' | 'B' | 'F';
  /** Why the grade is not the best one. */
  reasons: string[];
  rules: { [rule: string]: Rule };
};

/** What the rules look at. */
export type Inspected = {
  tlsVersion: string;
  cipherSuite: string;
  /** As presented, leaf first. */
  chain: readonly Certificate[];
  stapled: boolean;
  scts: boolean;
  /** Weak versions and suites that the server also accepts; empty if it was not asked. */
  accepted: { versions: readonly string[]; weakCiphers: readonly string[] };
};

const weakSignatures: ReadonlySet<string> = new Set([
  'MD2-RSA',
  'MD5-RSA',
  'SHA1-RSA',
  'SHA1-RSAPSS',
  'DSA-SHA1',
  'ECDSA-SHA1',
]);

/** RC4, DES, 3DES, NULL, EXPORT, anonymous and MD5 suites, by their IANA names. */
const weakSuite = /RC4|DES|NULL|EXPORT|anon|_MD5|RC2|IDEA|SEED/i;
export const isWeakSuite = (name: string): boolean => weakSuite.test(name);

/** Curves of which the security is below that of RSA with 2,048 bits. */
const smallestCurve = 224;

/** Authorities that browsers removed for misbehaviour, by the names in their certificates. */
const distrusted: readonly RegExp[] = [
  /CN=DigiNotar /i,
  /O=WoSign CA/i,
  /CN=StartCom /i,
  /O=CNNIC\b/i,
  /O=TrustCor Systems/i,
  /O="?TÜRKTRUST/i,
];

/** Judges a handshake that passed the checks of name and chain. */
export function judgeBaseline(baseline: SecurityBaseline, inspected: Inspected): Verdict {
  if (!baseline.enabled) return { verdict: 'pass', grade: 'A-', reasons: [], rules: {} };
  const [leaf] = inspected.chain;
  const rules: Verdict['rules'] = {};
  const rule = (name: string, severity: Severity, reason: string | null) => {
    rules[name] = { violated: reason !== null, severity, reason };
  };
  const versions = [inspected.tlsVersion, ...inspected.accepted.versions];
  const oldest = versions.toSorted((a, b) => (versionNumber(a) ?? 0) - (versionNumber(b) ?? 0))[0] ?? '';
  const isOlder = (version: string, than: string) =>
    (versionNumber(version) ?? 0) < (versionNumber(than) ?? 0);
  rule(
    'minTLSVersion',
    baseline.minTLSVersion.severity,
    isOlder(oldest, baseline.minTLSVersion.value)
      ? `${oldest === inspected.tlsVersion ? 'the connection uses' : 'the server also accepts'} ${oldest}, below ${baseline.minTLSVersion.value}`
      : null,
  );
  rule('minKeySizeBits', baseline.minKeySizeBits.severity, smallKey(leaf, baseline.minKeySizeBits.value));
  const weak = inspected.chain.find(
    ({ facts }) => !facts.selfSigned && weakSignatures.has(facts.signatureAlgorithm),
  );
  const signature =
    weak === undefined ? null : `${nameOf(weak)} is signed with ${weak.facts.signatureAlgorithm}`;
  rule('weakSignatureAlgorithm', baseline.weakSignatureAlgorithm.severity, signature);
  const suites = [inspected.cipherSuite, ...inspected.accepted.weakCiphers].filter(isWeakSuite);
  rule(
    'weakCipherSuite',
    baseline.weakCipherSuite.severity,
    suites.length === 0 ? null : `the server accepts ${suites.join(', ')}`,
  );
  const bad = inspected.chain.find(({ facts }) =>
    distrusted.some((name) => name.test(facts.subject) || name.test(facts.issuer)),
  );
  rule(
    'knownBadCA',
    baseline.knownBadCA.severity,
    bad === undefined ? null : `${nameOf(bad)} comes from an authority that browsers distrust`,
  );
  rule(
    'recommendedTLSVersion',
    baseline.recommendedTLSVersion.severity,
    isOlder(inspected.tlsVersion, baseline.recommendedTLSVersion.value)
      ? `the connection uses ${inspected.tlsVersion}; ${baseline.recommendedTLSVersion.value} is recommended`
      : null,
  );
  rule(
    'recommendedKeySizeBits',
    baseline.recommendedKeySizeBits.severity,
    smallKey(leaf, baseline.recommendedKeySizeBits.value),
  );
  rule(
    'ocspMustStapleRespected',
    baseline.ocspMustStapleRespected.severity,
    leaf?.facts.mustStaple === true && !inspected.stapled
      ? 'the certificate demands a stapled OCSP response, and there was none'
      : null,
  );
  rule(
    'sctPresent',
    baseline.sctPresent.severity,
    inspected.scts ? null : 'no certificate timestamp (SCT) was seen',
  );
  return { ...gradeOf(rules), rules };
}

/** An ignored rule is shown, and changes neither verdict nor grade. */
function gradeOf(rules: Verdict['rules']): Omit<Verdict, 'rules'> {
  const violated = Object.values(rules).filter((rule) => rule.violated && rule.severity !== 'ignore');
  const reasons = violated.flatMap(({ reason }) => reason ?? []);
  if (violated.some(({ severity }) => severity === 'fail')) return { verdict: 'fail', grade: 'F', reasons };
  return violated.length > 0
    ? { verdict: 'warn', grade: 'B', reasons }
    : { verdict: 'pass', grade: 'A-', reasons };
}

/** RSA keys are compared with the limit; keys on a curve have a limit of their own, which is as strong as RSA-2048. */
function smallKey(leaf: Certificate | undefined, limit: number): string | null {
  const { keyAlgorithm, keySizeBits } = leaf?.facts ?? { keyAlgorithm: '', keySizeBits: null };
  if (keySizeBits === null) return null;
  if (keyAlgorithm === 'ECDSA') {
    return keySizeBits < smallestCurve
      ? `the key has ${keySizeBits} bits on a curve, below ${smallestCurve}`
      : null;
  }
  if (keyAlgorithm !== 'RSA' && keyAlgorithm !== 'DSA') return null;
  return keySizeBits < limit ? `the key has ${keySizeBits} bits, below ${limit}` : null;
}

const nameOf = ({ facts }: Certificate) => facts.subjectCN || facts.subject || 'a certificate';
