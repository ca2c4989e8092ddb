import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import type { buildConnector as Connectors } from 'undici';
import { toError } from '../../errors.ts';
import { buildConnector, Client } from '../undici-parts.ts';

/** The header that identifies the agent to a proxy, from user and password of the proxy's URL; none where it has neither. */
export function proxyAuthorization(proxy: URL): readonly string[] {
  if (proxy.username === '' && proxy.password === '') return [];
  const userinfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return ['proxy-authorization', `Basic ${Buffer.from(userinfo).toString('base64')}`];
}

/**
 * Connects to an https `target` through CONNECT (RFC 9110, section 9.3.6). undici's ProxyAgent asks its proxy again and again, without
 * a pause, as long as the proxy closes each connection; here such an answer fails the call.
 */
export function tunnelThrough(way: {
  proxy: URL;
  target: URL;
  trust: { secureContext?: SecureContext };
  /** For the proxy's answer, and again for the TLS handshake inside. */
  connectTimeoutMs: number;
}): Connectors.connector {
  const connectInside = buildConnector({ ...way.trust, timeout: way.connectTimeoutMs });
  return (options, connected) => {
    openTunnel(way).then(
      // A tunnel is a socket of the client.
      (socket) => connectInside({ ...options, httpSocket: socket as Socket }, connected),
      // Without the code of the cause: undici would take some codes for a reason to try again.
      (error: unknown) => connected(new Error(toError(error).message, { cause: error }), null),
    );
  };
}

function openTunnel(way: { proxy: URL; target: URL; connectTimeoutMs: number }): Promise<Duplex> {
  const { proxy, target, connectTimeoutMs } = way;
  const authority = `${target.hostname}:${target.port === '' ? 443 : target.port}`;
  const client = new Client(proxy.origin, {
    connect: { timeout: connectTimeoutMs },
    headersTimeout: connectTimeoutMs,
  });
  return new Promise((resolve, reject) => {
    const fail = (error: Error & { code?: unknown }) => {
      void client.destroy();
      const isLate = error.code === 'UND_ERR_HEADERS_TIMEOUT';
      reject(isLate ? new Error(`the proxy did not answer within ${connectTimeoutMs} ms`) : error);
    };
    client.dispatch(
      {
        method: 'CONNECT',
        path: authority,
        headers: ['host', authority, ...proxyAuthorization(proxy)],
      },
      {
        onRequestStart: () => undefined,
        onRequestUpgrade: (_controller, status, _headers, socket) => {
          if (status === 200) return resolve(socket);
          socket.on('error', () => undefined).destroy();
          fail(new Error(`the proxy refused the tunnel with status ${status}`));
        },
        onResponseError: (_controller, error) => fail(error),
      },
    );
  });
}
