import type { Outcome } from '../../executors/interface/executor.ts';
import type { AssertionResult } from '../../protocol/assertions.ts';
import type { Job } from '../../protocol/job.ts';
import { reasonOf, type Reason, type ReasonCode } from '../../protocol/reasons.ts';
import type { ResultStatus } from '../../protocol/result.ts';
import { rounded } from '../../rounding.ts';

/** The grading settings of a job. Limits are milliseconds; null = no limit. */
export type GradingRules = Pick<Job, 'shouldFail' | 'degradedResponseTime' | 'maxResponseTime'>;

/** The grade of one attempt. */
export type Grade = {
  status: ResultStatus;
  reason: Reason | null;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  overMaxResponseTime: boolean;
  isCancelled: boolean;
};

/**
 * No request was sent to the target: the check itself or the network path is at fault, so shouldFail has nothing to
 * invert.
 */
const notSent: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  'INVALID_URL',
  'INVALID_REQUEST',
  'TEMPLATE_INVALID',
  'CLIENT_CERTIFICATE_INVALID',
  'PROXY_FAILED',
]);

function gradeOf(status: ResultStatus, reason: Reason | null, overMaxResponseTime = false): Grade {
  return {
    status,
    reason,
    hasFailures: status === 'failed',
    hasErrors: status === 'errored',
    isDegraded: status === 'degraded',
    overMaxResponseTime,
    isCancelled: status === 'cancelled',
  };
}

function inverted(base: Outcome['base']): Outcome['base'] {
  if (base.ok) {
    const message = 'the check expects a failure, but the request succeeded';
    return { ok: false, reason: reasonOf('SHOULD_HAVE_FAILED', message) };
  }
  const { code, owner } = base.reason;
  return owner === 'script' || notSent.has(code) ? base : { ok: true };
}

function assertionReason(assertions: AssertionResult[]): Reason | null {
  const index = assertions.findIndex((assertion) => assertion.error !== null);
  const first = assertions[index];
  if (first === undefined) return null;
  const which = assertions.length === 1 ? 'the assertion' : `assertion ${index + 1} of ${assertions.length}`;
  const subject = first.property === '' ? first.source : `${first.source} ${first.property}`;
  return reasonOf('ASSERTION_FAILED', `${which} failed: ${subject}: ${first.error}`);
}

/**
 * Status and reason of an attempt: the base result (inverted by shouldFail), then the assertions, then the limits, in
 * this order. A response time equal to a limit reaches it. An attempt is degraded only if nothing failed.
 */
export function grade(rules: GradingRules, outcome: Outcome): Grade {
  const { responseTime } = outcome;
  const { maxResponseTime, degradedResponseTime } = rules;
  const overMax = maxResponseTime !== null && responseTime >= maxResponseTime;
  if (!outcome.base.ok && outcome.base.reason.owner === 'ours')
    return gradeOf('errored', outcome.base.reason, overMax);

  const base = rules.shouldFail ? inverted(outcome.base) : outcome.base;
  if (!base.ok) return gradeOf('failed', base.reason, overMax);
  const broken = assertionReason(outcome.assertions);
  if (broken !== null) return gradeOf('failed', broken, overMax);
  if (overMax) {
    const message = `the response took ${rounded(responseTime, 1)} ms; the limit is ${maxResponseTime} ms`;
    return gradeOf('failed', reasonOf('RESPONSE_TOO_SLOW', message), true);
  }
  if (base.degraded !== undefined) return gradeOf('degraded', base.degraded);
  if (degradedResponseTime !== null && responseTime >= degradedResponseTime) {
    const message = `the response took ${rounded(responseTime, 1)} ms; it counts as degraded from ${degradedResponseTime} ms`;
    return gradeOf('degraded', reasonOf('RESPONSE_TOO_SLOW', message));
  }
  return gradeOf('passed', null);
}

/** A run that did not take place. */
export const missedGrade = (reason: Reason): Grade => gradeOf('missed', reason);

/** Grade of an attempt that ended by our own fault, or because the job is invalid. */
export function erroredGrade(reason: Reason): Grade {
  return gradeOf('errored', reason);
}

/** Grade of an attempt that the service cancelled. */
export function cancelledGrade(): Grade {
  return gradeOf('cancelled', reasonOf('CANCELLED', 'the service cancelled the run'));
}
