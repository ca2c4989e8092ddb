import { isIP } from 'node:net';
import type { Dispatcher, buildConnector as Connectors } from 'undici';
import type { ProxyConfig } from '../config.ts';
import { trusting } from './link/authorities.ts';
import { proxyFor } from './link/proxy-choice.ts';
import { proxyAuthorization, tunnelThrough } from './link/proxy-tunnel.ts';
import { buildConnector, Pool } from './undici-parts.ts';

/** Kept-alive connections to the service, direct or through the proxy. */
export type ServicePool = {
  dispatch: Dispatcher['dispatch'];
  /** What the path of each request begins with: an origin where a proxy wants the whole URL. */
  prefix: string;
  /** Headers of each request: name, value, name, value … */
  headers: readonly string[];
  /** Whether a request that starts now is the first one of its connection. */
  isOpening: () => boolean;
  close: () => void;
};

/** As long a connection without a call is kept where the service names no time of its own. */
const keepAliveMs = 60_000;

/** Opens the pool; connections come with the first calls. Throws FatalError (78) when the extra certificates cannot be read. */
export async function openServicePool(options: {
  serviceUrl: URL;
  proxy: ProxyConfig;
  extraCaFile: string | null;
  connectTimeoutMs: number;
}): Promise<ServicePool> {
  const { serviceUrl, extraCaFile, connectTimeoutMs } = options;
  const isSecure = serviceUrl.protocol === 'https:';
  const proxy = proxyFor(serviceUrl, options.proxy);
  const timeout = connectTimeoutMs;
  const trust = isSecure && extraCaFile !== null ? { secureContext: await trusting(extraCaFile) } : {};

  let origin = serviceUrl.origin;
  let connect: Connectors.connector;
  let prefix = '';
  let headers: readonly string[] = ['host', serviceUrl.host];
  if (proxy === null) {
    connect = buildConnector({ ...trust, timeout });
  } else if (isSecure) {
    connect = tunnelThrough({ proxy, target: serviceUrl, trust, connectTimeoutMs });
  } else {
    origin = proxy.origin;
    connect = named(proxy, buildConnector({ timeout }));
    prefix = serviceUrl.origin;
    headers = [...headers, ...proxyAuthorization(proxy)];
  }

  let opening = false;
  const pool = new Pool(origin, {
    connect: (connectOptions, connected) =>
      connect(connectOptions, (...result: Parameters<Connectors.Callback>) => {
        // undici 7.30.2 starts the first request of a connection before this call returns (lib/dispatcher/client.js, connect).
        opening = true;
        connected(...result);
        opening = false;
      }),
    // Calls have limits of their own.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
  });
  return {
    dispatch: (request, handler) => pool.dispatch(request, handler),
    prefix,
    headers,
    isOpening: () => opening,
    close: () => void pool.destroy(),
  };
}

/** TLS to a proxy names the proxy; undici would name the host header, which is the service's. */
function named(proxy: URL, connector: Connectors.connector): Connectors.connector {
  const servername = isIP(proxy.hostname.replace(/^\[|\]$/g, '')) === 0 ? proxy.hostname : '';
  return (options, connected) => connector({ ...options, servername, host: proxy.host }, connected);
}
