// The library's container needs the polyfill to be loaded first.
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  type Extension,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { dayMs } from '../durations.ts';

/** Request for a certificate. Names are DNS names or IP addresses; the default is only the common name. */
export type CertificateRequest = {
  commonName: string;
  names?: readonly string[];
  notBefore: Date;
  notAfter: Date;
  /** May sign other certificates. */
  authority?: boolean;
};

/** A certificate with its private key, both PEM. */
export type Certificate = { cert: string; key: string };

/** Signs certificates. Clients must trust `certificate.cert`. */
export type Authority = {
  certificate: Certificate;
  issue: (request: CertificateRequest) => Promise<Certificate>;
};

type Keys = webcrypto.CryptoKeyPair;
type Issuer = { commonName: string; keys: Keys };

const curve = { name: 'ECDSA', namedCurve: 'P-256' };

/** Creates an authority that is valid for a year from `now`. Its key is only in memory. */
export async function createAuthority(options: { commonName: string; now?: Date }): Promise<Authority> {
  const { commonName, now = new Date() } = options;
  const keys = await newKeys();
  const issuer = { commonName, keys };
  const certificate = await issue(
    {
      commonName,
      notBefore: new Date(now.getTime() - dayMs),
      notAfter: new Date(now.getTime() + 365 * dayMs),
      authority: true,
    },
    keys,
    issuer,
  );
  return { certificate, issue: async (request) => issue(request, await newKeys(), issuer) };
}

/** Creates a self-signed certificate. */
export async function selfSigned(request: CertificateRequest): Promise<Certificate> {
  const keys = await newKeys();
  return issue(request, keys, { commonName: request.commonName, keys });
}

async function newKeys(): Promise<Keys> {
  return webcrypto.subtle.generateKey(curve, true, ['sign', 'verify']);
}

async function issue(request: CertificateRequest, keys: Keys, issuer: Issuer): Promise<Certificate> {
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [request.commonName] }],
    issuer: [{ CN: [issuer.commonName] }],
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    publicKey: keys.publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: { ...curve, hash: 'SHA-256' },
    extensions: [
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.keys.publicKey),
      ...extensions(request),
    ],
  });
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `${PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')}\n`,
  };
}

function extensions(request: CertificateRequest): Extension[] {
  if (request.authority === true) {
    return [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ];
  }
  const names = request.names ?? [request.commonName];
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
    new SubjectAlternativeNameExtension(
      names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
    ),
  ];
}
