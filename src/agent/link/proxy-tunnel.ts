import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { toError } from '../../errors.ts';
import { destination } from './proxy-choice.ts';
import { connectThroughSocks, isSocks } from './socks.ts';

/** The header that authenticates to a proxy, from the user and password of its URL; empty if the URL has neither. */
export function proxyAuthorization(proxy: URL): OutgoingHttpHeaders {
  if (proxy.username === '' && proxy.password === '') return {};
  const userinfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(userinfo).toString('base64')}` };
}

type Connected = (error: Error | null, socket?: Socket) => void;

type Way = { proxy: URL; target: URL; connectTimeoutMs: number };

/**
 * Connections to `target` through CONNECT (RFC 9110, section 9.3.6) or SOCKS5. `connectInside` starts TLS inside the tunnel. A
 * function for `createConnection` of an agent.
 */
export function tunnelThrough(way: Way & { connectInside: (socket: Socket) => TLSSocket }) {
  return (_options: RequestOptions, connected: Connected): undefined => {
    const ask = async () => {
      const socket = await (isSocks(way.proxy) ? socksSocket(way) : connectSocket(way));
      const inner = way.connectInside(socket);
      // The call that needs the connection may have ended; then nobody else would close the connection.
      inner.setTimeout(way.connectTimeoutMs, () =>
        inner.destroy(new Error(`no TLS connection through the proxy within ${way.connectTimeoutMs} ms`)),
      );
      inner.once('error', connected);
      inner.once('secureConnect', () => {
        inner.setTimeout(0);
        inner.off('error', connected);
        connected(null, inner);
      });
    };
    ask().catch((error: unknown) => connected(toError(error)));
    return undefined;
  };
}

/** Connections to `target` through SOCKS5, without TLS inside. A function for `createConnection` of an agent. */
export function throughSocks(way: Way) {
  return (_options: RequestOptions, connected: Connected): undefined => {
    socksSocket(way).then(
      (socket) => connected(null, socket),
      (error: unknown) => connected(toError(error)),
    );
    return undefined;
  };
}

function socksSocket({ proxy, target, connectTimeoutMs }: Way): Promise<Socket> {
  const { hostname, port } = destination(target);
  return connectThroughSocks({ proxy, host: hostname, port, timeoutMs: connectTimeoutMs });
}

/** A socket that an HTTP proxy has connected. Rejects with the proxy's refusal. */
async function connectSocket({ proxy, target, connectTimeoutMs }: Way): Promise<Socket> {
  const authority = `${target.hostname}:${destination(target).port}`;
  const client = proxy.protocol === 'https:' ? await import('node:https') : http;
  return new Promise((resolve, reject) => {
    const connect = client.request({
      ...destination(proxy),
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...proxyAuthorization(proxy) },
      agent: false,
      // The credentials of the proxy go there, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      rejectUnauthorized: true,
      timeout: connectTimeoutMs,
    });
    connect.on('timeout', () =>
      connect.destroy(new Error(`the proxy did not answer within ${connectTimeoutMs} ms`)),
    );
    connect.on('error', reject);
    connect.on('response', (response) => connect.destroy(refusedTunnel(response)));
    connect.on('connect', (response, socket) => {
      if (response.statusCode !== 200) {
        // The request no longer owns its socket, so destroying the request would leave an error without a listener.
        socket.destroy();
        return reject(refusedTunnel(response));
      }
      socket.setTimeout(0);
      resolve(socket);
    });
    connect.end();
  });
}

function refusedTunnel({ statusCode = 0 }: IncomingMessage): Error {
  // Some answer 401 where the standard asks for 407.
  const remedy = statusCode === 407 || statusCode === 401 ? ': check the user and password in its URL' : '';
  return new Error(`the proxy refused the tunnel with status ${statusCode}${remedy}`);
}
