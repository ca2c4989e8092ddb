import { Agent, request, type Dispatcher } from 'undici';
import type { AddressKind } from '../../addresses/address-kind.ts';
import { toError } from '../../errors.ts';
import { checkedLookup, checkLiteral, RefusedAddress, type AddressRule } from '../engine/target-address.ts';

/** One HTTP call of a notification, with limits on time, redirects, addresses and response size. */

export type Call = {
  method: string;
  url: string;
  headers: { [name: string]: string };
  /** Names of headers that only the first host may receive. */
  ownHeaders?: readonly string[];
  /** Not sent with GET or HEAD. */
  body: string;
  /** Computes a header from the body as sent; not used without a body, as for GET, HEAD and some redirects. */
  signature?: { header: string; of: (body: string) => string };
};

/** Outcome of one try. `retry`: a retry may succeed. */
export type Outcome =
  { delivered: true; result: string } | { delivered: false; result: string; retry: boolean };

export type Calling = {
  privateTargets: 'allow' | 'refuse';
  /** Classifies an address; tests override it, because they use only loopback addresses. */
  kindOf: (address: string) => AddressKind;
  /** Time limit of one try. */
  timeoutMs: number;
  /** False: results name the status of the answer only. Default true. */
  showsBody?: boolean;
};

const maxRedirects = 3;
/** Methods without a body. */
const bareMethods = ['GET', 'HEAD'];
/** Characters of a response that are kept for the log. */
const shownBytes = 4096;

/** The part of the response body that was read, and the status. */
export type Answer = {
  status: number;
  text: string;
  /** The final URL, if a redirect led there. */ from?: string;
};

/** Calls and evaluates the response: a status above 399 and any connection error count as not delivered. */
export async function callTarget(
  call: Call,
  calling: Calling,
  signal: AbortSignal,
  /** Null = delivered; otherwise why a response with a success status is still an error. */
  problemOf: (answer: Answer) => string | null = () => null,
): Promise<Outcome> {
  const timeout = AbortSignal.timeout(calling.timeoutMs);
  try {
    const answer = await follow(call, calling, AbortSignal.any([timeout, signal]));
    const from = answer.from === undefined ? '' : ` from ${answer.from}, after a redirect`;
    const isShown = calling.showsBody !== false && answer.text !== '';
    const result = `HTTP ${answer.status}${from}${isShown ? `: ${answer.text}` : ''}`;
    if (answer.status > 399) return { delivered: false, result, retry: true };
    const problem = problemOf(answer);
    return problem === null
      ? { delivered: true, result }
      : { delivered: false, result: calling.showsBody === false ? result : problem, retry: true };
  } catch (error) {
    // The service is stopping, which is no fault of this try.
    if (signal.aborted) throw error;
    if (timeout.aborted) {
      return { delivered: false, result: `no answer within ${calling.timeoutMs / 1000} s`, retry: true };
    }
    return failureOf(error);
  }
}

/** An error that a retry cannot fix: a refused address or an invalid URL. */
class Final extends Error {}

function failureOf(error: unknown): Outcome {
  const { message, cause } = toError(error);
  // An aggregate of failed addresses, and undici's wrapper, have no useful message of their own.
  const inner = error instanceof AggregateError ? toError(error.errors[0]) : cause;
  const refused = [error, cause, inner].find(
    (each) => each instanceof RefusedAddress || each instanceof Final,
  );
  if (refused !== undefined) return { delivered: false, result: toError(refused).message, retry: false };
  const reason = message === '' && inner !== undefined ? toError(inner).message : message;
  return {
    delivered: false,
    result: reason === '' ? 'the connection failed' : reason.slice(0, 500),
    retry: true,
  };
}

async function follow(first: Call, calling: Calling, signal: AbortSignal): Promise<Answer> {
  let call = first;
  for (let hop = 0; ; hop++) {
    const url = parsed(call.url);
    const answer = await once(call, url, ruleOf(calling, hop), signal);
    if (!('location' in answer)) return hop === 0 ? answer : { ...answer, from: url.origin };
    if (hop === maxRedirects) throw new Final(`redirected more than ${maxRedirects} times`);
    call = redirected(call, url, answer);
  }
}

function ruleOf({ privateTargets, kindOf }: Calling, hop: number): AddressRule {
  if (hop > 0) {
    return {
      allowPrivate: false,
      kindOf,
      refusal:
        'is an internal address, and redirects to internal addresses are not followed: use the final URL instead',
    };
  }
  const allowPrivate = privateTargets === 'allow';
  const refusal = allowPrivate
    ? 'is an address to which notifications are never sent'
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
  // One connection per call, because a connection opened for another channel may be under other rules.
  const dispatcher = new Agent({
    connect: { lookup: checkedLookup(rule), rejectUnauthorized: true },
    connections: 1,
    pipelining: 0,
  });
  try {
    const auth = basicAuth(url);
    url.username = '';
    url.password = '';
    const isBare = bareMethods.includes(method);
    const response = await request(url, {
      dispatcher,
      method: method as Dispatcher.HttpMethod, // any method that the schema allows
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

/** Removes the content type of a request without a body. */
const withoutType = (headers: Call['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-type'));

function basicAuth({ username, password }: URL): { [name: string]: string } {
  if (username === '') return {};
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(plain).toString('base64')}` };
}

/** Reads a limited part of the body. The status decides about success, so an incomplete body is not an error. */
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
    // Returns what has been read so far.
  }
  // PostgreSQL cannot store U+0000.
  return Buffer.concat(chunks).subarray(0, shownBytes).toString().replaceAll('\u0000', '').trim();
}

function redirected(call: Call, from: URL, { status, location }: Redirect): Call {
  if (!URL.canParse(location, from.href)) throw new Final('was redirected to an invalid URL');
  const to = new URL(location, from);
  const isOther = to.origin !== from.origin;
  const ownHeaders = call.ownHeaders ?? [];
  const headers = Object.fromEntries(
    Object.entries(call.headers).filter(([name]) => !isOther || !ownHeaders.includes(name)),
  );
  // Like browsers and HTTP libraries: only 307 and 308 repeat the method and body.
  const isRepeated = status === 307 || status === 308 || bareMethods.includes(call.method);
  return { ...call, url: to.href, headers, ...(isRepeated ? {} : { method: 'GET', body: '' }) };
}
