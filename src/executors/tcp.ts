import { isUtf8 } from 'node:buffer';
import type { Socket } from 'node:net';
import type { AssertionResult } from '../protocol/assertions.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import { evaluateAssertions } from './assertions/evaluate.ts';
import type { ExecutionContext, Executor, Outcome } from './interface/executor.ts';
import type { IpFamily, Resolved } from './interface/network.ts';
import { connectTcp, type ConnectAttempt } from './tcp/connect.ts';
import { connectionReason, deadlinePassed, errorFields, type SocketErrorFields } from './tcp/errors.ts';
import { readResponse, type TcpResponse } from './tcp/read.ts';
import { timingsOf, type Phases } from './tcp/timings.ts';

/** Maximum number of bytes of an answer in a result. */
const maxShownBytes = 16 * 1024;

type Job = JobOf<'TCP'>;

/** The data that an attempt has collected so far, enough to report it at any time. */
type Progress = {
  startedAt: number;
  /** The end of the measured time; null = now. */
  endedAt: number | null;
  phases: Phases;
  resolved: Resolved | null;
  attempts: ConnectAttempt[];
  response: TcpResponse | null;
};

/**
 * TCP check: connects, sends `data` unchanged (UTF-8, no escapes), reads the answer.
 *
 * - Without data only the connection is checked, and nothing is read unless an assertion uses RESPONSE_DATA.
 * - With data an answer is required: its first chunk, or with RESPONSE_DATA assertions the complete answer (see
 *   `readResponse`). A peer that closes without an answer is CONNECTION_CLOSED, unless RESPONSE_DATA assertions check
 *   the empty answer.
 * - A deadline before the connection is established is TIMEOUT, after it SOCKET_TIMEOUT.
 *
 * timings: `firstByte` is from the connection (and the data sent) to the answer's first byte, `download` to its last.
 * responseTime is the total. details: `{request, resolvedIp, ipFamily, ipFallback, source, attempts, response}`.
 */
export const executeTcp: Executor<'TCP'> = async (job, context) => {
  const progress: Progress = {
    startedAt: performance.now(),
    endedAt: null,
    phases: {},
    resolved: null,
    attempts: [],
    response: null,
  };
  let socket: Socket | null = null;
  try {
    socket = await open(job, context, progress);
    const closedEarly = await converse(socket, job, { context, progress });
    return report(job, progress, closedEarly === null ? null : { reason: closedEarly });
  } catch (error) {
    if (!deadlinePassed(context.signal)) {
      return report(job, progress, {
        reason: connectionReason(error),
        error: errorFields(error, targetOf(job)),
      });
    }
    return report(job, progress, timeOut(job, socket));
  } finally {
    socket?.destroy();
  }
};

function targetOf({ request }: Job): { hostname: string; family: IpFamily } {
  return { hostname: request.hostname, family: request.ipFamily === 'IPv6' ? 6 : 4 };
}

async function open(job: Job, { network, signal }: ExecutionContext, progress: Progress): Promise<Socket> {
  const { hostname, family } = targetOf(job);
  const { port } = job.request;
  let connecting = progress.startedAt;
  try {
    const resolved = await network.resolve(hostname, { family, signal });
    progress.resolved = resolved;
    network.connecting?.(resolved.addresses, port);
    connecting = performance.now();
    if (resolved.source !== 'literal') progress.phases.dns = resolved.durationMs;
    // The only write is sent at once anyway, and the option would cost a system call.
    const socket = await connectTcp(
      { addresses: resolved.addresses, port },
      { signal, attempts: progress.attempts },
    );
    socket.on('error', ignore); // an error after the attempt must not crash the process
    return socket;
  } finally {
    const phase = progress.resolved === null ? 'dns' : 'connect';
    progress.phases[phase] = performance.now() - connecting;
  }
}

function ignore(): void {}

