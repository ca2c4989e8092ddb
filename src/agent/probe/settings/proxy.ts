import { parseProxy, type Proxy } from '../../../executors/http/proxy.ts';
import type { ProbeFields } from './fields.ts';

/** The proxy of an HTTP module. */
export type ProxySettings = {
  readonly proxy: Proxy;
  /** Targets that are reached without it, in the form of NO_PROXY; empty = none. */
  readonly except: string;
  /** The proxy resolves the name of the target. */
  readonly resolves: boolean;
};

/** Fields about proxies; null = there is none. */
export function proxySettings(fields: ProbeFields): ProxySettings | null {
  fields.refuse(['proxy_from_environment'], 'is not supported; use proxy_url');
  const url = fields.text('proxy_url');
  const except = fields.text('no_proxy');
  const connectHeaders = connectHeadersOf(fields.object('proxy_connect_header'));
  const resolves = fields.flag('skip_resolve_phase_with_proxy', false);
  if (url === '') {
    if (except !== '') fields.fail('no_proxy', 'needs proxy_url');
    if (connectHeaders.length > 0) fields.fail('proxy_connect_header', 'needs proxy_url');
    return null;
  }
  return { proxy: { ...parsed(fields, url), connectHeaders }, except, resolves };
}

function parsed(fields: ProbeFields, url: string): Proxy {
  const problem = 'must be a URL such as http://proxy.example:3128 (http or https)';
  if (!/^https?:\/\//i.test(url)) fields.fail('proxy_url', problem);
  try {
    return parseProxy(url);
  } catch {
    return fields.fail('proxy_url', problem);
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
