import { createHash, type X509Certificate, type KeyObject } from 'node:crypto';
import { dayMs } from '../../durations.ts';
import { parseDer } from '../../native/certificate-object.ts';
import { shortened } from '../../shortened.ts';
import { countScts, crlUrlsOf, extensionOids, isMustStaple, maxName, maxUrls } from './extensions.ts';
import { childrenOf, DerError, eachIn, oidOf, tags, timeOf, type Element } from './der.ts';

/** What SSL checks read from one certificate. Names of algorithms are those that users of such checks know. */
export type CertificateFacts = {
  subject: string;
  issuer: string;
  subjectCN: string;
  issuerCN: string;
  /** Decimal. */
  serialNumber: string;
  notBefore: string;
  notAfter: string;
  /** Complete days until `notAfter`; negative if it has passed. */
  daysUntilExpiry: number;
  sans: string[];
  /** There are more names than `sans` shows. */
  sansTruncated: boolean;
  /** Lower-case hex. */
  fingerprintSha256: string;
  signatureAlgorithm: string;
  keyAlgorithm: string;
  /** Null for keys whose size is unknown. */
  keySizeBits: number | null;
  /** Name of the curve of an ECDSA key. */
  curve: string | null;
  selfSigned: boolean;
  isCA: boolean;
  /** Signed certificate timestamps in the certificate (RFC 6962). */
  scts: number;
  mustStaple: boolean;
  ocspUrls: string[];
  crlUrls: string[];
  caIssuerUrls: string[];
};

const maxSans = 200;

/** Names of signature algorithms by object identifier; an unknown one is shown as its identifier. */
const signatures: { readonly [oid: string]: string | undefined } = {
  '1.2.840.113549.1.1.2': 'MD2-RSA',
  '1.2.840.113549.1.1.4': 'MD5-RSA',
  '1.2.840.113549.1.1.5': 'SHA1-RSA',
  '1.3.14.3.2.29': 'SHA1-RSA',
  '1.2.840.113549.1.1.11': 'SHA256-RSA',
  '1.2.840.113549.1.1.12': 'SHA384-RSA',
  '1.2.840.113549.1.1.13': 'SHA512-RSA',
  '1.2.840.10040.4.3': 'DSA-SHA1',
  '2.16.840.1.101.3.4.3.2': 'DSA-SHA256',
  '1.2.840.10045.4.1': 'ECDSA-SHA1',
  '1.2.840.10045.4.3.2': 'ECDSA-SHA256',
  '1.2.840.10045.4.3.3': 'ECDSA-SHA384',
  '1.2.840.10045.4.3.4': 'ECDSA-SHA512',
  '1.3.101.112': 'Ed25519',
  '1.3.101.113': 'Ed448',
};
const rsaPss = '1.2.840.113549.1.1.10';
const pssHashes: { readonly [oid: string]: string | undefined } = {
  '2.16.840.1.101.3.4.2.1': 'SHA256-RSAPSS',
  '2.16.840.1.101.3.4.2.2': 'SHA384-RSAPSS',
  '2.16.840.1.101.3.4.2.3': 'SHA512-RSAPSS',
};

/** The name of an AlgorithmIdentifier of a signature. */
export function signatureName(algorithm: Element | undefined): string {
  const [id, parameters] = childrenOf(algorithm);
  const oid = oidOf(id);
  if (oid !== rsaPss) return signatures[oid] ?? oid;
  // RFC 4055: [0] hashAlgorithm; without it the hash is SHA-1.
  const hash =
    parameters === undefined ? undefined : [...eachIn(parameters.content)].find(({ tag }) => tag === 0xa0);
  if (hash === undefined) return 'SHA1-RSAPSS';
  const [inner] = [...eachIn(hash.content)];
  return pssHashes[oidOf(childrenOf(inner)[0])] ?? 'RSAPSS';
}

type Parsed = {
  signatureAlgorithm: string;
  /** DER of the names, for comparisons. */
  issuer: Buffer;
  subject: Buffer;
  serial: Buffer;
  notBefore: number;
  notAfter: number;
  extensions: ReadonlyMap<string, Buffer>;
};

