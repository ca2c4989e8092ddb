import type { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { dayMs } from '../../durations.ts';
import { certificateWithChain } from '../http/leaf-certificate.ts';

/**
 * The certificates of a handshake in the order in which the server sent them.
 *
 * Only getPeerX509Certificate has that order, but each call of it loses memory: Node takes the issuers out of OpenSSL's list and
 * frees none of them (crypto_x509.cc, Node 20 to 24). getPeerCertificate frees what it reads, but sorts the chain and leaves out
 * what does not belong to it. So the exact list is read only when the sorted chain of a server is new, and once a day.
 */
export type PresentedReader = (socket: TLSSocket, serverName: string) => Buffer[];

/** More certificates than any server needs. */
const maxPresented = 20;
const keptMs = dayMs;
const maxKept = 2_000;

/** `now`: milliseconds of a monotonic clock. Call the reader after the handshake. */
export function createPresentedReader(now: () => number = () => performance.now()): PresentedReader {
  const kept = new Map<string, { presented: Buffer[]; readAt: number }>();
  return (socket, serverName) => {
    const chain = sortedChain(socket);
    const key = `${socket.remoteAddress} ${socket.remotePort} ${serverName} ${chain}`;
    const known = chain === null ? undefined : kept.get(key);
    if (known !== undefined && now() - known.readAt < keptMs) return known.presented;
    const presented = presentedBy(socket.getPeerX509Certificate());
    kept.delete(key);
    if (chain !== null) kept.set(key, { presented, readAt: now() });
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return presented;
  };
}

/** Names the sorted chain by the fingerprints of its certificates; null = it cannot be read. */
function sortedChain(socket: TLSSocket): string | null {
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
  return found.length === 0 ? null : found.join(' ');
}

/** Node links the certificates of a handshake in the order in which they came, whoever signed them. */
function presentedBy(leaf: X509Certificate | undefined): Buffer[] {
  const found: Buffer[] = [];
  for (let next = leaf; next !== undefined && found.length < maxPresented; next = next.issuerCertificate) {
    found.push(next.raw);
  }
  return found;
}
