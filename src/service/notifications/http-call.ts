import { Agent, request, type Dispatcher } from 'undici';
import { toError } from '../../errors.ts';
import {
  checkedLookup,
  checkLiteral,
  RefusedAddress,
  type AddressRule,
  type AddressKind,
} from '../engine/target-address.ts';

/** One HTTP call of a notification, within its bounds: time, redirects, addresses, what is read of the answer. */

export type Call = {
  method: string;
  url: string;
  headers: { [name: string]: string };
  /** Names of headers that only the first host may see. */
  ownHeaders?: readonly string[];
  /** A GET and a HEAD go without it. */
  body: string;
  /** A header over the body as it is sent, which is none where a GET or a HEAD goes, or has come of a redirect. */
  signature?: { header: string; of: (body: string) => string };
};

/** What became of one try. `retry`: another one may go better. */
export type Outcome =
  { delivered: true; result: string } | { delivered: false; result: string; retry: boolean };

export type Calling = {
  privateTargets: 'allow' | 'refuse';
  /** What an address is; given by tests, which have no address but this machine's. */
  kindOf: (address: string) => AddressKind;
  /** Time of one try. */
  timeoutMs: number;
};

const mostRedirects = 3;
/** Methods that go without a body. */
const bareMethods = ['GET', 'HEAD'];
/** Of an answer, for the log. */
const shownBytes = 4096;

/** The body of an answer as far as it is read, and its status. */
export type Answer = {
  status: number;
  text: string;
  /** Where it came from, if not from where was asked. */ from?: string;
};

/** Calls and judges: a status above 399 and whatever kept an answer from coming is no delivery. */
export async function callTarget(
  call: Call,
  calling: Calling,
  signal: AbortSignal,
  /** Null = delivered; else why an answer with a good status is none after all. */
  problemOf: (answer: Answer) => string | null = () => null,
): Promise<Outcome> {
  const timeout = AbortSignal.timeout(calling.timeoutMs);
  try {
    const answer = await follow(call, calling, AbortSignal.any([timeout, signal]));
    const from = answer.from === undefined ? '' : ` from ${answer.from}, after a redirect`;
    const result = `HTTP ${answer.status}${from}${answer.text === '' ? '' : `: ${answer.text}`}`;
    if (answer.status > 399) return { delivered: false, result, retry: true };
    const problem = problemOf(answer);
    return problem === null
      ? { delivered: true, result }
      : { delivered: false, result: problem, retry: true };
  } catch (error) {
    // The service ends: it is not this try's fault.
    if (signal.aborted) throw error;
    if (timeout.aborted) {
      return { delivered: false, result: `no answer within ${calling.timeoutMs / 1000} s`, retry: true };
    }
    return failureOf(error);
  }
}

/** What can't be right next time either: an address that is refused, a URL that is none. */
class Final extends Error {}

function failureOf(error: unknown): Outcome {
  const { message, cause } = toError(error);
  // Several addresses that all failed, and undici's wrapper, say nothing by themselves.
  const inner = error instanceof AggregateError ? toError(error.errors[0]) : cause;
  const refused = [error, cause, inner].find(
    (each) => each instanceof RefusedAddress || each instanceof Final,
  );
  if (refused !== undefined) return { delivered: false, result: toError(refused).message, retry: false };
  const told = message === '' && inner !== undefined ? toError(inner).message : message;
  return {
    delivered: false,
    result: told === '' ? 'the connection failed' : told.slice(0, 500),
    retry: true,
  };
}

async function follow(first: Call, calling: Calling, signal: AbortSignal): Promise<Answer> {
  let call = first;
  for (let hop = 0; ; hop++) {
    const url = parsed(call.url);
    const answer = await once(call, url, ruleOf(calling, hop), signal);
    if (!('location' in answer)) return hop === 0 ? answer : { ...answer, from: url.origin };
    if (hop === mostRedirects) throw new Final(`redirected more than ${mostRedirects} times`);
    call = redirected(call, url, answer);
  }
}

function ruleOf({ privateTargets, kindOf }: Calling, hop: number): AddressRule {
  if (hop > 0) {
    return {
      allowPrivate: false,
      kindOf,
      refusal:
        'is an internal address, and redirects to those are not followed: set the URL that it leads to',
    };
  }
  const allowPrivate = privateTargets === 'allow';
  const refusal = allowPrivate
    ? 'is an address that notifications never go to'
    : 'is an internal address, which NOTIFICATION_PRIVATE_TARGETS=refuse does not allow';
  return { allowPrivate, kindOf, refusal };
}

function parsed(text: string): URL {
  if (!URL.canParse(text)) throw new Final('the URL is not valid');
  const url = new URL(text);
  if (!['http:', 'https:'].includes(url.protocol))
    throw new Final('the URL must begin with http:// or https://');
  return url;
}

type Redirect = { status: number; location: string };

async function once(
  { method, headers, body, signature }: Call,
  url: URL,
  rule: AddressRule,
  signal: AbortSignal,
): Promise<Answer | Redirect> {
  checkLiteral(url.hostname, rule);
  // One call, one connection: what another channel has opened under another rule is not used.
  const dispatcher = new Agent({ connect: { lookup: checkedLookup(rule) }, connections: 1, pipelining: 0 });
  try {
    const auth = basicAuth(url);
    url.username = '';
    url.password = '';
    const isBare = bareMethods.includes(method);
    const response = await request(url, {
      dispatcher,
      method: method as Dispatcher.HttpMethod, // any method that the schema lets through
      headers: {
        ...auth,
        ...(isBare ? withoutType(headers) : headers),
        ...(signature === undefined ? {} : { [signature.header]: signature.of(isBare ? '' : body) }),
      },
      ...(isBare ? {} : { body }),
      signal,
    });
    const { statusCode: status } = response;
    const { location } = response.headers;
    if ([301, 302, 303, 307, 308].includes(status) && typeof location === 'string')
      return { status, location };
    return { status, text: await beginningOf(response.body) };
  } finally {
    await dispatcher.destroy();
  }
}

/** What is sent without a body has no type either. */
const withoutType = (headers: Call['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type'));

function basicAuth({ username, password }: URL): { [name: string]: string } {
  if (username === '') return {};
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(plain).toString('base64')}` };
}

/** The status has decided already: an answer that breaks off or does not end is what has come of it. */
async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= shownBytes) break;
    }
  } catch {
    // Told as far as it has come.
  }
  // PostgreSQL stores no U+0000.
  return Buffer.concat(chunks).subarray(0, shownBytes).toString().replaceAll('\u0000', '').trim();
}

function redirected(call: Call, from: URL, { status, location }: Redirect): Call {
  if (!URL.canParse(location, from.href)) throw new Final('was redirected to something that is no URL');
  const to = new URL(location, from);
  const isOther = to.origin !== from.origin;
  const ownHeaders = call.ownHeaders ?? [];
  const headers = Object.fromEntries(
    Object.entries(call.headers).filter(([name]) => !isOther || !ownHeaders.includes(name)),
  );
  // As browsers and libraries do: only 307 and 308 repeat what was sent.
  const isRepeated = status === 307 || status === 308 || bareMethods.includes(call.method);
  return { ...call, url: to.href, headers, ...(isRepeated ? {} : { method: 'GET', body: '' }) };
}