/** The parts of a certificate that Node does not offer (RFC 5280, section 4.1). Throws DerError. */
function parse(raw: Buffer): Parsed {
  const [whole] = [...eachIn(raw)];
  const [tbs, algorithm] = childrenOf(whole);
  const fields = childrenOf(tbs);
  // [0] version comes first, unless the certificate is of version 1.
  const at = fields[0]?.tag === 0xa0 ? 1 : 0;
  const [notBefore, notAfter] = childrenOf(fields[at + 3]);
  const serial = fields[at];
  if (serial?.tag !== tags.integer) throw new DerError('expected a serial number');
  const extensions = new Map<string, Buffer>();
  const list = fields.slice(at + 6).find(({ tag }) => tag === 0xa3);
  const [sequence] = list === undefined ? [] : [...eachIn(list.content)];
  for (const extension of sequence === undefined ? [] : childrenOf(sequence)) {
    const parts = childrenOf(extension);
    const value = parts.at(-1);
    if (value?.tag === tags.octetString) extensions.set(oidOf(parts[0]), value.content);
  }
  return {
    signatureAlgorithm: signatureName(algorithm),
    issuer: fields[at + 2]?.whole ?? Buffer.alloc(0),
    subject: fields[at + 4]?.whole ?? Buffer.alloc(0),
    serial: serial.content,
    notBefore: timeOf(notBefore),
    notAfter: timeOf(notAfter),
    extensions,
  };
}

/** A certificate with what was read from it. */
export type Certificate = {
  x509: X509Certificate;
  raw: Buffer;
  facts: CertificateFacts;
  /** DER of the issuer's and the subject's names, and the bytes of the serial number. */
  issuerName: Buffer;
  subjectName: Buffer;
  serial: Buffer;
  /** Null if Node cannot read the key. */
  publicKey: KeyObject | null;
};

/** A certificate larger than this is read again each time, so that the cache stays small. */
const maxKnownBytes = 16_384;
const maxKnown = 256;
/** By fingerprint, oldest first: what does not depend on the time. */
const known = new Map<string, Certificate>();

/**
 * Reads a certificate in DER. `now`: milliseconds since the epoch. Reading costs as much as a quarter of a handshake, so
 * the last certificates are remembered. Throws DerError, NotDerError or node:crypto's error if the bytes are no certificate.
 */
export function readCertificate(raw: Buffer, now: number): Certificate {
  const fingerprint = createHash('sha256').update(raw).digest('hex');
  const certificate = known.get(fingerprint) ?? readBytes(raw, fingerprint);
  known.delete(fingerprint);
  if (raw.length <= maxKnownBytes) known.set(fingerprint, certificate);
  const [oldest] = known.keys();
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
  const { facts } = certificate;
  return {
    ...certificate,
    facts: {
      ...facts,
      daysUntilExpiry: Math.floor((Date.parse(facts.notAfter) - now) / dayMs),
      // Copies, so that changes to a result do not affect the cache.
      sans: [...facts.sans],
      ocspUrls: [...facts.ocspUrls],
      crlUrls: [...facts.crlUrls],
      caIssuerUrls: [...facts.caIssuerUrls],
    },
  };
}

