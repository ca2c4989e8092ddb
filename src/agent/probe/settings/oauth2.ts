import { readFile } from 'node:fs/promises';
import type { ProxyConfig } from '../../../config.ts';
import type { ProbeFields } from './fields.ts';
import { proxySettings, type ProxySettings } from './proxy.ts';
import { tlsSettings, type TlsSettings } from './tls.ts';

/** Where an HTTP module gets the token that it sends (the grant of client credentials, RFC 6749, section 4.4). */
export type Oauth2Settings = {
  readonly clientId: string;
  /** A file is read for each probe. */
  readonly clientSecret: () => Promise<string>;
  readonly tokenUrl: URL;
  readonly scopes: readonly string[];
  /** More parameters of the request for the token. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly tls: TlsSettings;
  readonly proxy: ProxySettings | null;
};

/** The object `oauth2`; null = there is none. `agents`: as for proxySettings. */
export function oauth2Settings(parent: ProbeFields, agents: ProxyConfig): Oauth2Settings | null {
  const fields = parent.object('oauth2');
  if (!parent.has('oauth2')) return null;
  const clientId = fields.text('client_id');
  if (clientId === '') fields.fail('client_id', 'is required');
  const secret = fields.text('client_secret');
  const file = fields.text('client_secret_file');
  if (secret !== '' && file !== '') fields.fail('client_secret', 'and client_secret_file exclude each other');
  if (secret === '' && file === '') fields.fail('client_secret', 'or client_secret_file is required');
  const own = fields.object('endpoint_params');
  const settings: Oauth2Settings = {
    clientId,
    clientSecret: async () => (secret === '' ? (await readFile(file, 'utf8')).trim() : secret),
    tokenUrl: tokenUrlOf(fields),
    scopes: fields.texts('scopes'),
    parameters: own.names().map((name) => [name, own.text(name)] as const),
    tls: tlsSettings(fields),
    proxy: proxySettings(fields, agents),
  };
  fields.end();
  return settings;
}

function tokenUrlOf(fields: ProbeFields): URL {
  const text = fields.text('token_url');
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    fields.fail('token_url', 'must be a URL (http or https)');
  return new URL(text);
}
