import { exitCodes, FatalError, ServiceError } from '../../errors.ts';
import { isNestedDeeper, parsedJson } from '../../json-values.ts';
import { agentCalls, serviceTimeHeader } from '../../protocol/agent-calls.ts';
import type { AgentRoute, RequestOf, ResponseOf } from '../../protocol/routes.ts';
import type { Answer, Transport } from './transport.ts';
import { shortened } from '../../shortened.ts';
import type { HeardTime } from './service-clock.ts';

/**
 * The agent's client of `/agent/v1`: one function for all calls, typed by the route table. Every failure is
 * classified.
 */
export type ServiceClient = {
  /**
   * Makes one call; null = 204. Rejects with ServiceError (see `classify`), with FatalError KEY_REFUSED, or with the
   * signal's reason. A `Buffer` body is an already serialised request.
   */
  call: <R extends AgentRoute>(
    route: R,
    body: RequestOf<R> | Buffer,
    options: CallOptions,
  ) => Promise<ResponseOf<R> | null>;
  /** Time of the clock `now` since which no call has succeeded, in milliseconds; null while calls succeed. */
  failingSince: () => number | null;
  /**
   * Calls `listener` whenever the service itself has answered, also if it refused; not if it is not available (5xx). The
   * argument is the service's time in the answer; null if it told none.
   */
  onAnswer: (listener: (time: HeardTime | null) => void) => void;
  close: () => void;
};

export type CallOptions = {
  timeoutMs: number;
  answerBytes?: number;
  /** Value of `:jobId` in the path. */
  jobId?: string;
  signal?: AbortSignal;
};

const defaultAnswerBytes = 4 * 1024 * 1024;

/**
 * Creates the client. `onKeyRefused` is called first when a key is refused, whichever part of the agent made the
 * call.
 */
export function createServiceClient(options: {
  transport: Transport;
  serviceUrl: URL;
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  monotonicNow?: () => number;
  onKeyRefused: (error: FatalError) => void;
}): ServiceClient {
  let failingSince: number | null = null;
  const { monotonicNow = () => performance.now() } = options;
  const listeners: ((time: HeardTime | null) => void)[] = [];
  const tellAnswered = (time: HeardTime | null): void => {
    for (const listener of listeners) listener(time);
  };

  const perform = async (
    route: AgentRoute,
    body: Buffer | string,
    call: CallOptions,
  ): Promise<{ json: unknown; time: HeardTime | null }> => {
    const { path } = agentCalls[route];
    const sentAt = monotonicNow();
    const answer = await options.transport.post(
      call.jobId === undefined ? path : path.replace(':jobId', encodeURIComponent(call.jobId)),
      body,
      {
        timeoutMs: call.timeoutMs,
        answerBytes: call.answerBytes ?? defaultAnswerBytes,
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      },
    );
    const time = heardTime(answer, { sentAt, receivedAt: monotonicNow() });
    if (answer.status === 204) return { json: null, time };
    if (answer.status !== 200 && answer.status !== 201) throw classify(route, answer, options.serviceUrl);
    const json = jsonOf(answer.body);
    if (!(await isAnswerOf(route, json))) {
      const message = `${route}: the response does not come from the service`;
      throw new ServiceError('SERVICE_UNREACHABLE', message, { status: answer.status, retryable: true });
    }
    return { json, time };
  };

  return {
    call: async <R extends AgentRoute>(route: R, body: RequestOf<R> | Buffer, call: CallOptions) => {
      try {
        const { json, time } = await perform(
          route,
          Buffer.isBuffer(body) ? body : JSON.stringify(body),
          call,
        );
        failingSince = null;
        tellAnswered(time);
        return json as ResponseOf<R> | null; // isAnswerOf has checked it against the route's schema
      } catch (error) {
        if (!call.signal?.aborted) failingSince ??= options.now();
        if (error instanceof FatalError) options.onKeyRefused(error);
        if (isRefusal(error)) tellAnswered(null);
        throw error;
      }
    },
    failingSince: () => failingSince,
    onAnswer: (listener) => void listeners.push(listener),
    close: () => options.transport.close(),
  };
}

/**
 * Classifies an answer other than 200, 201 and 204.
 *
 * SERVICE_REFUSED: the service itself refused, in its own error shape. SERVICE_UNREACHABLE: an intermediary (a proxy,
 * a captive portal, a load balancer) answered instead. That is temporary and not caused by the request or the key.
 * Only a 401 of the service itself is fatal.
 */
