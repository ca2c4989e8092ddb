/**
 * Replaces one method of a TLS socket. Node calls it in `onConnectSecure` (lib/internal/tls/wrap.js), read from Node 20.20.2.
 * test/library-internals/leaf-certificate.test.ts fails when Node stops calling it.
 */
import { TLSSocket, type DetailedPeerCertificate, type PeerCertificate } from 'node:tls';

/**
 * Makes a socket read its peer's certificate once and without the chain. Node reads the complete chain to check the
 * host's name, although the leaf is enough; that would add a tenth to the time of a handshake. Returns the reader.
 * Call it after the handshake, because the certificate is empty before.
 */
export function readLeafOnly(socket: TLSSocket): () => PeerCertificate {
  let leaf: PeerCertificate | null = null;
  const leafOnly = () => (leaf ??= TLSSocket.prototype.getPeerCertificate.call(socket, false));
  socket.getPeerCertificate = leafOnly as TLSSocket['getPeerCertificate']; // the method's overload promises a chain
  return leafOnly;
}

/**
 * Keeps Node from reading the peer's certificates as text to check the host's name, which adds a tenth to the time of a
 * handshake. For callers that check the name themselves.
 */
export function readNoCertificate(socket: TLSSocket): void {
  const none = () => ({}); // as for a peer without a certificate
  socket.getPeerCertificate = none as TLSSocket['getPeerCertificate']; // the method's overload promises a chain
}

/** The peer's certificate with its chain, even from a socket that `readLeafOnly` has changed. */
export function certificateWithChain(socket: TLSSocket): DetailedPeerCertificate {
  return TLSSocket.prototype.getPeerCertificate.call(socket, true) as DetailedPeerCertificate; // true = with chain
}
