import { randomInt } from 'node:crypto';
import { InvalidJobError } from '../errors.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import type { DnsRequest } from '../protocol/requests.ts';
import { evaluateAssertions } from './assertions/evaluate.ts';
import { jsonAnswer, textAnswer, type JsonAnswer } from './dns/answer.ts';
import { ExchangeError, exchangeReason } from './dns/errors.ts';
import { askServer } from './dns/exchange.ts';
import { newTrace, type Trace } from './dns/trace.ts';
import { encodeQuery, type DnsMessage } from './dns/message.ts';
import { queryName } from './dns/query-name.ts';
import { findServers, nameServerTarget, type NameServerTarget } from './dns/servers.ts';
import { rcodeName, typeNumber } from './dns/types.ts';
import type { DnsServer } from './dns/udp.ts';
import type { ExecutionContext, Executor, Outcome } from './interface/executor.ts';
import { deadlinePassed } from './tcp/errors.ts';
import { timingsOf, type Phases } from './tcp/timings.ts';
import { rounded } from '../rounding.ts';
import { shortened } from '../shortened.ts';

/** How long the agent waits for one of several servers before it queries the next. */
const serverShareMs = 5000;
/** Maximum number of characters of an answer in a result: of its text, and of its records' data. */
const maxShownText = 64 * 1024;

type Job = JobOf<'DNS'>;

/** The data that an attempt has collected so far, enough to report it at any time. */
type Progress = {
  startedAt: number;
  target: NameServerTarget | null;
  resolveMs: number | undefined;
  /** Servers that were queried; the last is the one that answered, if any did. */
  asked: { server: DnsServer; trace: Trace; ms: number; error?: string }[];
  ednsRetry: boolean;
};

type Answer = { message: DnsMessage; json: JsonAnswer; text: string };

/**
 * DNS check: one query by UDP, TCP, DOT or DOH with EDNS (payload 1232, DO, AD). Without nameServer the agent queries
 * the system's own servers in order. Each has 5 s before the next one, and the last has until the deadline. The
 * addresses of a name server given by name are queried in the same way. An answer with any rcode ends the search. By
 * UDP the query is sent again after 1, 3, 7 and 15 s.
 *
 * NOERROR passes and another rcode is DNS_RCODE, unless RESPONSE_CODE assertions check it.
 *
 * responseTime is the exchange with the server that answered: connection, TLS, query, retransmissions and the
 * repetition by TCP of a truncated answer. It excludes the lookup of the name server's own name, and servers that
 * failed before. Without an answer it is the total without that lookup. timings: `dns` is that lookup, `firstByte`
 * from query to answer, `remainder` contains the servers that failed before.
 *
 * details: `{request, nameServerInfo, response: {returnCode, answer, text, responseTime, truncated}, tries, servers,
 * truncatedRetry, ednsRetry, ignoredAnswers, tls, httpVersion}`.
 */
export const executeDns: Executor<'DNS'> = async (job, context) => {
  const progress: Progress = {
    startedAt: performance.now(),
    target: null,
    resolveMs: undefined,
    asked: [],
    ednsRetry: false,
  };
  const { request } = job;
  const type = typeNumber(request.recordType);
  const name = queryName(request.query, request.recordType);
  if (type === undefined)
    throw new InvalidJobError('INVALID_JOB', `recordType ${request.recordType} is unknown`);
  if (name === null) {
    throw new InvalidJobError(
      'INVALID_JOB',
      `query "${request.query}" is not a domain name: labels of 1 to 63 characters between dots`,
    );
  }
  try {
    const message = await ask({ name, type }, { request, context, progress });
    const answer = { message, json: jsonAnswer(message, type), text: textAnswer(message, type) };
    return report(job, progress, answer);
  } catch (error) {
    const reason = deadlinePassed(context.signal) ? timeOut(progress) : exchangeReason(error);
    return report(job, progress, reason);
  }
};

type Asking = { request: DnsRequest; context: ExecutionContext; progress: Progress };

