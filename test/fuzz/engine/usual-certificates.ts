import { X509Certificate } from 'node:crypto';
import { issue, revocationList, rsa, type Issued } from '../../helpers/network/authority.ts';

/** Certificates and a revocation list for seeds, made once for each process. */

export type Usual = {
  root: Buffer;
  leaf: Buffer;
  /** RSA, with many names and extensions. */
  odd: Buffer;
  /** PEM, for servers. */
  server: { cert: string; key: string };
  list: Buffer;
};

const raw = ({ pem }: Issued): Buffer => new X509Certificate(pem).raw;
let made: Promise<Usual> | null = null;

/** Makes them at the first call. */
export function usualCertificates(): Promise<Usual> {
  made ??= make();
  return made;
}

async function make(): Promise<Usual> {
  const now = 1_772_700_000_000;
  const root = await issue({ name: 'Root', authority: true, to: 3650, serial: '01' }, now);
  const leaf = await issue(
    {
      issuer: root,
      ocsp: 'http://ocsp.test/',
      crl: 'http://crl.test/a.crl',
      mustStaple: true,
      serial: '4711',
    },
    now,
  );
  const odd = await issue(
    { names: ['a.test', '*.b.test', '10.0.0.1', '2001:db8::1'], algorithm: rsa(2048, 'SHA-384') },
    now,
  );
  const list = await revocationList(root, {
    revoked: ['4711', '4712'],
    thisUpdate: new Date(now),
    nextUpdate: new Date(now + 86_400_000),
  });
  return {
    root: raw(root),
    leaf: raw(leaf),
    odd: raw(odd),
    server: { cert: leaf.pem, key: leaf.key },
    list,
  };
}
