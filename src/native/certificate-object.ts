import { createHash, X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';

/** A certificate larger than this is parsed again each time: a server may show another one at each handshake. */
const maxKnownBytes = 16_384;
const maxKnown = 1024;
/** By digest of the certificate, oldest first. */
const known = new Map<string, X509Certificate>();
const objects = new WeakMap<X509Certificate, PeerCertificate>();

/** More or other bytes than the DER of the certificate that was read from them. */
export class NotDerError extends Error {
  override readonly name = 'NotDerError';
}

/**
 * A parsed certificate (DER), kept for later connections to the same server. Throws as `parseDer`.
 */
export function parsedCertificate(raw: Buffer): X509Certificate {
  const digest = createHash('sha256').update(raw).digest('base64');
  const before = known.get(digest);
  if (before !== undefined) return before;
  const certificate = parseDer(raw);
  if (raw.length > maxKnownBytes) return certificate;
  known.set(digest, certificate);
  const [oldest] = known.keys();
  if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
  return certificate;
}

/**
 * Parses a certificate in DER. Node looks for PEM in any bytes first, so that it would take a certificate that is hidden
 * within another one, in a key or an extension, for that one. Throws node:crypto's error if the bytes are no certificate,
 * and NotDerError.
 */
export function parseDer(raw: Buffer): X509Certificate {
  // An empty line would end the headers that PEM may have.
  const lines = (raw.toString('base64').match(/.{1,64}/g) ?? []).join('\n');
  const certificate = new X509Certificate(
    `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  );
  if (!certificate.raw.equals(raw)) throw new NotDerError('the certificate is not in DER');
  return certificate;
}

/**
 * A certificate as `TLSSocket.getPeerCertificate` of node:tls gives it, without the parts of its key. Do not change the
 * object: later connections get the same one.
 */
export function certificateObject(certificate: X509Certificate): PeerCertificate {
  const before = objects.get(certificate);
  if (before !== undefined) return before;
  const { subjectAltName, infoAccess, keyUsage } = certificate;
  const object = {
    subject: attributes(certificate.subject),
    issuer: attributes(certificate.issuer),
    ca: certificate.ca,
    ...(subjectAltName === undefined ? {} : { subjectaltname: subjectAltName }),
    ...(infoAccess === undefined ? {} : { infoAccess: addresses(infoAccess) }),
    valid_from: certificate.validFrom,
    valid_to: certificate.validTo,
    fingerprint: certificate.fingerprint,
    fingerprint256: certificate.fingerprint256,
    fingerprint512: certificate.fingerprint512,
    ...((keyUsage as string[] | undefined) === undefined ? {} : { ext_key_usage: keyUsage }), // its type lacks undefined
    serialNumber: certificate.serialNumber,
    raw: certificate.raw,
    // The types want each part of a name to be there, which no certificate promises.
  } as unknown as PeerCertificate;
  objects.set(certificate, object);
  return object;
}

/** The parts of a name. A part that occurs several times is a list. */
function attributes(lines: string | undefined): { [name: string]: string | string[] } {
  // No prototype: the name of a part is the certificate's.
  const found = Object.create(null) as { [name: string]: string | string[] };
  for (const line of (lines ?? '').split('\n')) {
    // Joins the parts of one level; a plus sign of a value has a backslash.
    for (const part of line.split(' + ')) {
      const at = part.indexOf('=');
      if (at <= 0) continue;
      const name = part.slice(0, at);
      const value = plain(part.slice(at + 1));
      const before = found[name];
      found[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
    }
  }
  return found;
}

/** Text without the backslashes of RFC 2253, section 2.4. */
function plain(escaped: string): string {
  if (!escaped.includes('\\')) return escaped;
  const bytes: number[] = [];
  const text = Buffer.from(escaped);
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (byte !== 0x5c) {
      bytes.push(byte);
      continue;
    }
    const hex = /^[0-9A-Fa-f]{2}$/.exec(text.toString('latin1', at + 1, at + 3));
    bytes.push(hex === null ? (text[at + 1] ?? 0x5c) : Number.parseInt(hex[0], 16));
    at += hex === null ? 1 : 2;
  }
  return Buffer.from(bytes).toString();
}

/** `OCSP - URI:http://…` lines as lists by method. */
function addresses(lines: string): { [method: string]: string[] } {
  const found = Object.create(null) as { [method: string]: string[] };
  for (const line of lines.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) (found[line.slice(0, at)] ??= []).push(line.slice(at + 1));
  }
  return found;
}