/** Sends and reads. Returns the reason if an exchange without errors still failed, else null. */
async function converse(
  socket: Socket,
  { request }: Job,
  { context, progress }: { context: ExecutionContext; progress: Progress },
): Promise<Reason | null> {
  const { data } = request;
  const hasDataAssertion = request.assertions.some(({ source }) => source === 'RESPONSE_DATA');
  const sends = data !== null && data !== '';
  if (!sends && !hasDataAssertion) {
    progress.endedAt = performance.now();
    return null;
  }
  if (sends) socket.write(data);
  const sentAt = performance.now();
  try {
    const enough = hasDataAssertion
      ? (received: Buffer) => dataAssertionsHold(request.assertions, received)
      : null;
    const response = await readResponse(socket, { signal: context.signal, enough });
    progress.response = response;
    const { firstByteAt, lastByteAt } = response;
    progress.endedAt = lastByteAt ?? performance.now();
    progress.phases.firstByte = (firstByteAt ?? progress.endedAt) - sentAt;
    if (firstByteAt !== null && lastByteAt !== null) progress.phases.download = lastByteAt - firstByteAt;
    return firstByteAt === null && !hasDataAssertion
      ? reasonOf('CONNECTION_CLOSED', 'the peer closed the connection without an answer')
      : null;
  } catch (error) {
    progress.phases.firstByte = performance.now() - sentAt;
    throw error;
  }
}

function timeOut({ request }: Job, socket: Socket | null): Failure {
  if (socket === null) {
    return {
      reason: reasonOf('TIMEOUT', 'the time ran out before the connection was established'),
      error: { code: 'TIMEOUT' },
    };
  }
  const { remoteAddress } = socket;
  return {
    reason: reasonOf('SOCKET_TIMEOUT', 'the peer kept the connection open but did not answer in time'),
    error: {
      code: 'SOCKET_TIMEOUT',
      ...(remoteAddress === undefined ? {} : { address: remoteAddress }),
      port: request.port,
    },
  };
}

type Failure = { reason: Reason; error?: SocketErrorFields };

function textOf(data: Buffer): string {
  return data.toString('utf8');
}

function dataAssertionsHold(assertions: Job['request']['assertions'], data: Buffer): boolean {
  const own = assertions.filter(({ source }) => source === 'RESPONSE_DATA');
  const value = textOf(data);
  return evaluateAssertions(own, { RESPONSE_DATA: () => ({ value }) }).every(({ error }) => error === null);
}

/** The answer for the result: text if it is UTF-8, else base64. */
function shownData({ data, ended }: TcpResponse): Record<string, unknown> {
  let end = Math.min(data.length, maxShownBytes);
  // A cut must not fall within a character: step back over its continuation bytes, three at most.
  while (end < data.length && end > maxShownBytes - 3 && ((data[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const shown = data.subarray(0, end);
  const dataEncoding = isUtf8(shown) ? 'utf8' : 'base64';
  return {
    data: shown.toString(dataEncoding),
    dataEncoding,
    size: data.length,
    truncated: end < data.length || ended === 'full',
  };
}

function report(job: Job, progress: Progress, failure: Failure | null): Outcome {
  const { request } = job;
  const { resolved, response } = progress;
  const timings = timingsOf(progress.phases, (progress.endedAt ?? performance.now()) - progress.startedAt);
  const responseTime = timings.total;
  const used = progress.attempts.find(({ error }) => error === undefined) ?? progress.attempts.at(-1);
  let assertions: AssertionResult[] = [];
  if (failure === null && request.assertions.length > 0) {
    const value = response === null ? null : textOf(response.data);
    assertions = evaluateAssertions(request.assertions, {
      RESPONSE_TIME: () => ({ value: responseTime }),
      RESPONSE_DATA: () => ({ value }),
    });
  }
  return {
    base: failure === null ? { ok: true } : { ok: false, reason: failure.reason },
    responseTime,
    timings,
    assertions,
    details: {
      request: {
        hostname: request.hostname,
        port: request.port,
        ipFamily: request.ipFamily,
        data: request.data,
      },
      resolvedIp: used?.address ?? null,
      ipFamily: resolved?.addresses[0]?.family === 6 ? 'IPv6' : resolved === null ? request.ipFamily : 'IPv4',
      ipFallback: resolved?.ipFallback ?? false,
      source: resolved?.source ?? null,
      attempts: progress.attempts,
      response: {
        ...(response === null ? {} : shownData(response)),
        ...(failure?.error === undefined ? {} : { error: failure.error }),
      },
    },
  };
}
