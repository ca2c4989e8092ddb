/**
 * Replaces two methods of TLS sockets, because Node's own way to read a peer's certificates can end the process. In Node
 * 24 and 26, `getPeerCertificate` does not survive a key on a curve without a NIST name, such as brainpoolP256r1. The
 * key may be anywhere in the chain that a server sends. Node itself calls the method to check a host's name.
 *
 * `_wrapHandle` (lib/internal/tls/wrap.js) makes OpenSSL's connection within the constructor. Read from Node 20.20.2,
 * 24.21.0 and 26.10.0; test/library-internals/tls-peer.test.ts fails when Node stops calling one of the two.
 */
import type { X509Certificate } from 'node:crypto';
import { TLSSocket, type DetailedPeerCertificate } from 'node:tls';
import { certificateObject, parsedCertificate } from './certificate-object.ts';
import { loadNative, type Native } from './native.ts';

type Internal = { _wrapHandle: (...parts: unknown[]) => unknown; _tlsOptions?: { isServer?: boolean } };

/** Numbers that the addon gives to connections of OpenSSL. */
const numbers = new WeakMap<object, number>();
const presented = new WeakMap<object, readonly Buffer[]>();
let isInstalled = false;

/**
 * Makes all TLS sockets of this process read certificates safely. Call it before the first connection. Without the
 * addon, each connection loses some kilobytes for each issuer that the server sends.
 */
export function readPeersSafely(): void {
  if (isInstalled) return;
  isInstalled = true;
  const prototype = TLSSocket.prototype as unknown as Internal; // the types of node:tls have no internal methods
  const wrapHandle = prototype._wrapHandle;
  prototype._wrapHandle = function numbered(this: Internal, ...parts: unknown[]): unknown {
    const native = watching();
    native?.newestTls();
    const handle = wrapHandle.apply(this, parts);
    const number = native?.newestTls() ?? 0;
    // The certificate of a client is no part of OpenSSL's list, so that servers read it in Node's other way.
    if (number !== 0 && this._tlsOptions?.isServer !== true) numbers.set(this, number);
    return handle;
  };
  // The method's overload promises a chain, which callers get from `presentedCertificates`.
  TLSSocket.prototype.getPeerCertificate = function safely(this: TLSSocket): DetailedPeerCertificate {
    const [leaf] = presentedCertificates(this);
    if (leaf === undefined) return {} as DetailedPeerCertificate; // as node:tls does
    try {
      return certificateObject(parsedCertificate(leaf)) as DetailedPeerCertificate;
    } catch {
      // Node calls this where an exception would end the process. No name is in an empty certificate, so it is refused.
      return {} as DetailedPeerCertificate;
    }
  };
}

/**
 * DER of the certificates that a peer sent, in its order, leaf first; at most 20. Empty before the handshake, and if
 * the peer sent none.
 */
export function presentedCertificates(socket: TLSSocket): readonly Buffer[] {
  const known = presented.get(socket);
  if (known !== undefined) return known;
  const found = read(socket);
  // Before the handshake there are none yet.
  if (found.length > 0) presented.set(socket, found);
  return found;
}

function read(socket: TLSSocket): readonly Buffer[] {
  const number = numbers.get(socket);
  if (number !== undefined) return watching()?.peerCertificates(number) ?? [];
  return linked(socket.getPeerX509Certificate());
}

const maxPresented = 20;

/** Node links the certificates of a handshake in the order in which they came, whoever signed them. */
function linked(leaf: X509Certificate | undefined): Buffer[] {
  const found: Buffer[] = [];
  for (let next = leaf; next !== undefined && found.length < maxPresented; next = next.issuerCertificate) {
    found.push(next.raw);
  }
  return found;
}

let watcher: Native | null | undefined;

function watching(): Native | null {
  if (watcher === undefined) {
    const native = loadNative();
    watcher = native?.watchTls?.() === true ? native : null;
  }
  return watcher;
}
