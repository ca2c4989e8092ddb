import type { AssertionResult } from '../../protocol/assertions.ts';
import type { JobOf } from '../../protocol/job.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { rounded } from '../../rounding.ts';
import { isSensitiveHeader } from '../../sensitive-headers.ts';
import { shortened } from '../../shortened.ts';
import { evaluateAssertions } from '../assertions/evaluate.ts';
import type { ConnectionFacts } from '../http/connection.ts';
import { timingsOf, type PhaseRecord } from '../http/phases.ts';
import type { Outcome } from '../interface/executor.ts';
import { isGrpc, type CallAnswer } from './call.ts';
import { healthName, statusName, type GrpcCall } from './request.ts';

/** What came of a check, enough to report it at any time. */
export type GrpcReport = {
  job: JobOf<'GRPC'>;
  /** Null = its variables could not be filled in. */
  call: GrpcCall | null;
  record: PhaseRecord;
  facts: ConnectionFacts;
  answer: CallAnswer;
  failure: Reason | null;
  /** Messages of the answer as JSON. */
  messages: unknown[];
  isStream?: boolean;
  discovered: string[];
  reflectionMs: number | null;
  health: number | null;
};

/** Characters of the answer that results keep. */
const maxShown = 65_536;

const serving = 1;

/**
 * The outcome. details: `{request, grpcStatusCode, healthStatus, timingPhases, requestError, attempts, ipFallback,
 * certificate, reflectionMs, response}` (facts, section 2.4).
 */
export function reportOf(report: GrpcReport): Outcome {
  const { job, call, facts, answer, record } = report;
  const timings = timingsOf(record);
  const failure = report.failure ?? protocolFailure(answer);
  const hasAnswer = failure === null;
  // A stream has several messages, and is shown as a list of them.
  const message: unknown = report.isStream === true ? report.messages : (report.messages[0] ?? null);
  const text = message === null ? '' : JSON.stringify(message);
  const assertions = hasAnswer ? assertionsOf(report, { message, text, responseTime: timings.total }) : [];
  const status = failure?.code === 'TIMEOUT' ? 4 : answer.status;
  const phases = {
    dns: rounded(timings.dns ?? 0, 3),
    connect: rounded(timings.total - (timings.dns ?? 0), 3),
    total: rounded(timings.total, 3),
  };
  const { request } = job;
  return {
    base: failure === null ? baseOf(report) : { ok: false, reason: failure },
    responseTime: timings.total,
    timings,
    assertions,
    details: {
      request: shownRequest(job),
      grpcStatusCode: status,
      healthStatus: report.health,
      timingPhases: phases,
      requestError: failure?.message ?? null,
      attempts: facts.attempts,
      ipFallback: facts.ipFallback,
      certificate: facts.certificate,
      reflectionMs: report.reflectionMs === null ? null : rounded(report.reflectionMs, 3),
      response: {
        grpcMode: request.grpcConfig.mode,
        host: call?.host ?? request.url,
        resolvedIp: facts.address,
        port: call?.port ?? request.port,
        grpcMethod: call?.path ?? request.grpcConfig.method,
        responseMessage: shortened(text, maxShown),
        responseTruncated: text.length > maxShown,
        messages: report.messages.length,
        cancelled: answer.cancelled,
        grpcStatusCode: status,
        grpcStatusName: status === null ? null : statusName(status),
        grpcStatusMessage: answer.statusMessage,
        healthStatus: report.health,
        healthStatusLabel: report.health === null ? null : healthName(report.health),
        metadata: answer.metadata,
        trailers: answer.trailers,
        discoveredMethods: report.discovered,
        requestError: failure?.message ?? null,
        timingPhases: phases,
      },
    },
  };
}

/** The request without secrets and without its types, which may be long. */
function shownRequest({ request }: JobOf<'GRPC'>) {
  const { protoContent: _text, descriptorSet: _set, metadata, ...config } = request.grpcConfig;
  const shown = metadata.map(({ key, value }) => ({
    key,
    value: isSensitiveHeader(key) ? '*********' : value,
  }));
  return { url: request.url, port: request.port, ...config, metadata: shown };
}

/** Why an answer is none that gRPC knows; null = it is one. */
function protocolFailure(answer: CallAnswer): Reason | null {
  const { httpStatus, contentType, status, cancelled } = answer;
  if (httpStatus === null) return reasonOf('CONNECTION_CLOSED', 'the call was closed before an answer came');
  if (!isGrpc(answer) && status === null) {
    const type = contentType === null ? 'without a type' : `of the type ${shortened(contentType, 100)}`;
    return reasonOf('HTTP_PROTOCOL_ERROR', `the answer is not gRPC: HTTP ${httpStatus}, ${type}`);
  }
  if (status === null && !cancelled)
    return reasonOf('HTTP_BODY_INCOMPLETE', 'the answer ended without a status');
  return null;
}

/** Status and health fail a check, unless assertions judge them. */
function baseOf({ job, answer, health }: GrpcReport): Outcome['base'] {
  const { assertions, grpcConfig } = job.request;
  const isJudged = (source: string) => assertions.some((assertion) => assertion.source === source);
  const { status, statusMessage } = answer;
  if (status !== null && status !== 0 && !isJudged('GRPC_STATUS_CODE')) {
    const message = `${statusName(status)} (${status})${statusMessage === '' ? '' : `: ${statusMessage}`}`;
    return { ok: false, reason: reasonOf('GRPC_STATUS', message) };
  }
  if (grpcConfig.mode === 'HEALTH' && !isJudged('GRPC_HEALTHCHECK_STATUS')) {
    if (health !== serving && (status === 0 || status === null)) {
      const message = `the health service answers ${health === null ? 'nothing' : healthName(health)}`;
      return { ok: false, reason: reasonOf('GRPC_HEALTH', message) };
    }
  }
  return { ok: true };
}

function assertionsOf(
  { job, answer, health }: GrpcReport,
  { message, text, responseTime }: { message: unknown; text: string; responseTime: number },
): AssertionResult[] {
  const { assertions } = job.request;
  if (assertions.length === 0) return [];
  const values = (entries: CallAnswer['metadata']) => {
    const byKey: { [key: string]: string[] } = Object.create(null) as { [key: string]: string[] };
    for (const { key, value } of entries) (byKey[key] ??= []).push(value);
    return { ...byKey };
  };
  return evaluateAssertions(assertions, {
    RESPONSE_TIME: () => ({ value: responseTime }),
    GRPC_STATUS_CODE: () => ({ value: answer.status ?? (answer.cancelled ? 0 : null) }),
    GRPC_HEALTHCHECK_STATUS: () => ({ value: health === null ? null : String(health) }),
    GRPC_RESPONSE: () => ({ value: message }),
    TEXT_BODY: () => ({ value: text }),
    GRPC_METADATA: () => ({ value: values(answer.metadata) }),
    GRPC_TRAILERS: () => ({ value: values(answer.trailers) }),
  });
}