export function classify(
  route: AgentRoute | 'artifact' | 'bundle',
  answer: Answer,
  serviceUrl: URL,
): ServiceError | FatalError {
  const { status } = answer;
  const message = ownMessage(answer.body);
  if (message === null) {
    const text = `${route}: status ${status} from something other than the service`;
    return new ServiceError('SERVICE_UNREACHABLE', text, { status, retryable: true, ...retryAfter(answer) });
  }
  if (status === 401) {
    return new FatalError('KEY_REFUSED', `API_KEY was refused by ${serviceUrl.origin}`, {
      exitCode: exitCodes.keyRefused,
      remedy: 'set it to an active key of the private location',
    });
  }
  const retryable = status >= 500 || status === 408 || status === 425 || status === 429;
  return new ServiceError('SERVICE_REFUSED', `${route}: the service answered ${status}: ${message}`, {
    status,
    retryable,
    ...retryAfter(answer),
  });
}

/** The service is there, and refuses the call. */
const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'SERVICE_REFUSED' && (error.status ?? 500) < 500;

/** Whether the service refused the content of a request, and would refuse it again, rather than the caller. */
export function isRefusedContent(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.code !== 'SERVICE_REFUSED') return false;
  return error.status === 400 || error.status === 413 || error.status === 422;
}

/** Refusals that depend on who asks, how often or by which way, not on the content. */
const notAboutContent = new Set([401, 404, 407, 408, 421, 425, 426, 429]);

/**
 * Whether a proxy on the way may have refused the content of a request: it is too large, or breaks a rule. A proxy may
 * also refuse everything; the caller finds out by another request.
 */
export function isRefusedOnTheWay(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.code !== 'SERVICE_UNREACHABLE') return false;
  const { status = 0 } = error;
  return status >= 400 && status < 500 && !notAboutContent.has(status);
}

/** The message of the service's error shape `{message, attributes}`; null if the body has another form. */
function ownMessage(body: Buffer): string | null {
  const json = jsonOf(body);
  if (typeof json !== 'object' || json === null || !('message' in json) || !('attributes' in json))
    return null;
  if (typeof json.message !== 'string' || typeof json.attributes !== 'object' || json.attributes === null)
    return null;
  return shortened(json.message, 500);
}

/** More levels than any answer of the service has; deeper values cost seconds when they are checked or copied. */
const maxAnswerDepth = 100;

/** The JSON of an answer; undefined if it is none, or nested too deeply to be the service's. */
function jsonOf(body: Buffer): unknown {
  const text = body.toString('utf8');
  return isNestedDeeper(text, maxAnswerDepth) ? undefined : parsedJson(text);
}

function heardTime(answer: Answer, call: Omit<HeardTime, 'serviceTime'>): HeardTime | null {
  const told = answer.headers[serviceTimeHeader];
  const serviceTime = typeof told === 'string' ? Date.parse(told) : Number.NaN;
  return Number.isNaN(serviceTime) ? null : { ...call, serviceTime };
}

const maxRetryAfterSeconds = 60;

export function retryAfter(answer: Answer): { retryAfterMs?: number } {
  const seconds = Number(answer.headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0
    ? { retryAfterMs: Math.min(seconds, maxRetryAfterSeconds) * 1000 }
    : {};
}

/** Hello is validated by hand, so that an idle agent never loads the schema library. */
async function isAnswerOf(route: AgentRoute, json: unknown): Promise<boolean> {
  if (route === 'hello') return isHello(json);
  const { answerValidators } = await import('./answer-validators.ts');
  return answerValidators[route].Check(json);
}

function isHello(json: unknown): json is ResponseOf<'hello'> {
  if (typeof json !== 'object' || json === null) return false;
  const hello = json as Partial<ResponseOf<'hello'>>; // every field is checked below
  return (
    typeof hello.agentId === 'string' &&
    hello.agentId.length <= 64 &&
    typeof hello.location?.slugName === 'string' &&
    isPositive(hello.leaseSeconds) &&
    isPositive(hello.renewSeconds) &&
    isPositive(hello.limits?.resultBytes) &&
    isPositive(hello.limits?.batchBytes) &&
    isPositive(hello.limits?.batchItems) &&
    typeof hello.time === 'string'
  );
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0;
}
