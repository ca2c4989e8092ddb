import type { JobOf } from '../../protocol/job.ts';
import type { ApiRequest } from '../../protocol/requests.ts';
import type { ExecutionContext } from '../interface/executor.ts';
import { acceptEncoding } from './body.ts';
import { HttpFailure } from './failures.ts';
import { parseTarget, proxyOf, userAgent } from './outcome.ts';
import type { HttpRequest } from './request.ts';
import type { Renderer } from './templates.ts';
import { isTemplate } from '../../templates/parse.ts';
import { shortened } from '../../shortened.ts';

const plain: Renderer = (_field, template) => template;

/** The request of a check after its setup scripts, and the variables for its templates. */
export type ScriptedRequest = {
  request: ApiRequest;
  variables: readonly { key: string; value: string }[];
};

/**
 * The request of an API job after its setup scripts: templates rendered, body wrapped, headers completed. Throws
 * HttpFailure.
 */
export async function apiRequest(
  job: JobOf<'API'>,
  context: ExecutionContext,
  scripted: ScriptedRequest = { request: job.request, variables: job.environmentVariables },
): Promise<HttpRequest> {
  const check = scripted.request;
  const { render, variables } = await rendererOf(scripted, {
    context,
    groupBaseUrl: job.groupBaseUrl ?? '',
  });
  const url = withQuery(parseTarget(render('url', check.url)), check, render);
  variables.set('REQUEST_URL', url.href);
  const body = bodyOf(check, render);
  return {
    url,
    method: check.method,
    headers: headersOf(check, { render, context, hasBody: body !== null }),
    body,
    followRedirects: check.followRedirects,
    skipSsl: check.skipSSL,
    family: check.ipFamily === 'IPv6' ? 6 : 4,
    proxy: job.proxyUrl === null ? null : await proxyOf(job, context),
    clientCertificates: job.clientCertificates,
    keepBody: true,
  };
}

/** The job's renderer. If no field is a template, it returns every text unchanged and does not load the parser. */
async function rendererOf(
  { request: check, variables: own }: ScriptedRequest,
  { context, groupBaseUrl }: { context: ExecutionContext; groupBaseUrl: string },
): Promise<{ render: Renderer; variables: Map<string, string> }> {
  const variables = new Map<string, string>();
  const fields = [
    check.url,
    check.body,
    check.basicAuth?.username ?? '',
    check.basicAuth?.password ?? '',
    ...check.headers.map(({ value }) => value),
    ...check.queryParameters.map(({ value }) => value),
  ];
  if (!fields.some(isTemplate)) return { render: plain, variables };
  variables.set('GROUP_BASE_URL', groupBaseUrl).set('REQUEST_URL', '');
  for (const { key, value } of own) variables.set(key, value);
  const { createRenderer } = await import('./templates.ts');
  const render = await createRenderer({
    variables,
    now: context.now,
    onMissing: (name) =>
      context.log('warn', `the variable ${shortened(name, 256)} is not set and renders as an empty text`),
  });
  return { render, variables };
}

/** Adds the query parameters. Each is encoded once, so templates in them render unencoded values. */
function withQuery(url: URL, check: ApiRequest, render: Renderer): URL {
  if (check.queryParameters.length === 0) return url;
  const pairs = check.queryParameters.map(({ key, value }, index) => {
    const rendered = render(`queryParameters[${index}].value`, value, 'raw');
    return `${encodeURIComponent(wellFormed(key))}=${encodeURIComponent(wellFormed(rendered))}`;
  });
  url.search = `${url.search === '' ? '' : `${url.search}&`}${pairs.join('&')}`;
  return url;
}

/** Replaces unpaired surrogates, which have no UTF-8 form. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

function bodyOf(check: ApiRequest, render: Renderer): Buffer | null {
  if (check.bodyType === 'NONE' || check.body === '') return null;
  const rendered = render('body', check.body);
  const text = check.bodyType === 'GRAPHQL' ? graphqlEnvelope(rendered) : rendered;
  return text === '' ? null : Buffer.from(text);
}

/** GraphQL over HTTP: a JSON object with `query`. A body that already is one is left unchanged. */
function graphqlEnvelope(text: string): string {
  if (text.trimStart().startsWith('{')) {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null && 'query' in value) return text;
    } catch {
      // A query in its short form starts with a brace too.
    }
  }
  return JSON.stringify({ query: text });
}

/** Headers about the connection or the body's length, which only the agent sets. */
const reserved = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

const contentTypes: { readonly [T in ApiRequest['bodyType']]: string | null } = {
  JSON: 'application/json',
  GRAPHQL: 'application/json',
  FORM: 'application/x-www-form-urlencoded',
  RAW: null,
  NONE: null,
};

function headersOf(
  check: ApiRequest,
  io: { render: Renderer; context: ExecutionContext; hasBody: boolean },
): string[] {
  const headers: string[] = [];
  const names = new Set<string>();
  for (const [index, { key, value }] of check.headers.entries()) {
    const name = key.trim();
    const lower = name.toLowerCase();
    if (!/^[!#$%&'*+\-.^_`|~\da-z]+$/.test(lower)) {
      throw new HttpFailure(
        'INVALID_REQUEST',
        `headers[${index}].key is not a valid header name: ${shortened(name, 100)}`,
      );
    }
    if (reserved.has(lower)) {
      io.context.log('warn', `the header ${name} is set by the agent; the check's value is not sent`);
      continue;
    }
    if (lower === 'host' && names.has('host')) {
      throw new HttpFailure(
        'INVALID_REQUEST',
        `headers[${index}].key: the header ${name} may be set only once`,
      );
    }
    const rendered = io.render(`headers[${index}].value`, value).trim();
    if (/[^\t\x20-\x7e\x80-\xff]/.test(rendered)) {
      throw new HttpFailure(
        'INVALID_REQUEST',
        `headers[${index}].value: the header ${name} contains a line break or another character that is not allowed in headers`,
      );
    }
    names.add(lower);
    headers.push(name, rendered);
  }
  const fallback = (name: string, value: string) => {
    if (!names.has(name)) headers.push(name, value);
  };
  const contentType = contentTypes[check.bodyType];
  if (contentType !== null && io.hasBody) fallback('content-type', contentType);
  if (check.basicAuth !== null && (check.basicAuth.username !== '' || check.basicAuth.password !== '')) {
    const username = io.render('basicAuth.username', check.basicAuth.username);
    const password = io.render('basicAuth.password', check.basicAuth.password);
    fallback('authorization', `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`);
  }
  fallback('accept', '*/*');
  fallback('accept-encoding', acceptEncoding);
  fallback('user-agent', userAgent);
  return headers;
}
