import { verify, type KeyObject } from 'node:crypto';
import { signatureName } from './certificate.ts';
import type { Element } from './der.ts';

/** Hashes of the signatures that revocation answers may have; others cannot be verified. */
const hashes: { readonly [name: string]: string | null | undefined } = {
  'SHA1-RSA': 'sha1',
  'SHA256-RSA': 'sha256',
  'SHA384-RSA': 'sha384',
  'SHA512-RSA': 'sha512',
  'ECDSA-SHA1': 'sha1',
  'ECDSA-SHA256': 'sha256',
  'ECDSA-SHA384': 'sha384',
  'ECDSA-SHA512': 'sha512',
  Ed25519: null,
  Ed448: null,
};

/** Whether `key` made the signature over `signed`. False also for algorithms that are not supported. */
export function isSignature(
  key: KeyObject | null,
  options: { algorithm: Element | undefined; signed: Buffer; signature: Buffer },
): boolean {
  const hash = hashes[signatureName(options.algorithm)];
  if (key === null || hash === undefined) return false;
  try {
    return verify(hash, options.signed, key, options.signature);
  } catch {
    return false; // a key of another kind
  }
}
