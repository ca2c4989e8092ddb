import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { toError } from '../../errors.ts';

/** Host (an IPv6 address without brackets) and port of a URL, in the form that node:http expects. */
export function destination(url: URL): { hostname: string; port: number } {
  return {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
  };
}

/** The header that authenticates to a proxy, from the user and password of its URL; empty if the URL has neither. */
export function proxyAuthorization(proxy: URL): OutgoingHttpHeaders {
  if (proxy.username === '' && proxy.password === '') return {};
  const userinfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(userinfo).toString('base64')}` };
}

type Connected = (error: Error | null, socket?: Socket) => void;

/** Connections to `target` through CONNECT (RFC 9110, section 9.3.6). `connectInside` starts TLS inside the tunnel. */
export function tunnelThrough(way: {
  proxy: URL;
  target: URL;
  connectInside: (socket: Socket) => TLSSocket;
  connectTimeoutMs: number;
}) {
  const { proxy, target, connectInside, connectTimeoutMs } = way;
  const { port } = destination(target);
  const authority = `${target.hostname}:${port}`;
  return (_options: RequestOptions, connected: Connected): undefined => {
    const ask = async () => {
      const client = proxy.protocol === 'https:' ? await import('node:https') : http;
      const connect = client.request({
        ...destination(proxy),
        method: 'CONNECT',
        path: authority,
        headers: { host: authority, ...proxyAuthorization(proxy) },
        agent: false,
        timeout: connectTimeoutMs,
      });
      connect.on('timeout', () =>
        connect.destroy(new Error(`the proxy did not answer within ${connectTimeoutMs} ms`)),
      );
      connect.on('error', connected);
      connect.on('response', (response) => connect.destroy(refusedTunnel(response)));
      connect.on('connect', (response, socket) => {
        if (response.statusCode !== 200) {
          // The request no longer owns its socket, so destroying the request would leave an error without a listener.
          socket.destroy();
          return connected(refusedTunnel(response));
        }
        socket.setTimeout(0);
        const inner = connectInside(socket);
        // The call that needs the connection may have ended; then nobody else would close the connection.
        inner.setTimeout(connectTimeoutMs, () =>
          inner.destroy(new Error(`no TLS connection through the proxy within ${connectTimeoutMs} ms`)),
        );
        inner.once('error', connected);
        inner.once('secureConnect', () => {
          inner.setTimeout(0);
          inner.off('error', connected);
          connected(null, inner);
        });
      });
      connect.end();
    };
    ask().catch((error: unknown) => connected(toError(error)));
    return undefined;
  };
}

function refusedTunnel(response: IncomingMessage): Error {
  return new Error(`the proxy refused the tunnel with status ${response.statusCode}`);
}
