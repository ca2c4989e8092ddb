import { createHash, X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { shortened } from '../../shortened.ts';
import { dayMs } from '../../durations.ts';
import { certificateObject, parsedCertificate } from '../../native/certificate-object.ts';
import { presentedCertificates } from '../../native/tls-peer.ts';
import { parsedRoots } from './client-certificates.ts';

/** The certificate and connection data in a result. Times are ISO, UTC. */
export type CertificateFacts = {
  subject: string;
  issuer: string;
  validFrom: string;
  validTo: string;
  /** Complete days; negative if it has expired. */
  daysRemaining: number;
  fingerprint256: string;
  serial: string;
  altNames: string[];
  /** Leaf first. */
  chain: { subject: string; issuer: string; validTo: string }[];
  protocol: string | null;
  cipher: string | null;
  alpn: string | null;
  authorized: boolean;
  authorizationError: string | null;
};

const maxAltNames = 100;
const maxChain = 10;
const maxNameLength = 1024;

/** Data that depends only on the certificates that the server sent. */
type Identity = Pick<
  CertificateFacts,
  'subject' | 'issuer' | 'validFrom' | 'validTo' | 'fingerprint256' | 'serial' | 'altNames' | 'chain'
> & { expiresAt: number };

/** An identity of certificates that have more bytes is read again each time. */
const maxIdentityBytes = 32_768;
const maxIdentities = 1024;
/** By digest of all certificates that a server sent, oldest first. */
const identities = new Map<string, Identity>();

/**
 * Data about a finished handshake whose peer showed `leaf`; `now` in milliseconds since the epoch. The socket must
 * still be open.
 */
export function certificateFacts(leaf: PeerCertificate, socket: TLSSocket, now: number): CertificateFacts {
  const { expiresAt, ...identity } = identityOf(leaf, socket);
  return {
    ...identity,
    // Copies, so that changes to a result do not affect the cache.
    altNames: [...identity.altNames],
    chain: identity.chain.map((link) => ({ ...link })),
    daysRemaining: Math.floor((expiresAt - now) / dayMs),
    protocol: socket.getProtocol(),
    cipher: socket.getCipher()?.name ?? null,
    alpn: socket.alpnProtocol === false ? null : socket.alpnProtocol,
    authorized: socket.authorized,
    authorizationError: authorizationCode(socket),
  };
}

function identityOf(leaf: PeerCertificate, socket: TLSSocket): Identity {
  const presented = presentedCertificates(socket);
  const hash = createHash('sha256');
  let bytes = 0;
  for (const raw of presented) {
    hash.update(raw);
    bytes += raw.length;
  }
  const digest = hash.digest('base64');
  const known = identities.get(digest);
  if (known !== undefined) return known;
  const identity: Identity = {
    subject: nameOf(leaf.subject),
    issuer: nameOf(leaf.issuer),
    validFrom: isoTime(leaf.valid_from),
    validTo: isoTime(leaf.valid_to),
    expiresAt: Date.parse(leaf.valid_to),
    fingerprint256: leaf.fingerprint256,
    serial: leaf.serialNumber,
    altNames: alternativeNames(leaf.subjectaltname),
    chain: chainOf(presented),
  };
  if (bytes > maxIdentityBytes) return identity;
  identities.set(digest, identity);
  const [oldest] = identities.keys();
  if (identities.size > maxIdentities && oldest !== undefined) identities.delete(oldest);
  return identity;
}

/** The code of why the peer's certificate is not trusted, or null. node:tls uses a string where its types say Error. */
export function authorizationCode(socket: TLSSocket): string | null {
  const error: unknown = socket.authorizationError;
  if (error === null || error === undefined) return null;
  return typeof error === 'string' ? error : String(error instanceof Error ? error.message : 'unknown');
}

/** Complete days from `now` until a certificate's "Nov 20 12:00:00 2026 GMT". */
function daysUntil(time: string, now: number): number {
  return Math.floor((Date.parse(time) - now) / dayMs);
}

function isoTime(time: string): string {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? time : new Date(parsed).toISOString();
}

/** "CN=example.com, O=Example" from node:tls's object, whose values may be lists. */
function nameOf(name: unknown): string {
  if (typeof name !== 'object' || name === null) return '';
  const parts = Object.entries(name).flatMap(([key, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${key}=${String(one)}`),
  );
  return shortened(parts.join(', '), maxNameLength);
}

/** Names from "DNS:a.example, IP Address:10.0.0.1"; Node puts unusual ones in JSON quotes. */
function alternativeNames(text: string | undefined): string[] {
  if (text === undefined) return [];
  const names: string[] = [];
  for (const match of text.matchAll(/(?:^|, )[^:,"]+:("(?:[^"\\]|\\.)*"|[^,]*)/g)) {
    names.push(shortened(match[1] ?? '', maxNameLength));
    if (names.length === maxAltNames) break;
  }
  return names;
}

function chainOf(presented: readonly Buffer[]): CertificateFacts['chain'] {
  return issuerPath(presented).map((certificate) => {
    const facts = certificateObject(certificate);
    return { subject: nameOf(facts.subject), issuer: nameOf(facts.issuer), validTo: isoTime(facts.valid_to) };
  });
}

/**
 * The leaf, its issuer among the certificates that came with it, and so on to the root, which may be one of ours; at most
 * 10. Certificates that cannot be read are left out.
 */
export function issuerPath(presented: readonly Buffer[]): X509Certificate[] {
  const others = presented.flatMap((raw) => readable(raw));
  const path: X509Certificate[] = [];
  let last = others.shift();
  while (last !== undefined && path.length < maxChain) {
    path.push(last);
    const signed: X509Certificate = last;
    // A root names itself as its issuer.
    if (signed.subject === signed.issuer) break;
    const at = others.findIndex((one) => signed.checkIssued(one));
    last = at === -1 ? rootOf(signed) : others.splice(at, 1)[0];
  }
  return path;
}

function readable(raw: Buffer): X509Certificate[] {
  try {
    return [parsedCertificate(raw)];
  } catch {
    return [];
  }
}

function rootOf(signed: X509Certificate): X509Certificate | undefined {
  return parsedRoots().find((root) => root.subject === signed.issuer && signed.checkIssued(root));
}

/** The data in a result about the client certificate that was offered. */
export type ClientCertificateFacts = {
  host: string;
  subject: string;
  issuer: string;
  validTo: string;
  daysRemaining: number;
};

/** Facts about a PEM certificate (the first, if there are several). Throws node:crypto's errors. */
export function clientCertificateFacts(
  certificate: { host: string; cert: string },
  now: number,
): ClientCertificateFacts {
  const parsed = new X509Certificate(certificate.cert);
  const oneLine = (name: string) => shortened(name.replaceAll('\n', ', '), maxNameLength);
  return {
    host: certificate.host,
    subject: oneLine(parsed.subject),
    issuer: oneLine(parsed.issuer),
    validTo: isoTime(parsed.validTo),
    daysRemaining: daysUntil(parsed.validTo, now),
  };
}
