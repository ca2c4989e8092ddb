import type { ClientHttp2Session } from 'node:http2';
import { isIP } from 'node:net';
import { JobAborted, toError } from '../errors.ts';
import type { JobOf } from '../protocol/job.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import { underTimeLimit } from '../time-limit.ts';
import { openConnection, type ConnectionFacts } from './http/connection.ts';
import { HttpFailure, reasonOfError } from './http/failures.ts';
import { userAgent } from './http/outcome.ts';
import { clock, dropPhase, endPhases, enterPhase, startPhases, type PhaseRecord } from './http/phases.ts';
import {
  emptyAnswer,
  isGrpc,
  makeCall,
  openSession,
  type CallAnswer,
  type CallRequest,
} from './grpc/call.ts';
import { messageToJson } from './grpc/decode.ts';
import { methodOf, ownSchema } from './grpc/definition.ts';
import { messageFromJson } from './grpc/encode.ts';
import { FrameError, frameOf, parseMessage } from './grpc/frames.ts';
import { reportOf, type GrpcReport } from './grpc/outcome.ts';
import { listServices, reflect, reflectionPaths, type Ask } from './grpc/reflection.ts';
import { renderedCall, statusName, type GrpcCall } from './grpc/request.ts';
import { link, type Method, type Schema } from './grpc/schema.ts';
import { fieldsOf, ProtoError, Writer } from './grpc/wire.ts';
import type { ExecutionContext, Executor } from './interface/executor.ts';

type Job = JobOf<'GRPC'>;

const unimplemented = 12;

/**
 * GRPC check: one call over a new HTTP/2 connection. HEALTH asks grpc.health.v1.Health. BEHAVIOR calls a unary or
 * server-streaming method, whose types come from the server's reflection, a .proto text or a descriptor set.
 *
 * Without an assertion about it, a status other than OK fails, and so does an answer of the health service other than
 * SERVING. `timeout` spans everything. responseTime and timings do not count the reflection. details: see
 * `grpc/outcome.ts`.
 */
export const executeGrpc: Executor<'GRPC'> = async (job, context) => {
  const record = startPhases();
  const facts: ConnectionFacts = {
    address: null,
    attempts: [],
    ipFallback: false,
    certificate: null,
    clientCertificate: null,
  };
  const report: GrpcReport = {
    job,
    call: null,
    record,
    facts,
    answer: emptyAnswer(),
    failure: null,
    messages: [],
    discovered: [],
    reflectionMs: null,
    health: null,
  };
  const limitMs = job.request.timeout * 1000;
  await underTimeLimit(context.signal, limitMs, (signal) =>
    connectAndCall(report, { context, signal, limitMs }),
  );
  endPhases(record);
  return reportOf(report);
};

/** Fills the report. Rejects only with what the target did not cause. */
async function connectAndCall(
  report: GrpcReport,
  { context, signal, limitMs }: { context: ExecutionContext; signal: AbortSignal; limitMs: number },
): Promise<void> {
  const { job, facts, record } = report;
  const deadlineAt = performance.now() + limitMs;
  let session: ClientHttp2Session | null = null;
  try {
    const call = await renderedCall(job, context);
    report.call = call;
    const { tls } = job.request.grpcConfig;
    const socket = await openConnection(destinationOf(job, call), {
      network: context.network,
      signal,
      now: context.now,
      facts,
      record,
    });
    enterPhase(record, null);
    if (tls && Reflect.get(socket, 'alpnProtocol') === 'http/1.1') {
      socket.destroy();
      throw new HttpFailure('HTTP_PROTOCOL_ERROR', 'the server speaks HTTP/1.1 only, and gRPC needs HTTP/2');
    }
    session = openSession(socket, `${tls ? 'https' : 'http'}://${authorityOf(call)}`);
    await converse(session, { report, call, signal, remainingMs: () => deadlineAt - performance.now() });
  } catch (error: unknown) {
    report.failure = failureOf(error, { context, signal, report });
  } finally {
    session?.destroy();
  }
}

const authorityOf = ({ host, port }: GrpcCall) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

function destinationOf({ request, clientCertificates }: Job, { host, port }: GrpcCall) {
  const { grpcConfig: config } = request;
  const mode = config.clientCertificateMode;
  return {
    host,
    port,
    secure: config.tls,
    serverName: config.serverName === null || config.serverName === '' ? host : config.serverName,
    family: request.ipFamily === 'IPv6' ? (6 as const) : (4 as const),
    skipSsl: request.skipSSL,
    http2: true,
    proxy: null,
    // An explicit certificate is used whatever host it was stored for.
    clientCertificates:
      mode === null
        ? []
        : mode === 'auto'
          ? clientCertificates
          : clientCertificates.slice(0, 1).map((each) => ({ ...each, host: '*' })),
  };
}

type Talk = { report: GrpcReport; call: GrpcCall; signal: AbortSignal; remainingMs: () => number };

async function converse(session: ClientHttp2Session, talk: Talk): Promise<void> {
  const { report, call } = talk;
  const { grpcConfig: config } = report.job.request;
  if (config.mode === 'HEALTH') {
    const question = new Writer();
    if (call.service !== '') question.text(1, call.service);
    await callOnce(session, talk, { message: question.done(), maxMessages: 1, isStream: config.watch });
    const [first] = report.answer.messages;
    if (first === undefined) return;
    const status = [...fieldsOf(first)].findLast(({ number }) => number === 1);
    report.health = Number(status?.varint ?? 0n);
    report.messages = [{ status: report.health }];
    return;
  }
  const schema =
    config.serviceDefinition === 'REFLECTION' ? await reflected(session, talk) : ownSchema(config);
  const method: Method = methodOf(schema, call.path);
  const message = messageFromJson(schema, method.input, parseMessage(call.message));
  const isStream = method.serverStreaming;
  await callOnce(session, talk, { message, maxMessages: isStream ? config.maxMessages : 1, isStream });
  report.messages = report.answer.messages.map((bytes) => messageToJson(schema, method.output, bytes));
  report.isStream = isStream;
}

