import type { SslConfig } from '../../protocol/ssl.ts';
import { rounded } from '../../rounding.ts';
import { judgeBaseline, type Verdict } from './baseline.ts';
import { readCertificate, type Certificate, type CertificateFacts } from './certificate.ts';
import { versionName, type Shown } from './handshake.ts';
import type { Revocation } from './revocation.ts';
import type { Accepted } from './scan.ts';
import { isForName, judgeTrust, type Trust } from './trust.ts';

/** What an SSL check found out, for results and assertions (facts, section 1.5). Times in milliseconds. */
export type SslResponse = {
  resolvedIp: string | null;
  protocol: string;
  cipherSuite: string;
  handshakeTimeMs: number;
  hostnameVerified: boolean;
  chainTrusted: boolean;
  chainTrustReason: string | null;
  chainTrustDetail: string | null;
  incompleteChain: boolean;
  missingIntermediate: string | null;
  /** Each certificate is followed by its issuer, and none is superfluous. */
  chainOrdered: boolean;
  /** Of the leaf. */
  daysUntilExpiry: number;
  /** The certificate of the chain that expires first. */
  earliestExpiry: { subjectCN: string; notAfter: string; daysUntilExpiry: number };
  ocspStapled: boolean;
  ocspStatus: string | null;
  revocation: Omit<Revocation, 'hasScts'>;
  accepted: Accepted | null;
  securityBaseline: Record<string, unknown>;
  certificate: CertificateFacts;
  chain: CertificateFacts[];
};

/** A handshake with everything that was concluded from it. */
export type Inspection = {
  response: SslResponse;
  trust: Trust;
  verdict: Verdict | null;
  certificates: Certificate[];
};

/** Reads the certificates of a handshake. Throws DerError or node:crypto's error if one of them cannot be read. */
export function readPresented(shown: Shown, now: number): Certificate[] {
  return shown.presented.map((raw) => readCertificate(raw, now));
}

/** Concludes everything from a handshake. `certificates` has at least the leaf. */
export function inspect(options: {
  config: SslConfig;
  serverName: string;
  shown: Shown;
  certificates: readonly [Certificate, ...Certificate[]];
  address: string | null;
  handshakeMs: number;
  revocation: Revocation;
  accepted: Accepted | null;
}): Inspection {
  const { config, shown, certificates, revocation, accepted } = options;
  const [leaf] = certificates;
  const trust = judgeTrust(certificates, shown.authorizationError);
  const hostnameVerified = isForName(leaf, options.serverName);
  const protocol = versionName(shown.protocol);
  // The baseline judges only a connection that one would use at all.
  const counts = hostnameVerified && (trust.chainTrusted || config.skipChainValidation);
  const verdict = counts
    ? judgeBaseline(config.securityBaseline, {
        tlsVersion: protocol,
        cipherSuite: shown.cipher,
        chain: certificates,
        stapled: shown.stapled !== null,
        scts: leaf.facts.scts > 0 || revocation.hasScts,
        accepted: {
          versions: accepted?.versions.filter((version) => version !== protocol) ?? [],
          weakCiphers: accepted?.weakCiphers ?? [],
        },
      })
    : null;
  const earliest =
    [...trust.path].sort((a, b) => a.facts.daysUntilExpiry - b.facts.daysUntilExpiry)[0] ?? leaf;
  const { hasScts: _hasScts, ...shownRevocation } = revocation;
  return {
    trust,
    verdict,
    certificates: [...certificates],
    response: {
      resolvedIp: options.address,
      protocol,
      cipherSuite: shown.cipher,
      handshakeTimeMs: rounded(options.handshakeMs, 3),
      hostnameVerified,
      chainTrusted: trust.chainTrusted,
      chainTrustReason: trust.reason,
      chainTrustDetail: trust.detail,
      incompleteChain: trust.incomplete,
      missingIntermediate: trust.missingIntermediate,
      chainOrdered: trust.ordered,
      daysUntilExpiry: leaf.facts.daysUntilExpiry,
      earliestExpiry: {
        subjectCN: earliest.facts.subjectCN || earliest.facts.subject,
        notAfter: earliest.facts.notAfter,
        daysUntilExpiry: earliest.facts.daysUntilExpiry,
      },
      ocspStapled: shown.stapled !== null && shown.stapled.length > 0,
      ocspStatus: revocation.status,
      revocation: shownRevocation,
      accepted,
      securityBaseline:
        verdict === null
          ? { verdict: null, grade: null, reasons: [] }
          : { verdict: verdict.verdict, grade: verdict.grade, reasons: verdict.reasons, ...verdict.rules },
      certificate: leaf.facts,
      chain: certificates.map(({ facts }) => facts),
    },
  };
}
