// The library's container needs the polyfill to be loaded first.
import 'reflect-metadata';
import {
  AuthorityInfoAccessExtension,
  BasicConstraintsExtension,
  CRLDistributionPointsExtension,
  Extension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
  X509CrlGenerator,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';

/** Authorities and certificates with any fault, for tests. */

type Keys = webcrypto.CryptoKeyPair;
export const ec = (namedCurve = 'P-256') => ({ name: 'ECDSA', namedCurve, hash: 'SHA-256' });
export const rsa = (modulusLength: number, hash = 'SHA-256') => ({
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash,
});
type Algorithm = ReturnType<typeof ec> | ReturnType<typeof rsa>;

export type Issued = {
  name: string;
  keys: Keys;
  algorithm: Algorithm;
  pem: string;
  key: string;
  serial: string;
};

export type Wanted = {
  name?: string;
  /** Null = no alternative names. */
  names?: readonly string[] | null;
  algorithm?: Algorithm;
  /** Absent = signed by itself. */
  issuer?: Issued;
  authority?: boolean;
  usages?: readonly string[];
  /** Days from now. */
  from?: number;
  to?: number;
  ocsp?: string;
  crl?: string;
  mustStaple?: boolean;
  /** As many certificate timestamps in the certificate; their content is noise. */
  scts?: number;
  serial?: string;
  /** Text of an extension of no meaning. */
  hidden?: string;
};

let serials = 0;

/** Issues a certificate. */
export async function issue(wanted: Wanted, now: number): Promise<Issued> {
  const { name = 'good.test', algorithm = ec(), issuer, authority = false } = wanted;
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as Keys; // of a pair
  const signer = issuer ?? { name, keys, algorithm };
  const serial = wanted.serial ?? (0x1000 + serials++).toString(16);
  const names = wanted.names === undefined ? [name] : wanted.names;
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serial,
    subject: [{ CN: [name] }],
    issuer: [{ CN: [signer.name] }],
    notBefore: new Date(now + (wanted.from ?? -1) * 86_400_000),
    notAfter: new Date(now + (wanted.to ?? 90) * 86_400_000),
    publicKey: keys.publicKey,
    signingKey: signer.keys.privateKey,
    signingAlgorithm: signer.algorithm,
    extensions: [
      new BasicConstraintsExtension(authority, undefined, true),
      ...(authority ? [new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true)] : []),
      ...(authority ? [] : [new ExtendedKeyUsageExtension([...(wanted.usages ?? ['1.3.6.1.5.5.7.3.1'])])]),
      ...(authority || names === null
        ? []
        : [
            new SubjectAlternativeNameExtension(
              names.map((value) => ({
                type: /^[\d.:]+$/.test(value) ? ('ip' as const) : ('dns' as const),
                value,
              })),
            ),
          ]),
      ...(wanted.ocsp === undefined ? [] : [new AuthorityInfoAccessExtension({ ocsp: wanted.ocsp })]),
      ...(wanted.crl === undefined ? [] : [new CRLDistributionPointsExtension([wanted.crl])]),
      ...(wanted.mustStaple === true
        ? [new Extension('1.3.6.1.5.5.7.1.24', false, new Uint8Array([0x30, 3, 2, 1, 5]))]
        : []),
      ...(wanted.hidden === undefined
        ? []
        : [new Extension('1.3.6.1.4.1.55555.1', false, new TextEncoder().encode(wanted.hidden))]),
      ...(wanted.scts === undefined
        ? []
        : [new Extension('1.3.6.1.4.1.11129.2.4.2', false, timestamps(wanted.scts))]),
    ],
  });
  return {
    name,
    keys,
    algorithm,
    serial,
    pem: `${certificate.toString('pem')}\n`,
    key: PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
  };
}

/** An OCTET STRING with a list of timestamps (RFC 6962, section 3.3). */
function timestamps(count: number): Uint8Array<ArrayBuffer> {
  const list = Buffer.concat(
    Array.from({ length: count }, () => Buffer.concat([Buffer.from([0, 40]), Buffer.alloc(40, 7)])),
  );
  const bytes = Buffer.concat([Buffer.from([4, list.length + 2, 0, list.length]), list]);
  return new Uint8Array(bytes);
}

/** A revocation list in DER. */
export async function revocationList(
  issuer: Issued,
  options: { revoked: readonly string[]; thisUpdate: Date; nextUpdate: Date },
): Promise<Buffer> {
  const list = await X509CrlGenerator.create({
    issuer: `CN=${issuer.name}`,
    thisUpdate: options.thisUpdate,
    nextUpdate: options.nextUpdate,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: issuer.algorithm,
    entries: options.revoked.map((serialNumber) => ({ serialNumber, revocationDate: options.thisUpdate })),
  });
  return Buffer.from(list.rawData);
}