function requestOf({ report, call, remainingMs }: Talk): Omit<CallRequest, 'path' | 'messages'> {
  const { tls, compression } = report.job.request.grpcConfig;
  return {
    authority: authorityOf(call),
    secure: tls,
    metadata: call.metadata,
    compression,
    timeoutMs: remainingMs(),
    userAgent,
  };
}

/** The call that the check is about. */
async function callOnce(
  session: ClientHttp2Session,
  talk: Talk,
  { message, maxMessages, isStream }: { message: Buffer; maxMessages: number; isStream: boolean },
): Promise<void> {
  const { report, call, signal } = talk;
  const { compression, maxMessageBytes } = report.job.request.grpcConfig;
  const frame = await frameOf(message, compression);
  enterPhase(report.record, 'firstByte');
  await makeCall(
    session,
    { ...requestOf(talk), path: `/${call.path}`, messages: [frame] },
    {
      answer: report.answer,
      limits: { maxMessageBytes, maxMessages, isStream },
      signal,
      onHead: () => enterPhase(report.record, 'download'),
    },
  );
  // The server may answer at the same moment at which our timer is due; an answer after the deadline is late.
  if (talk.remainingMs() <= 0) throw new DOMException('the answer is late', 'TimeoutError');
  enterPhase(report.record, null);
  if (report.answer.httpStatus === null) dropPhase(report.record, 'download');
}

/** The schema that the server describes. Its time is not the call's. */
async function reflected(session: ClientHttp2Session, talk: Talk): Promise<Schema> {
  const { report, call, signal } = talk;
  const began = clock();
  try {
    let version = 0;
    const ask: Ask = async (questions) => {
      for (;;) {
        const path = reflectionPaths[version] ?? reflectionPaths[1];
        const answer = await askOnce(session, talk, { path, questions, signal });
        // Many servers have only the older version.
        if (answer.status === unimplemented && version === 0) version = 1;
        else if (answer.status !== 0 || !isGrpc(answer)) throw reflectionFailure(answer);
        else return answer.messages;
      }
    };
    const [service = ''] = call.path.split('/');
    report.discovered = (await listServices(ask)).slice(0, 200);
    const schema = link(await reflect(ask, service));
    const own = [...schema.methods.keys()].filter((name) => name.startsWith(`${service}/`));
    report.discovered = [...own, ...report.discovered.filter((name) => name !== service)].slice(0, 200);
    return schema;
  } finally {
    const spent = clock() - began;
    report.reflectionMs = spent / 1000;
    report.record.startedAt += spent;
  }
}

async function askOnce(
  session: ClientHttp2Session,
  talk: Talk,
  { path, questions, signal }: { path: string; questions: readonly Buffer[]; signal: AbortSignal },
): Promise<CallAnswer> {
  const messages = await Promise.all(questions.map((question) => frameOf(question, 'none')));
  const answer = emptyAnswer();
  await makeCall(
    session,
    { ...requestOf(talk), path, messages, compression: 'none' },
    { answer, signal, limits: { maxMessageBytes: 4_194_304, maxMessages: 1001, isStream: true } },
  );
  return answer;
}

function reflectionFailure(answer: CallAnswer): ProtoError {
  const { status, statusMessage, httpStatus } = answer;
  const why =
    status === null
      ? `the answer was HTTP ${httpStatus ?? 'none'}`
      : status === unimplemented
        ? 'the server has no reflection; give a .proto text or a descriptor set'
        : `${statusName(status)}${statusMessage === '' ? '' : `: ${statusMessage}`}`;
  return new ProtoError(`listing the services by reflection failed: ${why}`);
}

/** The reason for an error. Throws the error itself if the target did not cause it. */
function failureOf(
  error: unknown,
  { context, signal, report }: { context: ExecutionContext; signal: AbortSignal; report: GrpcReport },
): Reason {
  const { timeout } = report.job.request;
  if (context.signal.aborted) {
    const { reason } = context.signal as { reason: unknown }; // the platform's type is any
    if (!(reason instanceof JobAborted) || reason.code !== 'deadline') throw reason;
  }
  const isLate = error instanceof DOMException && error.name === 'TimeoutError';
  if (context.signal.aborted || signal.aborted || isLate) return timedOut(report.record, timeout);
  if (error instanceof ProtoError) return reasonOf('GRPC_DEFINITION', error.message);
  if (error instanceof FrameError)
    return reasonOf(error.isTooLarge ? 'HTTP_BODY_TOO_LARGE' : 'HTTP_PROTOCOL_ERROR', error.message);
  const host = report.facts.address ?? report.call?.host ?? report.job.request.url;
  const peer = `${isIP(host) === 6 ? `[${host}]` : host}:${report.call?.port ?? report.job.request.port}`;
  return reasonOfError(toError(error), {
    peer,
    secure: report.job.request.grpcConfig.tls,
    headers:
      report.answer.httpStatus !== null ||
      report.record.spent.firstByte !== undefined ||
      report.record.current === 'firstByte',
  });
}

function timedOut({ current }: PhaseRecord, seconds: number): Reason {
  const where = current === null ? 'before the call' : `in the phase ${current}`;
  return reasonOf('TIMEOUT', `the time ran out ${where} (timeout is ${seconds} s)`);
}
