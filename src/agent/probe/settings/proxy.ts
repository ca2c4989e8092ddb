import type { ProxyConfig } from '../../../config.ts';
import { parseProxy, type Proxy } from '../../../executors/http/proxy.ts';
import type { ProbeFields } from './fields.ts';

/** The proxies of an HTTP module. */
export type ProxySettings = {
  /** The proxy for http and https targets; null = they are reached directly. */
  readonly http: Proxy | null;
  readonly https: Proxy | null;
  /** Targets that are reached without it, in the form of NO_PROXY; null = none, also not this machine. */
  readonly except: string | null;
  /** The proxy resolves the name of the target. */
  readonly resolves: boolean;
};

/** Fields about proxies; null = there is none. `agents`: the proxies of the agent's own environment. */
export function proxySettings(fields: ProbeFields, agents: ProxyConfig): ProxySettings | null {
  const url = fields.text('proxy_url');
  const isAgents = fields.flag('proxy_from_environment', false);
  const except = fields.text('no_proxy');
  const connectHeaders = connectHeadersOf(fields.object('proxy_connect_header'));
  const resolves = fields.flag('skip_resolve_phase_with_proxy', false);
  if (isAgents) {
    for (const other of ['proxy_url', 'no_proxy'])
      if (fields.text(other) !== '') fields.fail(other, 'and proxy_from_environment exclude each other');
    const proxyOf = (name: 'http' | 'https'): Proxy | null => {
      const own = agents[`${name}Proxy`];
      return own === null
        ? null
        : { ...parsed(fields, 'proxy_from_environment', own.reveal()), connectHeaders };
    };
    // The other program resolves names also if it need not.
    return { http: proxyOf('http'), https: proxyOf('https'), except: agents.noProxy, resolves: false };
  }
  if (url === '') {
    if (except !== '') fields.fail('no_proxy', 'needs proxy_url');
    if (connectHeaders.length > 0)
      fields.fail('proxy_connect_header', 'needs proxy_url or proxy_from_environment');
    return null;
  }
  const proxy = { ...parsed(fields, 'proxy_url', url), connectHeaders };
  return { http: proxy, https: proxy, except: except === '' ? null : except, resolves };
}

function parsed(fields: ProbeFields, field: 'proxy_url' | 'proxy_from_environment', url: string): Proxy {
  const form = 'a URL such as http://proxy.example:3128 (http or https)';
  const problem =
    field === 'proxy_url' ? `must be ${form}` : `needs HTTP_PROXY and HTTPS_PROXY to be ${form}`;
  if (!/^https?:\/\//i.test(url)) fields.fail(field, problem);
  try {
    return parseProxy(url);
  } catch {
    return fields.fail(field, problem);
  }
}

function connectHeadersOf(fields: ProbeFields): [string, string][] {
  return fields.names().flatMap((name) =>
    fields.texts(name).map((value): [string, string] => {
      if (!isHeader(name, value)) fields.fail(name, 'cannot be sent as a header');
      return [name, value];
    }),
  );
}

/** Whether name and value can be sent as a header. */
export const isHeader = (name: string, value: string): boolean =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[^\0\r\n]*$/.test(value);
