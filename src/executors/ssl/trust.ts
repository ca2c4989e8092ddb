import type { KeyObject, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { parsedRoots } from '../http/client-certificates.ts';
import type { Certificate } from './certificate.ts';

/** Whether the presented certificates lead to an authority that the agent trusts, and in which order they came. */

export type Trust = {
  chainTrusted: boolean;
  /** OpenSSL's code; null = trusted. */
  reason: string | null;
  detail: string | null;
  /** The path ends without reaching an authority: an intermediate is missing. */
  incomplete: boolean;
  /** Name of the authority whose certificate is missing. */
  missingIntermediate: string | null;
  /** Each certificate is followed by the one that signed it, and there are no others. */
  ordered: boolean;
  /** The leaf and what signed it, as far as it was presented. */
  path: Certificate[];
};

const dates: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);
const incomplete: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
]);

const details: { readonly [code: string]: string | undefined } = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the chain ends with a root that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the server did not send the certificate of its issuer',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the issuer of the last certificate is not known here',
  UNABLE_TO_GET_ISSUER_CERT: 'the issuer of a certificate is not known here',
  INVALID_CA: 'a certificate that is no authority has signed another one',
  CERT_SIGNATURE_FAILURE: 'a signature in the chain is wrong',
  CERT_CHAIN_TOO_LONG: 'the chain is too long',
};

/** Judges the chain; `code` is OpenSSL's verdict of the handshake. */
export function judgeTrust(presented: readonly Certificate[], code: string | null): Trust {
  const path = pathOf(presented);
  const ordered = presented.length === path.length && path.every((one, index) => one === presented[index]);
  const top = path.at(-1);
  // OpenSSL reports only its last finding, and looks at dates last.
  const trusted = code === null || (dates.has(code) && top !== undefined && isAnchored(top));
  const isMissing = code !== null && (incomplete.has(code) || (!trusted && top?.facts.selfSigned === false));
  const reason = trusted ? null : isMissing && dates.has(code) ? 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' : code;
  return {
    chainTrusted: trusted,
    reason,
    detail: reason === null ? null : (details[reason] ?? reason),
    incomplete: isMissing,
    missingIntermediate: isMissing ? (top?.facts.issuer ?? null) : null,
    ordered,
    path,
  };
}

/** The leaf, what signed it, and so on, whatever their order. */
function pathOf(presented: readonly Certificate[]): Certificate[] {
  const [leaf] = presented;
  if (leaf === undefined) return [];
  const path = [leaf];
  for (let last = leaf; !last.facts.selfSigned;) {
    const issuer = presented.find((one) => !path.includes(one) && hasSigned(one, last));
    if (issuer === undefined) break;
    path.push(issuer);
    last = issuer;
  }
  return path;
}

/** Whether a certificate's key has made another one's signature. Both objects outlive an attempt (`certificate.ts`). */
const signatures = new WeakMap<X509Certificate, WeakMap<KeyObject, boolean>>();

function hasSigned(issuer: Certificate, one: Certificate): boolean {
  const { publicKey } = issuer;
  if (publicKey === null || !issuer.subjectName.equals(one.issuerName)) return false;
  const verified = signatures.get(one.x509) ?? new WeakMap<KeyObject, boolean>();
  signatures.set(one.x509, verified);
  const known = verified.get(publicKey);
  if (known !== undefined) return known;
  const isSigned = isSignatureOf(publicKey, one.x509);
  verified.set(publicKey, isSigned);
  return isSigned;
}

function isSignatureOf(key: KeyObject, certificate: X509Certificate): boolean {
  try {
    return certificate.verify(key);
  } catch {
    return false; // a key of another kind
  }
}

/** Whether a trusted root is, or has signed, this certificate. Needed only for chains with wrong dates. */
function isAnchored({ x509 }: Certificate): boolean {
  return parsedRoots().some((root) => {
    try {
      return (
        root.fingerprint256 === x509.fingerprint256 || (x509.checkIssued(root) && x509.verify(root.publicKey))
      );
    } catch {
      return false;
    }
  });
}

/** Whether the certificate is for this name or address (RFC 6125; the common name counts only without other names). */
export function isForName({ x509 }: Certificate, name: string): boolean {
  const bare = name.endsWith('.') ? name.slice(0, -1) : name;
  return (isIP(bare) === 0 ? x509.checkHost(bare) : x509.checkIP(bare)) !== undefined;
}
