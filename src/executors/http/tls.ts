import { isIP, type Socket } from 'node:net';
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { readPeersSafely } from '../../native/tls-peer.ts';

readPeersSafely();

/** A finished handshake. The caller decides whether the certificate is acceptable. */
export type Handshake = {
  socket: TLSSocket;
  /** The peer's certificate without its chain; null if it sent none. */
  leaf: PeerCertificate | null;
};

let shared: SecureContext | null = null;

/**
 * The context with default settings, created once: loading the roots for each request costs more than the handshake.
 */
export function defaultSecureContext(): SecureContext {
  shared ??= createSecureContext();
  return shared;
}

/**
 * A full TLS handshake over `socket`. Sessions are never resumed, so that each attempt measures a complete handshake.
 * An untrusted certificate does not reject: check `socket.authorized`. Rejects with the connection's error (both
 * sockets destroyed) or, on abort, `signal.reason`.
 */
export function handshake(
  socket: Socket,
  // http2: whether HTTP/2 is offered besides HTTP/1.1; null = no protocol is named at all.
  options: { host: string; context: SecureContext; http2: boolean | null; signal: AbortSignal },
): Promise<Handshake> {
  const { signal } = options;
  const host = options.host.endsWith('.') ? options.host.slice(0, -1) : options.host;
  return new Promise((resolve, reject) => {
    const secure = connect({
      socket,
      host,
      // RFC 6066 section 3: an address is not a server name.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      secureContext: options.context,
      ...(options.http2 === null ? {} : { ALPNProtocols: options.http2 ? ['h2', 'http/1.1'] : ['http/1.1'] }),
      rejectUnauthorized: false,
      checkServerIdentity,
    });
    const finish = () => {
      signal.removeEventListener('abort', onAbort);
      secure.off('error', onError);
      // Later errors are reported to the reader of the socket; until then they must not end the process.
      secure.on('error', () => undefined);
    };
    const onAbort = () => {
      finish();
      secure.destroy();
      socket.destroy();
      reject(signal.reason);
    };
    const onError = (error: Error) => {
      finish();
      secure.destroy();
      socket.destroy();
      reject(error);
    };
    secure.once('error', onError);
    secure.once('secureConnect', () => {
      finish();
      const certificate: PeerCertificate = secure.getPeerCertificate();
      // node:tls returns an empty object if there is none.
      resolve({ socket: secure, leaf: certificate.raw === undefined ? null : certificate });
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
