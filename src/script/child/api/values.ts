import { inspect } from 'node:util';
import { bytesBetween, type ChangedRequest, type RequestMessage, type ResponseMessage } from './messages.ts';
import { Refusal } from './compile.ts';
import { shortened } from '../shortened.ts';

/** Reads what a script left in its globals back into the agent's own formats. The values may be anything. */

const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`;

function text(value: unknown, name: string, remedy = ''): string {
  if (typeof value === 'string') return value;
  if (value instanceof URL) return value.href;
  throw new Refusal(`${name} must be a string, not ${kindOf(value)}${remedy}`);
}

/** A body: null and undefined count as empty. */
function body(value: unknown, name: string): string {
  if (value === undefined || value === null) return '';
  return text(value, name, '; use JSON.stringify for an object');
}

/** Names with strings. Numbers and booleans become strings; null and undefined remove the name. */
function pairs(value: unknown, name: string): { [name: string]: string } {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new Refusal(`${name} must be an object of names and strings, not ${kindOf(value)}`);
  }
  const read: [string, string][] = [];
  for (const [key, each] of Object.entries(value)) {
    if (each === undefined || each === null) continue;
    const plain = typeof each === 'number' || typeof each === 'boolean' ? String(each) : each;
    read.push([key, text(plain, `${name}[${JSON.stringify(shortened(key, 100))}]`)]);
  }
  return Object.fromEntries(read);
}

function bounded(value: unknown, name: string): void {
  const bytes = Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
  if (bytes > bytesBetween) {
    throw new Refusal(`${name} has ${bytes} bytes after the script; the limit is ${bytesBetween} (256 KB)`);
  }
}

/** The request after a setup script. Throws Refusal that names the field. */
export function readRequest(value: unknown, given: RequestMessage): ChangedRequest {
  if (typeof value !== 'object' || value === null)
    throw new Refusal(`request must be an object, not ${kindOf(value)}`);
  const fields = value as { [name: string]: unknown }; // an object; each field is checked below
  const request = {
    method: text(fields['method'], 'request.method').toUpperCase(),
    url: text(fields['url'], 'request.url'),
    headers: pairs(fields['headers'], 'request.headers'),
    queryParameters: pairs(fields['queryParameters'], 'request.queryParameters'),
  };
  bounded(request, 'request (without its body)');
  const after = body(fields['body'], 'request.body');
  if (after === given.body) return { ...request, body: null };
  bounded(after, 'request.body');
  return { ...request, body: after };
}

/** The response body after a teardown script; null = unchanged. Throws Refusal. */
export function readBody(value: unknown, given: ResponseMessage): string | null {
  if (typeof value !== 'object' || value === null)
    throw new Refusal(`response must be an object, not ${kindOf(value)}`);
  const after = body(Reflect.get(value, 'body'), 'response.body');
  if (after === given.body) return null;
  bounded(after, 'response.body');
  return after;
}

/** The changed variables. Throws Refusal if they exceed the size limit. */
export function environmentChanges(
  before: { [name: string]: string },
  after: { [name: string]: unknown },
): { set: { [name: string]: string }; unset: string[] } {
  const set: [string, string][] = [];
  for (const [name, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : inspect(value);
    if (before[name] !== text) set.push([name, text]);
  }
  const changes = {
    set: Object.fromEntries(set),
    unset: Object.keys(before).filter((name) => after[name] === undefined),
  };
  bounded(changes, 'the variables that the script wrote to process.env');
  return changes;
}

/** The request and response as teardown scripts see them: only `body` of the response can be changed. */
export function readOnly<T extends object>(value: T): T {
  for (const each of Object.values(value))
    if (typeof each === 'object' && each !== null) readOnly(each as object);
  return Object.freeze(value);
}

export function responseOf({ body: given, ...rest }: ResponseMessage): object {
  const response = {};
  for (const [name, value] of Object.entries(rest)) {
    const frozen: unknown = typeof value === 'object' ? readOnly(value) : value;
    Object.defineProperty(response, name, { value: frozen, enumerable: true });
  }
  return Object.defineProperty(response, 'body', { value: given, enumerable: true, writable: true });
}

/** A thrown value in a few words. It may be anything, even a hostile proxy. */
export function describe(thrown: unknown): { message: string; stack: string } {
  try {
    if (thrown instanceof Error) {
      const { name, message, stack } = thrown;
      return { message: shortened(`${name}: ${message}`, 2000), stack: shortened(String(stack), 20_000) };
    }
    return { message: shortened(inspect(thrown, { depth: 1 }), 2000), stack: '' };
  } catch {
    return { message: 'a value that cannot be shown', stack: '' };
  }
}
