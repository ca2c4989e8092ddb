import type { Certificate } from './certificate.ts';
import { bitsOf, boundsOf, childrenOf, encode, readElement, tags, timeOf, type Element } from './der.ts';
import type { OcspAnswer } from './ocsp.ts';
import { isSignature } from './signature.ts';

/** Reads a certificate revocation list (RFC 5280, section 5) for `leaf`. Never throws. */
export function readCrl(
  bytes: Buffer,
  options: { leaf: Certificate; issuer: Certificate; now: number },
): Omit<OcspAnswer, 'scts'> {
  const nothing = { status: null, thisUpdate: null, nextUpdate: null, revokedAt: null };
  try {
    return read(derOf(bytes), options);
  } catch (error: unknown) {
    return {
      ...nothing,
      problem: `the list is malformed (${error instanceof Error ? error.message : 'unreadable'})`,
    };
  }
}

/** Lists come in DER; some servers send PEM. */
function derOf(bytes: Buffer): Buffer {
  if (bytes[0] === tags.sequence) return bytes;
  const match = /-----BEGIN X509 CRL-----([^-]+)-----END/.exec(bytes.toString('latin1'));
  return match?.[1] === undefined ? bytes : Buffer.from(match[1], 'base64');
}

/**
 * The time of the entry with this serial number; null = the list does not have it. A list of 20 MB has up to five million
 * entries, so they are passed over without reading them.
 */
function findEntry(list: Buffer, serial: Buffer): Element | null {
  const wanted = encode(tags.integer, serial);
  let next = list.indexOf(wanted);
  for (let at = 0; next >= 0 && at < list.length;) {
    const { start, end } = boundsOf(list, at);
    // The same bytes may also be in another place of an entry.
    if (next === start && next + wanted.length <= end) return readElement(list, start + wanted.length);
    if (next < end) next = list.indexOf(wanted, end);
    at = end;
  }
  return null;
}

const isTime = ({ tag }: Element) => tag === tags.utcTime || tag === tags.generalizedTime;

function read(
  bytes: Buffer,
  { leaf, issuer, now }: { leaf: Certificate; issuer: Certificate; now: number },
): Omit<OcspAnswer, 'scts'> {
  const [tbs, algorithm, signature] = childrenOf(readElement(bytes));
  const fields = childrenOf(tbs);
  const times = fields.filter(isTime);
  const name = fields.filter(({ tag }) => tag === tags.sequence)[1];
  const thisUpdate = timeOf(times[0]);
  const nextUpdate = times[1] === undefined ? null : timeOf(times[1]);
  // After the last time there may be a sequence with the entries.
  const lastTime = times.at(-1);
  const after = fields[lastTime === undefined ? -1 : fields.indexOf(lastTime) + 1];
  const entry = after?.tag === tags.sequence ? findEntry(after.content, leaf.serial) : null;
  const revokedAt = entry === null ? null : timeOf(entry);
  const problem =
    (name === undefined || !name.whole.equals(leaf.issuerName) ? 'the list is of another issuer' : null) ??
    (nextUpdate !== null && nextUpdate < now ? 'the list is stale: its next update was due' : null) ??
    (tbs !== undefined &&
    isSignature(issuer.publicKey, { algorithm, signed: tbs.whole, signature: bitsOf(signature) })
      ? null
      : 'the signature of the list is not that of the issuer');
  return {
    status: revokedAt === null ? 'good' : 'revoked',
    thisUpdate: new Date(thisUpdate).toISOString(),
    nextUpdate: nextUpdate === null ? null : new Date(nextUpdate).toISOString(),
    revokedAt: revokedAt === null ? null : new Date(revokedAt).toISOString(),
    problem,
  };
}
