import { userAgent } from '../../executors/http/outcome.ts';
import { performRequest } from '../../executors/http/request.ts';
import { ResolveError } from '../../executors/interface/network.ts';
import { fieldsOf } from '../../json-values.ts';
import { contextOf } from './context.ts';
import { proxyFor } from './proxied.ts';
import type { ProbeRun } from './run.ts';
import type { Oauth2Settings } from './settings/oauth2.ts';

/** The server of tokens is the operator's own, so that it need not be on the list of allowed targets. */

const maxBytes = 1024 * 1024;

/** The Authorization header of a module with `oauth2`: a new token for each probe. Null = none was given. */
export async function oauth2Authorization(settings: Oauth2Settings, run: ProbeRun): Promise<string | null> {
  const secret = await settings.clientSecret();
  // RFC 6749, section 2.3.1: the credentials are encoded as in forms before they become a header.
  const pair = [settings.clientId, secret].map(encoded).join(':');
  const inHeader = { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
  const inBody = { client_id: settings.clientId, client_secret: secret };
  // Servers accept one or the other, and nothing tells which.
  return (await ask(settings, run, inHeader, {})) ?? (await ask(settings, run, {}, inBody));
}

type Texts = { readonly [name: string]: string };

/** One request for a token; null = it was refused, or there is no answer. */
async function ask(
  { tokenUrl, scopes, parameters, tls, proxy }: Oauth2Settings,
  run: ProbeRun,
  headers: Texts,
  credentials: Texts,
): Promise<string | null> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...credentials });
  if (scopes.length > 0) form.set('scope', scopes.join(' '));
  for (const [name, value] of parameters) form.set(name, value);
  const sent = {
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': userAgent,
    ...headers,
  };
  const { resolve } = run.network;
  const report = await performRequest(
    {
      url: tokenUrl,
      method: 'POST',
      headers: Object.entries(sent).flat(),
      body: Buffer.from(form.toString()),
      followRedirects: false,
      skipSsl: tls.insecure,
      family: 4,
      proxy: proxyFor(tokenUrl, proxy),
      clientCertificates: [],
      keepBody: true,
      maxBytes,
      tls: { context: tls.context, serverName: tls.serverName, onSecure: () => undefined },
    },
    {
      ...contextOf(run),
      network: {
        ...run.network,
        resolve: async (name, options) => {
          try {
            return await resolve(name, options);
          } catch (error: unknown) {
            if (!(error instanceof ResolveError)) throw error;
            return resolve(name, { ...options, family: 6 });
          }
        },
      },
    },
  );
  const { response, failure } = report;
  const isGood = failure === null && response !== null && response.status >= 200 && response.status < 300;
  const token = isGood ? authorizationIn(Buffer.concat(response.chunks).toString('utf8')) : null;
  if (token === null)
    run.log('No token was given', { url: tokenUrl.host, status: response?.status, err: failure?.message });
  return token;
}

/** The header of an answer as JSON, or as a form, which some servers send. */
function authorizationIn(text: string): string | null {
  const fields = answerOf(text);
  const { access_token: token, token_type: type } = fields;
  if (typeof token !== 'string' || token === '' || !/^[\x21-\x7e]+$/.test(token)) return null;
  const named = typeof type === 'string' && /^[\w-]+$/.test(type) ? type : 'Bearer';
  return `${/^bearer$/i.test(named) ? 'Bearer' : named} ${token}`;
}

function answerOf(text: string): { readonly [name: string]: unknown } {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

const encoded = (text: string): string => new URLSearchParams({ a: text }).toString().slice(2);
