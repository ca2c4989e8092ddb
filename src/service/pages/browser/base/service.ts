/** Calls to the service's public API with the session cookie of the signed-in user. */

/** The session has ended, or the key was refused. */
export class SignedOut extends Error {}
/** The service did not answer, or a proxy answered in its place. */
export class Unreachable extends Error {}
/**
 * The service refused a request. `attributes` names the fields and their errors. `retryAfterMs`: when the service takes it
 * again, as after too many requests.
 */
export class Refused extends Error {
  readonly status: number;
  readonly attributes: { readonly [field: string]: readonly string[] };
  readonly retryAfterMs: number | null;
  constructor(
    status: number,
    message: string,
    attributes: Refused['attributes'],
    retryAfterMs: number | null = null,
  ) {
    super(message);
    this.status = status;
    this.attributes = attributes;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Between attempts while the service does not answer. */
const unreachableMs = 4_000;

/** When to repeat a read that failed; null = not by itself, because it would fail again. */
export function repeatAfterMs(error: unknown): number | null {
  if (error instanceof Unreachable) return unreachableMs;
  return error instanceof Refused ? error.retryAfterMs : null;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

async function call(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      credentials: 'same-origin',
      ...(body === undefined
        ? {}
        : body instanceof Blob
          ? { headers: { 'content-type': 'application/octet-stream' }, body }
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable('The service cannot be reached.');
  }
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

/** The service's own error has a message; another format comes from a proxy in front of the service. */
async function errorOf(answer: Response): Promise<Error> {
  const body: unknown = await answer.json().catch(() => null);
  if (typeof body !== 'object' || body === null || !('message' in body) || typeof body.message !== 'string')
    return new Unreachable(`The service cannot be reached: status ${answer.status}.`);
  if (answer.status === 401) return new SignedOut(body.message);
  const attributes = 'attributes' in body && typeof body.attributes === 'object' ? body.attributes : null;
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? Math.max(1, seconds) * 1000 : null;
  return new Refused(answer.status, body.message, (attributes ?? {}) as Refused['attributes'], retryAfterMs);
}

/**
 * Calls a route and returns its JSON; `Body` is the type that the route returns. Undefined if there is no content.
 * The body is sent as JSON; a Blob, such as a chosen file, as it is.
 * Throws SignedOut, Unreachable or Refused.
 */
export async function send<Body>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Body> {
  const answer = await call(method, path, body, signal);
  if (answer.status === 204) return undefined as Body;
  const text = await answer.text();
  if (text === '') return undefined as Body;
  try {
    return JSON.parse(text) as Body; // the service's own format
  } catch {
    throw new Unreachable('The service cannot be reached: the answer is not JSON.');
  }
}

/** Reads that have begun before a component asked for them, by path. */
const begun = new Map<string, Promise<unknown>>();
/** After this time the answer counts as old. */
const begunForMs = 5_000;

/** Begins to read JSON from a route that a component will `get` in a moment. */
export function begin(path: string): void {
  const answer = send('GET', path);
  // Whoever gets it sees the failure.
  answer.catch(() => undefined);
  begun.set(path, answer);
  setTimeout(() => begun.delete(path), begunForMs);
}

/** Reads JSON from a route. Throws as `send`. */
export function get<Body>(path: string, signal?: AbortSignal): Promise<Body> {
  const early = begun.get(path);
  begun.delete(path);
  if (early !== undefined) return early as Promise<Body>; // the same route
  return send<Body>('GET', path, undefined, signal);
}

/** Reads a list and the number of all its entries (`Content-Range`; null if the route does not tell). */
export async function getList<Entry>(
  path: string,
  signal?: AbortSignal,
): Promise<{ entries: Entry[]; total: number | null }> {
  const answer = await call('GET', path, undefined, signal);
  const [, total] = /\/(\d+)$/.exec(answer.headers.get('content-range') ?? '') ?? [];
  return { entries: (await answer.json()) as Entry[], total: total === undefined ? null : Number(total) };
}

const pageSize = 100;

/** Reads the pages of 100 entries of a list. The path may have a query, but no limit and no page. */
export async function getAll<Entry>(path: string, signal?: AbortSignal, mostPages = 10): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    const mark = path.includes('?') ? '&' : '?';
    const { entries, total } = await getList<Entry>(`${path}${mark}limit=${pageSize}&page=${page}`, signal);
    all.push(...entries);
    if (entries.length < pageSize || all.length >= (total ?? Infinity)) break;
  }
  return all;
}

/** A path with a query; undefined, null and empty values are left out, lists repeat their name. */
export function withQuery(path: string, query: { readonly [name: string]: QueryValue }): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}
type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[];