function readBytes(bytes: Buffer, fingerprint: string): Certificate {
  // A copy: the bytes may be a part of a larger buffer, which the cache would keep in memory.
  const raw = Buffer.from(bytes);
  const x509 = parseDer(raw);
  const parsed = parse(raw);
  const key = keyOf(x509);
  const isSelfIssued = parsed.issuer.equals(parsed.subject);
  const all = namesOf(x509.subjectAltName);
  const access = accessUrls(x509.infoAccess);
  return {
    x509,
    raw,
    issuerName: parsed.issuer,
    subjectName: parsed.subject,
    serial: parsed.serial,
    publicKey: key,
    facts: {
      subject: oneLine(x509.subject),
      issuer: oneLine(x509.issuer),
      subjectCN: commonName(x509.subject),
      issuerCN: commonName(x509.issuer),
      serialNumber: decimal(x509.serialNumber),
      notBefore: new Date(parsed.notBefore).toISOString(),
      notAfter: new Date(parsed.notAfter).toISOString(),
      daysUntilExpiry: 0,
      sans: all.slice(0, maxSans),
      sansTruncated: all.length > maxSans,
      fingerprintSha256: fingerprint,
      signatureAlgorithm: parsed.signatureAlgorithm,
      ...keyFacts(key),
      selfSigned: isSelfIssued && isSignedBy(x509, key),
      isCA: x509.ca,
      scts: countScts(parsed.extensions.get(extensionOids.scts)),
      mustStaple: isMustStaple(parsed.extensions.get(extensionOids.tlsFeature)),
      ocspUrls: access.ocsp,
      crlUrls: crlUrlsOf(parsed.extensions.get(extensionOids.crlPoints)),
      caIssuerUrls: access.caIssuers,
    },
  };
}

function keyOf(x509: X509Certificate): KeyObject | null {
  try {
    return x509.publicKey;
  } catch {
    return null;
  }
}

/** Whether the key has made the certificate's signature. Old digests cannot be verified everywhere, and count as not. */
function isSignedBy(x509: X509Certificate, key: KeyObject | null): boolean {
  try {
    return key !== null && x509.verify(key);
  } catch {
    return false;
  }
}

const keyNames: { readonly [type: string]: string | undefined } = {
  rsa: 'RSA',
  'rsa-pss': 'RSA',
  ec: 'ECDSA',
  dsa: 'DSA',
  ed25519: 'Ed25519',
  ed448: 'Ed448',
};
const curveBits: { readonly [curve: string]: number | undefined } = {
  prime256v1: 256,
  secp224r1: 224,
  secp384r1: 384,
  secp521r1: 521,
  secp256k1: 256,
};

function keyFacts(key: KeyObject | null): Pick<CertificateFacts, 'keyAlgorithm' | 'keySizeBits' | 'curve'> {
  const type = key?.asymmetricKeyType ?? '';
  const { modulusLength, namedCurve } = key?.asymmetricKeyDetails ?? {};
  const curve = namedCurve ?? null;
  const bits =
    curve === null ? undefined : (curveBits[curve] ?? Number(/\d{3}/.exec(curve)?.[0] ?? Number.NaN));
  const size = modulusLength ?? bits ?? (type === 'ed25519' ? 256 : type === 'ed448' ? 456 : undefined);
  return {
    keyAlgorithm: keyNames[type] ?? (type || 'unknown'),
    keySizeBits: size === undefined || Number.isNaN(size) ? null : size,
    curve,
  };
}

/** Node writes a name with one part in each line. */
const oneLine = (name: string | undefined) => shortened((name ?? '').replaceAll('\n', ', '), maxName);
const commonName = (name: string | undefined) => shortened(/^CN=(.*)$/m.exec(name ?? '')?.[1] ?? '', maxName);
const decimal = (hex: string) =>
  hex.length > 0 && hex.length <= 128 ? BigInt(`0x${hex}`).toString() : hex.slice(0, 128);

/** Names from "DNS:a.example, IP Address:10.0.0.1"; Node puts unusual ones in JSON quotes. */
function namesOf(text: string | undefined): string[] {
  const names: string[] = [];
  for (const match of (text ?? '').matchAll(/(?:^|, )[^:,"]+:("(?:[^"\\]|\\.)*"|[^,]*)/g)) {
    names.push(shortened(match[1] ?? '', 255));
    if (names.length > maxSans) break;
  }
  return names;
}

function accessUrls(text: string | undefined): { ocsp: string[]; caIssuers: string[] } {
  const of = (kind: string) =>
    (text ?? '')
      .split('\n')
      .flatMap((line) =>
        line.startsWith(`${kind} - URI:`) ? [shortened(line.slice(kind.length + 7), maxName)] : [],
      )
      .slice(0, maxUrls);
  return { ocsp: of('OCSP'), caIssuers: of('CA Issuers') };
}
