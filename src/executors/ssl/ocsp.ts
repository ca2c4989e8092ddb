import { createHash } from 'node:crypto';
import { readCertificate, type Certificate } from './certificate.ts';
import {
  bitsOf,
  childrenOf,
  DerError,
  eachIn,
  encode,
  encodeOid,
  oidOf,
  readElement,
  tags,
  timeOf,
} from './der.ts';
import type { Element } from './der.ts';
import { isSignature } from './signature.ts';

/** OCSP (RFC 6960): the request for one certificate, and the answer about it, stapled or asked for. */

export type RevocationStatus = 'good' | 'revoked' | 'unknown';

/** What an answer says. `problem`: why it does not count; null = it is signed, current and about this certificate. */
export type OcspAnswer = {
  status: RevocationStatus | null;
  thisUpdate: string | null;
  nextUpdate: string | null;
  revokedAt: string | null;
  scts: boolean;
  problem: string | null;
};

const sha1Oid = '1.3.14.3.2.26';
const basicOid = '1.3.6.1.5.5.7.48.1.1';
const ocspSigning = '1.3.6.1.5.5.7.3.9';
const sctsOid = '1.3.6.1.4.1.11129.2.4.5';
/** Clocks of responders may be this far ahead. */
const clockSlackMs = 300_000;

const responderStates: { readonly [value: number]: string | undefined } = {
  1: 'the responder found the request malformed',
  2: 'the responder has an internal error',
  3: 'the responder asks to try later',
  5: 'the responder wants a signed request',
  6: 'the responder does not answer us',
};

/** SHA-1 of the issuer's name and of its key's bits, which identify it (section 4.1.1). */
function issuerHashes(issuer: Certificate): { name: Buffer; key: Buffer } {
  const sha1 = (bytes: Buffer) => createHash('sha1').update(bytes).digest();
  if (issuer.publicKey === null) throw new DerError("the issuer's key cannot be read");
  const spki = issuer.publicKey.export({ format: 'der', type: 'spki' });
  const [, bits] = childrenOf(readElement(spki));
  return { name: sha1(issuer.subjectName), key: sha1(bitsOf(bits)) };
}

/** The request for `leaf`, which `issuer` signed, in DER. It has no nonce, so that responders may cache answers. */
export function ocspRequest(leaf: Certificate, issuer: Certificate): Buffer {
  const { name, key } = issuerHashes(issuer);
  const certId = encode(
    tags.sequence,
    encode(tags.sequence, encodeOid(sha1Oid), encode(tags.null)),
    encode(tags.octetString, name),
    encode(tags.octetString, key),
    encode(tags.integer, leaf.serial),
  );
  const list = encode(tags.sequence, encode(tags.sequence, certId));
  return encode(tags.sequence, encode(tags.sequence, list));
}

/**
 * Reads an OCSP response about `leaf`. `issuer` null: its signature cannot be verified. Never throws: what cannot be
 * read is a problem of the answer.
 */
export function readOcsp(
  bytes: Buffer,
  options: { leaf: Certificate; issuer: Certificate | null; now: number },
): OcspAnswer {
  try {
    return read(bytes, options);
  } catch (error: unknown) {
    return {
      ...nothing,
      problem: `the answer is malformed (${error instanceof Error ? error.message : 'unreadable'})`,
    };
  }
}

const nothing: OcspAnswer = {
  status: null,
  thisUpdate: null,
  nextUpdate: null,
  revokedAt: null,
  scts: false,
  problem: null,
};

function read(
  bytes: Buffer,
  { leaf, issuer, now }: { leaf: Certificate; issuer: Certificate | null; now: number },
): OcspAnswer {
  const [state, wrapper] = childrenOf(readElement(bytes));
  const value = state?.content[0] ?? 0;
  if (value !== 0)
    return { ...nothing, problem: responderStates[value] ?? `the responder's state is ${value}` };
  const [inner] = wrapper === undefined ? [] : [...eachIn(wrapper.content)];
  const [type, octets] = childrenOf(inner);
  if (oidOf(type) !== basicOid || octets === undefined) throw new DerError('not a basic response');
  const [data, algorithm, signature, extra] = childrenOf(readElement(octets.content));
  const single = findSingle(data, leaf);
  if (single === null) return { ...nothing, problem: 'the answer is about another certificate' };
  const [, status, thisUpdate, ...rest] = childrenOf(single);
  const next = rest.find(({ tag }) => tag === 0xa0);
  const from = timeOf(thisUpdate);
  const to = next === undefined ? null : timeOf([...eachIn(next.content)][0]);
  const answer: OcspAnswer = {
    status: statusOf(status),
    thisUpdate: new Date(from).toISOString(),
    nextUpdate: to === null ? null : new Date(to).toISOString(),
    revokedAt: status?.tag === 0xa1 ? new Date(timeOf([...eachIn(status.content)][0])).toISOString() : null,
    scts: rest.some(({ tag, content }) => tag === 0xa1 && content.includes(encodeOid(sctsOid))),
    problem: null,
  };
  const problem =
    (to !== null && to < now ? 'the answer is stale: its next update was due' : null) ??
    (from > now + clockSlackMs ? 'the answer is from the future' : null) ??
    (isSigned({ data, algorithm, signature, extra }, { issuer, now })
      ? null
      : 'the signature of the answer is not that of the issuer');
  return { ...answer, problem };
}

function statusOf(status: Element | undefined): RevocationStatus {
  if (status?.tag === 0x80) return 'good';
  return status?.tag === 0xa1 ? 'revoked' : 'unknown';
}

/** The SingleResponse with the certificate's serial number. */
function findSingle(data: Element | undefined, leaf: Certificate): Element | null {
  const list = childrenOf(data).find(({ tag }) => tag === tags.sequence);
  for (const single of list === undefined ? [] : eachIn(list.content)) {
    const [certId] = childrenOf(single);
    const serial = childrenOf(certId).at(3);
    if (serial?.content.equals(leaf.serial) === true) return single;
  }
  return null;
}

type Signed = {
  data: Element | undefined;
  algorithm: Element | undefined;
  signature: Element | undefined;
  extra: Element | undefined;
};

/** The issuer itself signs, or a certificate for OCSP that it has issued (section 4.2.2.2). */
function isSigned(
  { data, algorithm, signature, extra }: Signed,
  { issuer, now }: { issuer: Certificate | null; now: number },
): boolean {
  if (issuer === null || data === undefined) return false;
  const parts = { algorithm, signed: data.whole, signature: bitsOf(signature) };
  if (isSignature(issuer.publicKey, parts)) return true;
  const [list] = extra === undefined ? [] : [...eachIn(extra.content)];
  for (const element of list === undefined ? [] : childrenOf(list).slice(0, 4)) {
    const signer = readCertificate(element.whole, now);
    if (
      issuer.publicKey !== null &&
      signer.x509.checkIssued(issuer.x509) &&
      signer.x509.verify(issuer.publicKey) &&
      signer.facts.daysUntilExpiry >= 0 &&
      signer.x509.keyUsage?.includes(ocspSigning) === true &&
      isSignature(signer.publicKey, parts)
    ) {
      return true;
    }
  }
  return false;
}
