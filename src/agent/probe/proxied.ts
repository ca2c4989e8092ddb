import { isIP } from 'node:net';
import { unbracketed } from '../../executors/interface/name.ts';
import type { Proxy } from '../../executors/http/proxy.ts';
import { isExempt } from '../link/proxy-choice.ts';
import { addressOf } from './address.ts';
import { TargetRefused } from './allowed-targets.ts';
import type { ProbeRun } from './run.ts';
import type { IpSettings } from './settings/ip.ts';
import type { ProxySettings } from './settings/proxy.ts';

/** HTTP probes through a proxy. The list of allowed targets holds for them, too, although the proxy connects. */

/** The proxy for a URL; null = the target is reached directly. */
export function proxyFor(url: URL, proxy: ProxySettings | null): ProxySettings | null {
  if (proxy === null || proxy.except === '') return proxy;
  return isExempt(url, proxy.except) || isOwnMachine(url) ? null : proxy;
}

/** With `no_proxy`, targets of this machine are never reached through the proxy. */
function isOwnMachine({ hostname }: URL): boolean {
  const host = unbracketed(hostname);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * The proxy for the requests of one probe. CONNECT names the address that the settings choose, so that the address on
 * the list is the one that is reached. `first`: the address of the first hop, which is known already.
 */
export function proxyOf(
  settings: ProxySettings,
  { run, ip, first }: { run: ProbeRun; ip: IpSettings; first: { host: string; address: string } | null },
): Proxy & Required<Pick<Proxy, 'targetFor'>> {
  return {
    ...settings.proxy,
    targetFor: async (host, secure) => {
      if (settings.resolves || !secure) {
        mustBeAllowed(host, run);
        return host;
      }
      return first !== null && host === first.host ? first.address : (await addressOf(host, ip, run)).address;
    },
  };
}

/** The proxy resolves the name, perhaps to another address than this machine: only the name itself can be allowed. */
function mustBeAllowed(host: string, { allowed }: ProbeRun): void {
  if (allowed.hasName(host) || (isIP(host) !== 0 && allowed.hasAddress(host))) return;
  throw new TargetRefused(
    `the target ${host} is not allowed by PROBE_TARGETS, which must name it, because a proxy resolves it`,
  );
}
