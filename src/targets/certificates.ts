import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import {
  bitString,
  boolean,
  element,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from './der.ts';
import { dayMs } from '../durations.ts';

/** What a certificate says. Names are DNS names or IP addresses. */
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

/** Signs certificates. `certificate.cert` is what clients have to trust. */
export type Authority = { certificate: Certificate; issue: (request: CertificateRequest) => Certificate };

const oid = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

/** A new authority, valid for a year from `now`; its key lives in memory only. */
export function createAuthority(options: { commonName: string; now?: Date }): Authority {
  const now = options.now ?? new Date();
  const certificate = selfSigned({
    commonName: options.commonName,
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + 365 * dayMs),
    authority: true,
  });
  const key = createPrivateKey(certificate.key);
  const issuer = { commonName: options.commonName, key, keyId: keyIdOf(spki(createPublicKey(key))) };
  return { certificate, issue: (request) => issue(request, newKeys(), issuer) };
}

/** A certificate that signs itself. */
export function selfSigned(request: CertificateRequest): Certificate {
  const keys = newKeys();
  return issue(request, keys, {
    commonName: request.commonName,
    key: keys.privateKey,
    keyId: keyIdOf(spki(keys.publicKey)),
  });
}

type Keys = { publicKey: KeyObject; privateKey: KeyObject };
type Issuer = { commonName: string; key: KeyObject; keyId: Buffer };

function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function spki(publicKey: KeyObject): Buffer {
  return publicKey.export({ type: 'spki', format: 'der' });
}

/** RFC 5280 section 4.2.1.2 lets the identifier be any digest of the key. */
function keyIdOf(subjectPublicKeyInfo: Buffer): Buffer {
  return createHash('sha256').update(subjectPublicKeyInfo).digest().subarray(0, 20);
}

/** Builds and signs an X.509 version 3 certificate (RFC 5280 section 4.1). */
function issue(request: CertificateRequest, keys: Keys, issuer: Issuer): Certificate {
  const algorithm = sequence(objectIdentifier(oid.ecdsaWithSha256));
  const publicKey = spki(keys.publicKey);
  const body = sequence(
    element(0xa0, integer(Buffer.from([2]))), // version 3 is written as 2
    integer(randomBytes(16)),
    algorithm,
    distinguishedName(issuer.commonName),
    sequence(time(request.notBefore), time(request.notAfter)),
    distinguishedName(request.commonName),
    publicKey,
    element(0xa3, sequence(...extensions(request, keyIdOf(publicKey), issuer.keyId))),
  );
  const der = sequence(body, algorithm, bitString(sign('sha256', body, issuer.key)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function distinguishedName(commonName: string): Buffer {
  return sequence(set(sequence(objectIdentifier(oid.commonName), utf8String(commonName))));
}

function extensions(request: CertificateRequest, keyId: Buffer, issuerKeyId: Buffer): Buffer[] {
  const extension = (id: string, content: Buffer, critical = false) =>
    sequence(objectIdentifier(id), ...(critical ? [boolean(true)] : []), octetString(content));
  const common = [
    extension(oid.subjectKeyIdentifier, octetString(keyId)),
    extension(oid.authorityKeyIdentifier, sequence(element(0x80, issuerKeyId))),
  ];
  if (request.authority === true) {
    return [
      ...common,
      extension(oid.basicConstraints, sequence(boolean(true)), true),
      extension(oid.keyUsage, bitString(Buffer.from([0b0000_0110]), 1), true), // keyCertSign, cRLSign
    ];
  }
  return [
    ...common,
    extension(oid.basicConstraints, sequence(), true),
    extension(oid.keyUsage, bitString(Buffer.from([0b1000_0000]), 7), true), // digitalSignature
    extension(
      oid.extendedKeyUsage,
      sequence(objectIdentifier(oid.serverAuth), objectIdentifier(oid.clientAuth)),
    ),
    extension(oid.subjectAltName, sequence(...(request.names ?? [request.commonName]).map(alternativeName))),
  ];
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 0 ? element(0x82, Buffer.from(name, 'ascii')) : element(0x87, addressBytes(name));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (part: string) => part.split(':').filter((group) => group !== '');
  const before = groups(head);
  const after = groups(tail ?? '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
