import { isIP } from 'node:net';
import { unbracketed } from '../../executors/interface/name.ts';
import type { Proxy } from '../../executors/http/proxy.ts';
import { addressOf } from './address.ts';
import { TargetRefused } from './allowed-targets.ts';
import { isExempt } from './no-proxy.ts';
import type { ProbeRun } from './run.ts';
import type { IpSettings } from './settings/ip.ts';
import type { ProxySettings } from './settings/proxy.ts';

/** HTTP probes through a proxy. The list of allowed targets holds for them, too, although the proxy connects. */

/**
 * The proxy for a URL; null = it is reached directly. `address`: that of the URL's name, if it is known. Exceptions
 * hold for both.
 */
export function proxyFor(
  url: URL,
  settings: ProxySettings | null,
  address: string | null = null,
): Proxy | null {
  if (settings === null) return null;
  const isSecure = url.protocol === 'https:';
  const proxy = isSecure ? settings.https : settings.http;
  const { except } = settings;
  if (proxy === null || except === null) return proxy;
  const port = url.port === '' ? (isSecure ? '443' : '80') : url.port;
  const hosts = [unbracketed(url.hostname), address ?? []].flat();
  return hosts.some((host) => isExempt(host, port, except)) ? null : proxy;
}

/**
 * What the proxy is asked for, by the host of a hop. CONNECT names the address that the settings choose, so that the
 * address on the list is the one that is reached. `first`: the address of the first hop, which is known already.
 */
export function proxyTargets(
  { resolves }: ProxySettings,
  { run, ip, first }: { run: ProbeRun; ip: IpSettings; first: { host: string; address: string } | null },
): (host: string, secure: boolean) => Promise<string> {
  return async (host, secure) => {
    if (resolves || !secure) {
      mustBeAllowed(host, run);
      return host;
    }
    return first !== null && host === first.host ? first.address : (await addressOf(host, ip, run)).address;
  };
}

/** The proxy resolves the name, perhaps to another address than this machine: only the name itself can be allowed. */
function mustBeAllowed(host: string, { allowed }: ProbeRun): void {
  if (allowed.hasName(host) || (isIP(host) !== 0 && allowed.hasAddress(host))) return;
  throw new TargetRefused(
    `the target ${host} is not allowed by PROBE_TARGETS, which must name it, because a proxy resolves it`,
  );
}
