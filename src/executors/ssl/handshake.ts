import { constants, getCurves } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import {
  connect,
  createSecureContext,
  DEFAULT_CIPHERS,
  type ConnectionOptions,
  type SecureContext,
  type SecureContextOptions,
  type TLSSocket,
} from 'node:tls';
import { presentedCertificates, readPeersSafely } from '../../native/tls-peer.ts';
import { codeOf } from '../../system-errors.ts';

readPeersSafely();

/** What a handshake showed, whatever the certificate is worth. */
export type Shown = {
  /** Raw certificates in the order in which the server sent them, leaf first. */
  presented: readonly Buffer[];
  protocol: string;
  /** IANA name of the negotiated suite. */
  cipher: string;
  /** OpenSSL's code of why the certificate is not trusted; null = it is. */
  authorizationError: string | null;
  /** The stapled OCSP response; null = none. */
  stapled: Buffer | null;
};

/** Groups of TLS, the usual ones first. Without the weak ones a server whose key is on such a curve answers nothing. */
const usualGroups = ['X25519', 'P-256', 'X448', 'P-521', 'P-384'];
const rareGroups = [
  'secp224r1',
  'secp256k1',
  'brainpoolP256r1',
  'brainpoolP384r1',
  'brainpoolP512r1',
  'prime192v1',
  'secp160r1',
  'sect163k1',
  'sect163r2',
  'sect233k1',
  'sect233r1',
];

/**
 * Settings with which weak servers can be measured rather than reported as unreachable: all versions and suites that this
 * OpenSSL still speaks, the usual ones first.
 */
const weakToo: SecureContextOptions = {
  minVersion: 'TLSv1',
  // An entry with `!` would remove its suites for good.
  ciphers: `${DEFAULT_CIPHERS.split(':')
    .filter((entry) => !entry.startsWith('!'))
    .join(':')}:ALL:COMPLEMENTOFALL:@SECLEVEL=0`,
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
  // Not every build of OpenSSL has all curves.
  ecdhCurve: [...usualGroups, ...rareGroups.filter((name) => getCurves().includes(name))].join(':'),
};

/** The newest version that a context offers. */
type Newest = 'TLSv1.3' | 'TLSv1.2';
const shared = new Map<Newest, SecureContext>();

/** The client's context; with a certificate of its own if `certificate` is given. Throws OpenSSL's error for a bad one. */
export function contextOf(
  certificate: SecureContextOptions | null,
  maxVersion: Newest = 'TLSv1.3',
): SecureContext {
  if (certificate !== null) return createSecureContext({ ...weakToo, maxVersion, ...certificate });
  const context = shared.get(maxVersion) ?? createSecureContext({ ...weakToo, maxVersion });
  shared.set(maxVersion, context);
  return context;
}

/** How OpenSSL 3.0 and, since 3.2, its successors name the alert handshake_failure (RFC 8446, section 6.2). */
const alertCodes: ReadonlySet<string> = new Set([
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
]);

/**
 * Whether an error is the alert of a server that chose TLS 1.3 and has no key for it, such as RSA with 512 bits or a weak
 * curve. With TLS 1.2 its certificate can be shown.
 */
export const mayNeedOlder = (error: unknown): boolean => alertCodes.has(codeOf(error) ?? '');

/**
 * A complete handshake over `socket`, which is destroyed afterwards. Nothing is verified here. Rejects with the
 * connection's error or `signal.reason`.
 */
export function shake(
  socket: Socket,
  options: { serverName: string; context: SecureContext; signal: AbortSignal },
): Promise<Shown> {
  const { serverName, context, signal } = options;
  return new Promise((resolve, reject) => {
    let stapled: Buffer | null = null;
    // The types of node:tls lack requestOCSP for clients, which the documents have.
    const settings: ConnectionOptions & { requestOCSP: boolean } = {
      socket,
      // RFC 6066, section 3: an address is no server name.
      ...(isIP(serverName) === 0 && serverName !== '' ? { servername: serverName } : {}),
      secureContext: context,
      requestOCSP: true,
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    };
    const secure = connect(settings);
    // Nobody checks the name here, and reading the certificates for it adds to the time of a handshake.
    secure.getPeerCertificate = none as TLSSocket['getPeerCertificate']; // the method's overload promises a chain
    const end = () => {
      signal.removeEventListener('abort', onAbort);
      secure.removeAllListeners();
      secure.on('error', () => undefined);
      secure.destroy();
      socket.destroy();
    };
    const onAbort = () => {
      end();
      reject(signal.reason as Error);
    };
    secure.once('error', (error) => {
      end();
      reject(error);
    });
    // A peer that closes in the middle of the handshake causes no error of its own on every version of Node.
    secure.once('close', () => {
      end();
      reject(
        Object.assign(new Error('the server closed the connection during the handshake'), {
          code: 'ECONNRESET',
        }),
      );
    });
    secure.on('OCSPResponse', (response: Buffer | null) => {
      stapled = response;
    });
    secure.once('secureConnect', () => {
      const error: unknown = secure.authorizationError;
      const shown: Shown = {
        presented: presentedCertificates(secure),
        protocol: secure.getProtocol() ?? '',
        cipher: secure.getCipher()?.standardName ?? '',
        authorizationError: secure.authorized ? null : String(error instanceof Error ? error.message : error),
        stapled,
      };
      end();
      resolve(shown);
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** What `getPeerCertificate` gives for a peer without a certificate. */
const none = () => ({});

const versions: { readonly [protocol: string]: string | undefined } = {
  SSLv3: 'SSL3.0',
  TLSv1: 'TLS1.0',
  'TLSv1.1': 'TLS1.1',
  'TLSv1.2': 'TLS1.2',
  'TLSv1.3': 'TLS1.3',
};

/** OpenSSL's name of a version as checks spell it: TLS1.2. */
export const versionName = (protocol: string): string => versions[protocol] ?? protocol;

/** A version's place in their order, from any spelling ("TLS1.2", "TLS 1.2", "TLSv1.2", "1.2"); null = none. */
export function versionNumber(text: string): number | null {
  const match = /^(?:TLS|SSL)?\s*v?(\d)(?:\.(\d))?$/i.exec(text.trim());
  if (match === null) return null;
  const number = Number(`${match[1]}.${match[2] ?? 0}`);
  // SSL 3.0 is older than TLS 1.0.
  return /^SSL/i.test(match[0]) ? number - 10 : number;
}
