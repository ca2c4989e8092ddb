import type { AgentConfig } from '../../config.ts';
import { proxyFor } from './proxy-choice.ts';

/** `name` is for people; `host` is a name or an address. */
export type ServiceEndpoint = { name: string; host: string; port: number };

/** The host and port to which the agent's own traffic to the service goes first. */
export function serviceEndpoint({
  serviceUrl,
  proxy,
}: Pick<AgentConfig, 'serviceUrl' | 'proxy'>): ServiceEndpoint {
  const through = proxyFor(serviceUrl, proxy);
  const { hostname, protocol, port } = through ?? serviceUrl;
  const usual = protocol === 'https:' ? 443 : 80;
  const host = hostname.replace(/^\[|\]$/g, '');
  return {
    name: `${through === null ? 'the service' : 'the proxy of the service'} ${hostname}`,
    host,
    port: port === '' ? usual : Number(port),
  };
}