async function ask(
  question: { name: string; type: number },
  { request, context, progress }: Asking,
): Promise<DnsMessage> {
  const { signal, network } = context;
  const target = nameServerTarget(request);
  progress.target = target;
  let servers: DnsServer[];
  try {
    const found = await findServers(target, { network, signal });
    servers = found.servers;
    progress.resolveMs = found.resolveMs;
  } catch (error) {
    progress.resolveMs = performance.now() - progress.startedAt;
    throw error;
  }
  let failure: unknown;
  for (const [index, server] of servers.entries()) {
    const last = index === servers.length - 1;
    const limit = limitOf(signal, last ? null : serverShareMs);
    try {
      return await askOne(question, { server, target, request, progress, signal: limit.signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      failure = error;
      context.log(
        'warn',
        `name server ${server.address} port ${server.port}: ${exchangeReason(error).message}`,
      );
    } finally {
      limit.clear();
    }
  }
  throw failure;
}

/** The signal, or one that also fires with an ExchangeError after `ms`. */
function limitOf(signal: AbortSignal, ms: number | null): { signal: AbortSignal; clear: () => void } {
  if (ms === null) return { signal, clear: () => {} };
  const limit = new AbortController();
  const onAbort = () => limit.abort(signal.reason);
  const timer = setTimeout(() => limit.abort(new ExchangeError('TIMEOUT', `no answer within ${ms} ms`)), ms);
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: limit.signal,
    clear: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

async function askOne(
  { name, type }: { name: string; type: number },
  options: {
    server: DnsServer;
    target: NameServerTarget;
    request: DnsRequest;
    progress: Progress;
    signal: AbortSignal;
  },
): Promise<DnsMessage> {
  const { server, target, request, progress, signal } = options;
  const { protocol, skipSSL } = request;
  const trace = newTrace();
  const asked: Progress['asked'][number] = { server, trace, ms: 0 };
  progress.asked.push(asked);
  const exchangeTarget = {
    server,
    protocol,
    host: target.host ?? server.address,
    path: target.path,
    skipSSL,
  };
  // RFC 8484 section 4.1: a fixed id, so that answers can be cached.
  const newQuery = (edns: boolean) =>
    encodeQuery({ id: protocol === 'DOH' ? 0 : randomInt(0x10000), name, type, edns });
  try {
    const answer = await askServer(exchangeTarget, newQuery(true), { trace, signal });
    const { rcode, edns } = answer;
    // RFC 6891 section 7: an old server without EDNS answers FORMERR or NOTIMP without OPT.
    if (!((rcode === 1 || rcode === 4) && edns === null)) return answer;
    progress.ednsRetry = true;
    return await askServer(exchangeTarget, newQuery(false), { trace, signal });
  } catch (error) {
    asked.error = signal.aborted ? 'TIMEOUT' : exchangeReason(error).code;
    throw error;
  } finally {
    asked.ms = performance.now() - trace.startedAt;
  }
}

function timeOut({ asked, target }: Progress): Reason {
  const last = asked.at(-1);
  if (last === undefined)
    return reasonOf('TIMEOUT', `the time ran out while ${target?.name ?? 'the name server'} was resolved`);
  const { ignored, lastMismatch } = last.trace.udp;
  const others =
    ignored === 0 ? '' : `; ${ignored} answers did not belong to the query (the last was ${lastMismatch})`;
  return reasonOf(
    'TIMEOUT',
    `no answer from ${last.server.address} port ${last.server.port} in time${others}`,
  );
}

function baseOutcome({ message }: Answer, request: DnsRequest): Outcome['base'] {
  const hasCodeAssertion = request.assertions.some(({ source }) => source === 'RESPONSE_CODE');
  if (message.rcode === 0 || hasCodeAssertion) return { ok: true };
  return { ok: false, reason: reasonOf('DNS_RCODE', `the name server answered ${rcodeName(message.rcode)}`) };
}

function report({ request }: Job, progress: Progress, seen: Answer | Reason): Outcome {
  const totalMs = performance.now() - progress.startedAt;
  const answer = 'json' in seen ? seen : null;
  const last = progress.asked.at(-1);
  const phases: Phases = { dns: progress.resolveMs, ...last?.trace.phases };
  const timings = timingsOf(phases, totalMs);
  const responseTime = rounded(
    answer !== null && last !== undefined ? last.ms : Math.max(0, timings.total - (timings.dns ?? 0)),
    3,
  );
  const { target } = progress;
  const sum = (of: (trace: Trace) => number) =>
    progress.asked.reduce((total, { trace }) => total + of(trace), 0);
  return {
    base: 'code' in seen ? { ok: false, reason: seen } : baseOutcome(seen, request),
    responseTime,
    timings,
    assertions: answer === null ? [] : assertionsOn(answer, request, responseTime),
    details: {
      request: {
        query: request.query,
        recordType: request.recordType,
        protocol: request.protocol,
        nameServer: request.nameServer,
        port: request.port,
      },
      nameServerInfo: {
        name: target?.name ?? target?.host ?? last?.server.address ?? null,
        host: last?.server.address ?? target?.host ?? null,
        port: last?.server.port ?? target?.port ?? null,
      },
      response: answer === null ? null : { ...shownAnswer(answer), responseTime },
      tries: sum(({ udp, streamTries }) => udp.tries + streamTries),
      servers: progress.asked.map(({ server, ms, error }) => ({
        address: server.address,
        port: server.port,
        ms: rounded(ms, 3),
        ...(error === undefined ? {} : { error }),
      })),
      truncatedRetry: progress.asked.some(({ trace }) => trace.truncatedRetry),
      ednsRetry: progress.ednsRetry,
      ignoredAnswers: sum(({ udp }) => udp.ignored),
      tls: last?.trace.tls ?? null,
      httpVersion: last?.trace.httpVersion ?? null,
    },
  };
}

function assertionsOn(
  { json, text }: Answer,
  { assertions }: DnsRequest,
  responseTime: number,
): Outcome['assertions'] {
  return evaluateAssertions(assertions, {
    RESPONSE_TIME: () => ({ value: responseTime }),
    RESPONSE_CODE: () => ({ value: json.Status }),
    TEXT_ANSWER: () => ({ value: text }),
    JSON_ANSWER: () => ({ value: json }),
  });
}

/** The answer for a result: complete, unless it is very long. */
function shownAnswer({ json, text }: Answer): Record<string, unknown> {
  let size = 0;
  const records = json.Answer.filter(({ name, data }) => {
    size += name.length + data.length + 40; // for the JSON around them
    return size <= maxShownText;
  });
  return {
    returnCode: json.Status,
    answer: { ...json, Answer: records },
    text: shortened(text, maxShownText),
    truncated: records.length < json.Answer.length || text.length > maxShownText,
  };
}
