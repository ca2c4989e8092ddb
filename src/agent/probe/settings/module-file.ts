import { readFile } from 'node:fs/promises';
import type { ProxyConfig } from '../../../config.ts';
import { isFields } from '../../../json-values.ts';
import { isSensitiveHeader } from '../../../sensitive-headers.ts';
import { ProbeConfigError, ProbeFields } from './fields.ts';
import { httpSettings, type HttpSettings } from './http.ts';
import {
  dnsSettings,
  grpcSettings,
  icmpSettings,
  tcpSettings,
  type DnsSettings,
  type GrpcSettings,
  type IcmpSettings,
  type TcpSettings,
} from './others.ts';

/** The file that PROBE_CONFIG names: modules in the format of blackbox_exporter. */

export type ProberSettings = {
  http: HttpSettings;
  tcp: TcpSettings;
  dns: DnsSettings;
  icmp: IcmpSettings;
  grpc: GrpcSettings;
};
export type ProberName = keyof ProberSettings;
export type ModuleOf<P extends ProberName> = {
  readonly prober: P;
  readonly settings: ProberSettings[P];
  /** Null = the time limit of the request counts. */
  readonly timeoutMs: number | null;
  /** The module as YAML, with its secrets masked. */
  readonly shown: string;
};
export type ProbeModule = { [P in ProberName]: ModuleOf<P> }[ProberName];
export type ProbeModules = ReadonlyMap<string, ProbeModule>;

type Reader<P extends ProberName> = (
  fields: ProbeFields,
  agents: ProxyConfig,
) => ProberSettings[P] | Promise<ProberSettings[P]>;
const readers: { readonly [P in ProberName]: Reader<P> } = {
  http: httpSettings,
  tcp: tcpSettings,
  dns: dnsSettings,
  icmp: icmpSettings,
  grpc: grpcSettings,
};
const proberNames = Object.keys(readers) as ProberName[]; // its own keys

/**
 * Reads the file. `agents`: the proxies of the agent's own environment. Throws ProbeConfigError, whose message names
 * the field.
 */
export async function readModules(path: string, agents: ProxyConfig): Promise<ProbeModules> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error: unknown) {
    throw new ProbeConfigError(`cannot be read: ${error instanceof Error ? error.message : path}`);
  }
  return modulesOf(text, agents);
}

const noProxies: ProxyConfig = { httpProxy: null, httpsProxy: null, noProxy: '' };

/** The modules of a file's text. Throws ProbeConfigError. */
export async function modulesOf(text: string, agents: ProxyConfig = noProxies): Promise<ProbeModules> {
  const { parse, stringify } = await import('yaml');
  let content: unknown;
  try {
    content = parse(text, { merge: true, maxAliasCount: 100, logLevel: 'error' });
  } catch (error: unknown) {
    throw new ProbeConfigError(`is not YAML: ${problemOf(error)}`);
  }
  if (containsItself(content)) throw new ProbeConfigError('has an anchor that contains itself');
  const file = new ProbeFields('', content);
  const all = file.object('modules');
  file.end();
  const modules = new Map<string, ProbeModule>();
  for (const name of all.names()) {
    const fields = all.object(name);
    const prober = fields.text('prober');
    const known =
      proberNames.find((one) => one === prober) ??
      fields.fail('prober', `is "${prober}", which is not supported; there are ${proberNames.join(', ')}`);
    const timeoutMs = fields.duration('timeout');
    // The other program reads the objects of all probers, but uses one.
    for (const other of proberNames)
      if (other !== known && fields.has(other)) await readers[other](fields.object(other), agents);
    for (const other of [...proberNames, 'unix', 'websocket']) fields.take(other);
    const settings = await readers[known](fields.object(known), agents);
    const shown = stringify(masked(all.take(name)));
    modules.set(name, {
      prober: known,
      settings,
      timeoutMs: timeoutMs === 0 ? null : timeoutMs,
      shown,
    } as ProbeModule); // the reader is the prober's
    fields.end();
  }
  return modules;
}

/** The library's messages and warnings repeat parts of the file, which may be secrets. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error) || !('linePos' in error))
    return 'an alias has no anchor, or there are too many aliases';
  const [at] = error.linePos as { line: number; col: number }[]; // both are fields of the library's YAMLError
  return `${String(error.code)} in line ${at?.line ?? 1}, column ${at?.col ?? 1}`;
}

/** Whether an alias names an anchor around it, so that the content has no end. `around`: what the value is in. */
function containsItself(value: unknown, around: ReadonlySet<unknown> = new Set()): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (around.has(value)) return true;
  const inside = new Set([...around, value]);
  return Object.values(value).some((one) => containsItself(one, inside));
}

/** Fields and headers that carry credentials. */
const secretName = /^(?:password|credentials|client_secret|key|secrets)$|auth|token|cookie|api-?key/i;

/** A copy for people, with secrets replaced. */
function masked(value: unknown, isSecret = false): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => masked(one, isSecret));
  if (!isFields(value)) return isSecret && value !== null ? '<secret>' : value;
  // basic_auth and authorization are objects, whose own fields decide.
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      name === 'proxy_url' || name === 'token_url'
        ? withoutSecrets(one)
        : name === 'proxy_connect_header' && isFields(one)
          ? Object.fromEntries(Object.keys(one).map((header) => [header, ['<secret>']]))
          : name === 'endpoint_params' && isFields(one)
            ? Object.fromEntries(Object.keys(one).map((parameter) => [parameter, '<secret>']))
            : masked(one, secretName.test(name) || isSensitiveHeader(name)),
    ]),
  );
}

/** An address without its user, password and query. */
function withoutSecrets(url: unknown): unknown {
  if (typeof url !== 'string') return url;
  return url.replace(/^([a-z]+:\/\/)[^/]*@/i, '$1<secret>@').replace(/\?.*$/s, '?<secret>');
}
