import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ProxyConfig } from '../../../config.ts';
import { sizeBytes } from './durations.ts';
import type { CelRules } from '../cel/judge.ts';
import { celRules } from './cel.ts';
import { ipSettings, type IpSettings } from './ip.ts';
import type { ProbeFields } from './fields.ts';
import type { Pattern } from '../patterns/patterns.ts';
import { oauth2Settings, type Oauth2Settings } from './oauth2.ts';
import { isHeader, proxySettings, type ProxySettings } from './proxy.ts';
import { tlsSettings, type TlsSettings } from './tls.ts';

export type HeaderMatch = { header: string; pattern: Pattern; allowMissing: boolean };

/** The object `http` of a module. */
export type HttpSettings = {
  readonly ip: IpSettings;
  readonly tls: TlsSettings;
  readonly validStatusCodes: readonly number[];
  readonly validVersions: readonly string[];
  readonly method: string;
  /** Name and value in turn, with credentials, whose files are read for each probe. */
  readonly headers: () => Promise<string[]>;
  /** The Host header of the module; null = it has none. */
  readonly host: string | null;
  readonly body: Buffer | null;
  /** 0 = no limit but the agent's own. */
  readonly maxBytes: number;
  readonly compression: string;
  readonly followRedirects: boolean;
  readonly failIfSsl: boolean;
  readonly failIfNotSsl: boolean;
  readonly bodyMatches: readonly Pattern[];
  readonly bodyNotMatches: readonly Pattern[];
  readonly headerMatches: readonly HeaderMatch[];
  readonly headerNotMatches: readonly HeaderMatch[];
  /** Expressions over the JSON of the body; null = there are none. */
  readonly cel: CelRules | null;
  readonly http2: boolean;
  readonly oauth2: Oauth2Settings | null;
  readonly proxy: ProxySettings | null;
};

/** Fields have their own place for these. */
const reserved = new Set([
  'authorization',
  'host',
  'content-encoding',
  'content-length',
  'content-type',
  'user-agent',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'www-authenticate',
  'accept-encoding',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'cookie',
  'date',
  'x-forwarded-for',
]);

/** `agents`: the proxies of the agent's own environment. */
export async function httpSettings(fields: ProbeFields, agents: ProxyConfig): Promise<HttpSettings> {
  fields.refuse(['enable_http3']);
  const headers = headersOf(fields);
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? null;
  const more = moreHeaders(fields);
  const authorization = authorizationOf(fields);
  const compression = fields.oneOf('compression', ['', 'gzip', 'br', 'deflate', 'identity'], '');
  const accepted = headers.find(([name]) => name.toLowerCase() === 'accept-encoding')?.[1];
  if (compression !== '' && accepted !== undefined && !accepts(accepted, compression))
    fields.fail('compression', `is ${compression}, which the header Accept-Encoding does not accept`);
  const settings: HttpSettings = {
    ip: ipSettings(fields),
    tls: tlsSettings(fields),
    validStatusCodes: fields
      .list('valid_status_codes')
      .map((code) =>
        typeof code === 'number' && Number.isInteger(code)
          ? code
          : fields.fail('valid_status_codes', 'must be a list of numbers'),
      ),
    validVersions: fields.texts('valid_http_versions'),
    method: fields.text('method', 'GET'),
    headers: async () => {
      const own = headers.flat();
      const credentials = await authorization();
      return [
        ...own,
        ...(await more()),
        ...(credentials === null || headers.some(([name]) => name.toLowerCase() === 'authorization')
          ? []
          : ['authorization', credentials]),
      ];
    },
    host,
    body: bodyOf(fields),
    maxBytes: limitOf(fields),
    compression,
    followRedirects: redirectsOf(fields),
    failIfSsl: fields.flag('fail_if_ssl', false),
    failIfNotSsl: fields.flag('fail_if_not_ssl', false),
    bodyMatches: fields.patterns('fail_if_body_matches_regexp'),
    bodyNotMatches: fields.patterns('fail_if_body_not_matches_regexp'),
    headerMatches: headerMatchesOf(fields, 'fail_if_header_matches'),
    headerNotMatches: headerMatchesOf(fields, 'fail_if_header_not_matches'),
    cel: await celRules(fields),
    http2: fields.flag('enable_http2', true),
    oauth2: oauth2Settings(fields, agents),
    proxy: proxySettings(fields, agents),
  };
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(settings.method)) fields.fail('method', 'is not a method');
  fields.end();
  return settings;
}

