import type { AsyncLocalStorage } from 'node:async_hooks';
import type { RecordFile } from './file.ts';
import { bounds, type CallRecord, type TestKey } from './format.ts';
import { newMoments, phasesOf, rounded, watchPhases, type Moments } from './phases.ts';
import { plainText } from './text.ts';
import { holderOf, watchMethod, type Methods } from './wrap.ts';
import { withoutStep } from './playwright-step.ts';
import { isSensitiveHeader } from '../sensitive-headers.ts';
import { shortened } from '../shortened.ts';

/** The part of Playwright's APIResponse that the capture uses. */
type Response = {
  url: () => string;
  status: () => number;
  statusText: () => string;
  headers: () => { [name: string]: string };
  body: () => Promise<Buffer>;
};

type Call = {
  moments: Moments;
  verb: string;
  args: unknown[];
  owner: object;
  startTime: number;
  test: TestKey;
};

export type CallWatch = {
  storage: AsyncLocalStorage<unknown>;
  coreFolder: string;
  file: RecordFile;
  currentTest: () => TestKey;
};

const verbs = ['get', 'post', 'put', 'patch', 'delete', 'head', 'fetch'];
/** Read by getAPIResponseTime of the helpers package. */
const responseTime = Symbol.for('location-agent.responseTime');
const textType = /^text\/|json|xml|javascript|x-www-form-urlencoded|graphql/i;

/** Prepares the capture of API calls; call the result with each new APIRequestContext. */
export function watchCalls(options: CallWatch): (requestContext: unknown) => void {
  const { storage, coreFolder, file } = options;
  let left = bounds.calls;
  watchPhases(storage, (call) => (isCall(call) ? call.moments : null));
  return (requestContext) => {
    const prototype = holderOf(requestContext, 'fetch');
    for (const verb of verbs) {
      watchMethod<Call>(prototype, verb, coreFolder, storage, {
        // `get` calls `fetch` internally.
        begin: (owner, args) => {
          if (isCall(storage.getStore())) return null;
          return {
            moments: newMoments(),
            verb,
            args,
            owner,
            startTime: Date.now(),
            test: options.currentTest(),
          };
        },
        end: async (call, result) => {
          const response = result as Response; // these methods resolve with it
          const durationMs = performance.now() - call.moments.begin;
          Object.defineProperty(response, responseTime, { value: rounded(durationMs) });
          if (left-- <= 0) return;
          const headers = response.headers();
          const body = await bodyOf(call.owner, response, headers);
          file.write({
            ...record(call, durationMs, response.url()),
            response: {
              status: response.status(),
              statusText: shortened(response.statusText(), bounds.shortText),
              headers: boundedHeaders(headers),
              ...body,
            },
          });
        },
        fail: (call, error) => {
          if (left-- <= 0) return;
          const message = error instanceof Error ? error.message : String(error);
          file.write({
            ...record(call, performance.now() - call.moments.begin, null),
            error: plainText(message, bounds.shortText),
          });
        },
      });
    }
  };
}

function isCall(value: unknown): value is Call {
  return typeof value === 'object' && value !== null && 'moments' in value;
}

function record(call: Call, durationMs: number, finalUrl: string | null): CallRecord {
  const [target, given] = call.args;
  const options = (typeof given === 'object' && given !== null ? given : {}) as Methods; // read field by field below
  // `fetch` also takes a Request of a page.
  const ofPage = typeof target === 'object' && target !== null ? (target as Methods) : null;
  const ask = (name: string): unknown => {
    const method = ofPage?.[name];
    return typeof method === 'function' ? method.call(ofPage) : undefined;
  };
  const url = typeof target === 'string' ? target : ask('url');
  const method = call.verb === 'fetch' ? (options['method'] ?? ask('method') ?? 'GET') : call.verb;
  const headers = call.moments.headers ?? options['headers'] ?? {};
  return {
    kind: 'call',
    test: call.test,
    startTime: call.startTime,
    durationMs: rounded(durationMs),
    request: {
      method: shortened(String(method).toUpperCase(), 32),
      url: shortened(absolute(String(url ?? ''), finalUrl), bounds.url),
      headers: boundedHeaders(headers as Methods), // an object of headers
      body: requestBody(options) ?? textOrNull(ask('postData')),
    },
    response: null,
    error: null,
    timingPhases: phasesOf(call.moments, durationMs),
  };
}

/** A path is relative to the configured base URL, which only the final URL shows. */
function absolute(url: string, finalUrl: string | null): string {
  if (finalUrl === null || URL.canParse?.(url)) return url;
  try {
    return new URL(url, finalUrl).href;
  } catch {
    return url;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? shortened(value, bounds.bodyText) : null;
}

function requestBody(options: Methods): string | null {
  const body = options['data'] ?? options['form'] ?? options['multipart'];
  if (body === undefined || body === null) return null;
  if (typeof body === 'string') return shortened(body, bounds.bodyText);
  if (Buffer.isBuffer(body)) return `(${body.length} bytes)`;
  try {
    const text = JSON.stringify(body, (_, value: unknown) =>
      isBufferJson(value) ? '(bytes)' : typeof value === 'bigint' ? String(value) : value,
    );
    return shortened(text, bounds.bodyText);
  } catch {
    return null;
  }
}

function isBufferJson(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer';
}

function boundedHeaders(headers: Methods): { [name: string]: string } {
  const entries = Object.entries(headers)
    .slice(0, bounds.headers)
    .map(([name, value]) => {
      const text = Array.isArray(value) ? value.join(', ') : String(value);
      return [
        shortened(name, 200),
        isSensitiveHeader(name) ? '*********' : shortened(text, bounds.headerValue),
      ];
    });
  return Object.fromEntries(entries) as { [name: string]: string }; // built from pairs of strings
}

/** The body has arrived completely before the call resolves, so reading it does not wait for the target. */
async function bodyOf(
  owner: object,
  response: Response,
  headers: { [name: string]: string },
): Promise<{ body: string | null; bodyBytes: number }> {
  const announced = Number(headers['content-length'] ?? Number.NaN);
  // Do not copy a large body only to cut it.
  if (announced > 4 * 1024 * 1024) return { body: null, bodyBytes: announced };
  try {
    const bytes = (await withoutStep(owner, () => response.body())) as Buffer; // body() resolves with it
    const type = headers['content-type'] ?? '';
    const isText = type === '' ? !bytes.subarray(0, 1024).includes(0) : textType.test(type);
    const text = isText
      ? shortened(bytes.subarray(0, bounds.bodyText + 4).toString('utf8'), bounds.bodyText)
      : null;
    return { body: text, bodyBytes: bytes.length };
  } catch {
    return { body: null, bodyBytes: Number.isFinite(announced) ? announced : 0 };
  }
}
