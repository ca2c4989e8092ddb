import { networkInterfaces } from 'node:os';
import { maxNetworkEntries, parseNetworkEntry } from '../addresses/network-entry.ts';
import type { AgentConfig } from '../config.ts';
import { toError } from '../errors.ts';
import type { ScriptNetwork } from '../script/process/script-network.ts';

/** How far customer code of this agent reaches in the network. */
export type ScriptReach = {
  network: () => ScriptNetwork;
  /**
   * The location's list, as the last hello delivered it; null = every network that is not special. Returns the error of
   * a malformed list, or null. With a malformed list scripts reach no network until the next hello.
   */
  setLocation: (allowed: unknown) => Error | null;
  setHealthPort: (port: number) => void;
};

type ReachSettings = Pick<
  AgentConfig,
  'scriptAllowedNetworks' | 'scriptDeniedNetworks' | 'healthPort' | 'serviceUrl' | 'installEnvironment'
>;

/** The operator of the network has the last word: the agent's own lists replace, and limit, the location's. */
export function createScriptReach(settings: ReachSettings): ScriptReach {
  const { scriptAllowedNetworks, scriptDeniedNetworks, serviceUrl } = settings;
  const configured = configuredTargets(settings.installEnvironment);
  const servicePort = Number(serviceUrl.port) || (serviceUrl.protocol === 'https:' ? 443 : 80);
  const ofService = isThisMachine(serviceUrl.hostname) ? [servicePort] : [];
  let location: readonly string[] | null = null;
  let { healthPort } = settings;
  return {
    network: () => ({
      allowed: scriptAllowedNetworks ?? location,
      denied: scriptDeniedNetworks,
      ownPorts: [...(healthPort === 0 ? [] : [healthPort]), ...ofService],
      configured,
    }),
    setLocation: (allowed) => {
      try {
        location = readList(allowed);
        return null;
      } catch (error: unknown) {
        location = [];
        return toError(error);
      }
    },
    setHealthPort: (port) => {
      healthPort = port;
    },
  };
}

/** Checks a service's list, so that no script start meets a malformed entry. Throws Error. */
function readList(given: unknown): readonly string[] | null {
  if (given === null || given === undefined) return null;
  if (!Array.isArray(given)) throw new Error('allowedNetworks is not a list');
  if (given.length > maxNetworkEntries) {
    throw new Error(`allowedNetworks has more than ${maxNetworkEntries} networks`);
  }
  return given.map((entry: unknown) => {
    if (typeof entry !== 'string') throw new Error('allowedNetworks has an entry that is not a text');
    parseNetworkEntry(entry);
    return entry;
  });
}

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '');

function isThisMachine(hostname: string): boolean {
  const host = withoutBrackets(hostname);
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return true;
  return Object.values(networkInterfaces()).some((found) => found?.some(({ address }) => address === host));
}

/** Proxies and registries of installers that the operator names by an address: they may be on loopback. */
function configuredTargets(variables: AgentConfig['installEnvironment']): string[] {
  return Object.values(variables).flatMap((value) => {
    const text = value.reveal();
    if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return [];
    const { hostname, port, protocol } = new URL(text);
    const ports = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
    if (hostname === 'localhost') return [`127.0.0.1:${ports}`, `[::1]:${ports}`];
    if (/^\[.*\]$/.test(hostname)) return [`${hostname}:${ports}`];
    return /^[\d.]+$/.test(hostname) ? [`${hostname}:${ports}`] : [];
  });
}