function headersOf(fields: ProbeFields): [string, string][] {
  const own = fields.object('headers');
  return own.names().map((name) => {
    const value = own.text(name);
    if (!isHeader(name, value)) own.fail(name, 'cannot be sent as a header');
    return [name, value];
  });
}

/** `http_headers`, whose values may be secret, and whose files are read for each probe. */
function moreHeaders(fields: ProbeFields): () => Promise<string[]> {
  const own = fields.object('http_headers');
  const read = own.names().map((name) => {
    if (reserved.has(name.toLowerCase())) own.fail(name, 'is reserved; it has a field of its own');
    const one = own.object(name);
    const values = [...one.texts('values'), ...one.texts('secrets')];
    const files = one.texts('files');
    one.end();
    if (!values.every((value) => isHeader(name, value))) own.fail(name, 'cannot be sent as a header');
    return { name, values, files };
  });
  return async () => {
    const found: string[] = [];
    for (const { name, values, files } of read) {
      for (const value of values) found.push(name, value);
      for (const file of files) found.push(name, (await readFile(file, 'utf8')).trim());
    }
    return found;
  };
}

/** A secret, in the file or next to it. */
function secretOf(fields: ProbeFields, name: string): (() => Promise<string>) | null {
  const inline = fields.text(name);
  const file = fields.text(`${name}_file`);
  if (inline !== '' && file !== '') fields.fail(name, `and ${name}_file exclude each other`);
  if (inline !== '') return () => Promise.resolve(inline);
  return file === '' ? null : async () => (await readFile(file, 'utf8')).trim();
}

function authorizationOf(fields: ProbeFields): () => Promise<string | null> {
  const ways = ['basic_auth', 'authorization', 'oauth2', 'bearer_token', 'bearer_token_file'].filter((name) =>
    fields.has(name),
  );
  if (ways.length > 1) fields.fail(ways[0] ?? '', `and ${ways[1]} exclude each other`);
  const basic = fields.object('basic_auth');
  const username = secretOf(basic, 'username');
  const password = secretOf(basic, 'password');
  basic.end();
  const other = fields.object('authorization');
  const type = other.text('type', 'Bearer');
  if (type.toLowerCase() === 'basic') other.fail('type', 'is basic; use basic_auth');
  const credentials = secretOf(other, 'credentials') ?? secretOf(fields, 'bearer_token');
  fields.take('bearer_token');
  fields.take('bearer_token_file');
  other.end();
  if (fields.has('basic_auth')) {
    return async () => {
      const pair = `${(await username?.()) ?? ''}:${(await password?.()) ?? ''}`;
      return `Basic ${Buffer.from(pair).toString('base64')}`;
    };
  }
  return async () => (credentials === null ? null : `${type} ${await credentials()}`);
}

function bodyOf(fields: ProbeFields): Buffer | null {
  const text = fields.text('body');
  const file = fields.text('body_file');
  if (text !== '' && file !== '') fields.fail('body', 'and body_file exclude each other');
  if (file === '') return text === '' ? null : Buffer.from(text);
  try {
    return readFileSync(file);
  } catch (error: unknown) {
    return fields.fail('body_file', `cannot be read: ${error instanceof Error ? error.message : ''}`);
  }
}

function limitOf(fields: ProbeFields): number {
  const text = fields.text('body_size_limit', '0');
  return sizeBytes(text) ?? fields.fail('body_size_limit', 'must be a size such as 10MB');
}

function redirectsOf(fields: ProbeFields): boolean {
  const follow = fields.flag('follow_redirects', true);
  return fields.has('no_follow_redirects') ? !fields.flag('no_follow_redirects', false) : follow;
}

function headerMatchesOf(fields: ProbeFields, field: string): HeaderMatch[] {
  return fields.list(field).map((_, index) => {
    const one = fields.item(field, index);
    const header = one.text('header');
    if (header === '') one.fail('header', 'is required');
    const pattern = one.pattern('regexp') ?? one.fail('regexp', 'is required');
    const allowMissing = one.flag('allow_missing', false);
    one.end();
    return { header: header.toLowerCase(), pattern, allowMissing };
  });
}

/** Whether a value of Accept-Encoding allows the compression (RFC 9110, section 12.5.3). */
function accepts(header: string, compression: string): boolean {
  const parts = header.split(',').map((part) => part.trim().toLowerCase());
  const own = parts.find((part) => part.split(';')[0]?.trim() === compression);
  const chosen = own ?? parts.find((part) => part.split(';')[0]?.trim() === '*');
  return chosen === undefined ? compression === 'identity' : !/;\s*q=0(?:\.0*)?$/.test(chosen);
}
