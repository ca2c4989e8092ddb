import { createHash, type X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { dayMs, minuteMs } from '../../durations.ts';
import { certificateWithChain } from '../http/leaf-certificate.ts';

/**
 * The certificates of a handshake in the order in which the server sent them.
 *
 * Only getPeerX509Certificate has that order, but each call of it loses memory: Node takes the issuers out of OpenSSL's list and
 * frees none of them (crypto_x509.cc, Node 20 to 24). getPeerCertificate frees what it reads, but sorts the chain and leaves out
 * what does not belong to it. So the exact list is read only when the sorted chain of a server is new, and once a day. A list that is
 * not the sorted chain is a fault that somebody may repair: it is read again every few minutes.
 */
export type PresentedReader = (socket: TLSSocket, serverName: string) => Buffer[];

/** More certificates than any server needs. */
const maxPresented = 20;
const keptMs = dayMs;
const faultyKeptMs = 5 * minuteMs;
const maxKept = 2_000;

/** `now`: milliseconds of a monotonic clock. Call the reader after the handshake. */
export function createPresentedReader(now: () => number = () => performance.now()): PresentedReader {
  const kept = new Map<string, { presented: Buffer[]; until: number }>();
  return (socket, serverName) => {
    const chain = sortedChain(socket);
    const key = `${socket.remoteAddress} ${socket.remotePort} ${serverName} ${chain?.join(' ')}`;
    const known = chain === null ? undefined : kept.get(key);
    if (known !== undefined && now() < known.until) return known.presented;
    const presented = presentedBy(socket.getPeerX509Certificate());
    kept.delete(key);
    if (chain !== null)
      kept.set(key, { presented, until: now() + (isSorted(presented, chain) ? keptMs : faultyKeptMs) });
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return presented;
  };
}

/** Whether the server sent the chain as it should: sorted, and nothing else. A root that it left out may end the chain. */
const isSorted = (presented: readonly Buffer[], chain: readonly string[]): boolean =>
  presented.every((raw, at) => fingerprintOf(raw) === chain[at]?.replaceAll(':', ''));

const fingerprintOf = (raw: Buffer): string => createHash('sha256').update(raw).digest('hex').toUpperCase();

/** The fingerprints of the certificates of the sorted chain; null = it cannot be read. */
function sortedChain(socket: TLSSocket): string[] | null {
  const found: string[] = [];
  try {
    let next: DetailedPeerCertificate | undefined = certificateWithChain(socket);
    // A root is its own issuer.
    while (next?.fingerprint256 !== undefined && !found.includes(next.fingerprint256)) {
      found.push(next.fingerprint256);
      next = next.issuerCertificate;
    }
  } catch {
    return null;
  }
  return found.length === 0 ? null : found;
}

/** Node links the certificates of a handshake in the order in which they came, whoever signed them. */
function presentedBy(leaf: X509Certificate | undefined): Buffer[] {
  const found: Buffer[] = [];
  for (let next = leaf; next !== undefined && found.length < maxPresented; next = next.issuerCertificate) {
    found.push(next.raw);
  }
  return found;
}
