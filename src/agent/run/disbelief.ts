import type { DelayReading } from '../load/own-delay.ts';
import type { AssertionSource } from '../../protocol/assertions.ts';
import { reasonOf, type Reason, type ReasonCode } from '../../protocol/reasons.ts';
import { isFields } from '../../json-values.ts';
import { rounded } from '../../rounding.ts';
import { erroredGrade, type Grade, type GradingRules } from './grade.ts';
import type { Attempted } from './attempted.ts';

/**
 * Whether the agent's own delay may be the cause of a bad result. Such a result is not believed: it says something
 * about the agent and nothing about the target. A result that would be as bad without the delay stays the target's.
 */

/** How a reason can come from lateness alone. */
type Way =
  /** The response time reached a limit: without our delay it may be below. */
  | 'limit'
  /** Something waited too long, or a peer gave us up: our part of the time says whether it was us. */
  | 'wait'
  /** The same for customer code. Other scripts of the agent often delay it a little, so the part must be larger. */
  | 'script wait'
  /** A script that judged the target itself, which it often does by a time: only our delay alone may have been the cause. */
  | 'script verdict'
  /** The same as a wait, if what the code threw is about time: any other error would have come without our delay too. */
  | 'script timeout'
  /** An answer that had come was read too late to count. */
  | 'loss'
  | 'assertions';

const ways: { readonly [C in ReasonCode]?: Way } = {
  RESPONSE_TOO_SLOW: 'limit',
  TIMEOUT: 'wait',
  SOCKET_TIMEOUT: 'wait',
  ETIMEDOUT: 'wait',
  EAI_AGAIN: 'wait',
  ECONNRESET: 'wait',
  ECONNABORTED: 'wait',
  EPIPE: 'wait',
  CONNECTION_CLOSED: 'wait',
  HTTP_BODY_INCOMPLETE: 'wait',
  PROXY_FAILED: 'wait',
  PACKET_LOSS: 'loss',
  ASSERTION_FAILED: 'assertions',
  TEST_FAILED: 'script timeout',
  MARKED_DEGRADED: 'script verdict',
  SCRIPT_THREW: 'script timeout',
  SCRIPT_TIMEOUT: 'script wait',
  INSTALL_FAILED: 'script timeout',
};

/** How libraries of customers name an error about time. There is no code: customer code may throw anything. */
const timeoutWords = /time(?:d)?[ -]?out|timedout|took too long|took longer than|deadline|exceeded \d+ ?m?s/i;

/** Sources of assertions whose values are measured times. */
const timeSources: ReadonlySet<string> = new Set<AssertionSource>(['RESPONSE_TIME', 'LATENCY']);

/** Less than this is no evidence, whatever part of the time it is. */
const leastWaitMs = 250;
/** For limits of the response time: any agent is a few milliseconds late. */
const leastLimitMs = 25;
const waitPart = 0.25;
const scriptWaitPart = 0.5;
const scriptVerdictPart = 0.85;
/** Half of the time that a ping waits for its reply. */
const leastLossMs = 1000;

/** How much of the attempt's time may be our own delay, in milliseconds. `withChildren`: customer code ran in it. */
export function ownDelayMs(delay: DelayReading, withChildren: boolean): number {
  // The values overlap: while a quota stops the agent, its thread waits for a core and its loop is late.
  const own = Math.max(delay.loopMs, delay.waitedMs ?? 0);
  const ofChildren = withChildren
    ? // A quota's time is summed over all cores; the waits of the processes contain it.
      Math.max(delay.stoppedMs ?? 0, delay.childrenWaitedMs ?? delay.throttledMs ?? 0)
    : 0;
  return Math.min(delay.elapsedMs, Math.max(own, ofChildren));
}

/** What the rule judges: an attempt, the limits of its job, and the delay while it ran. */
export type Doubtful = {
  rules: Pick<GradingRules, 'degradedResponseTime' | 'maxResponseTime'>;
  attempted: Pick<Attempted, 'grade' | 'outcome'>;
  delay: DelayReading;
  withChildren: boolean;
};

/** Whether our own delay explains the result; see the top of this file. */
export function isExplainedByDelay(doubtful: Doubtful): boolean {
  return explainedReason(doubtful) !== null;
}

/**
 * The reason that our own delay explains: why the attempt failed, also if shouldFail made that a success, or why it
 * was graded worse than passed. Null if the result can be believed.
 */
function explainedReason(doubtful: Doubtful): Reason | null {
  const { grade, outcome } = doubtful.attempted;
  if (grade.status === 'errored' || grade.status === 'cancelled') return null;
  const failure = outcome.base.ok ? null : outcome.base.reason;
  return [failure, grade.reason].find((reason) => reason !== null && isExplained(reason, doubtful)) ?? null;
}

function isExplained(
  { code, message }: Reason,
  { rules, attempted, delay, withChildren }: Doubtful,
): boolean {
  const { grade, outcome } = attempted;
  const ownMs = ownDelayMs(delay, withChildren);
  const way = ways[code];
  if (way === undefined) return false;
  switch (way) {
    case 'limit': {
      const limit = grade.status === 'failed' ? rules.maxResponseTime : rules.degradedResponseTime;
      return limit !== null && ownMs >= leastLimitMs && outcome.responseTime - ownMs < limit;
    }
    case 'wait':
      return isDelayedWait(delay, withChildren);
    case 'script wait':
    case 'script timeout': {
      if (way === 'script timeout' && !timeoutWords.test(message)) return false;
      return ownMs >= leastWaitMs && ownMs >= delay.elapsedMs * scriptWaitPart;
    }
    case 'script verdict':
      return ownMs >= leastWaitMs && ownMs >= delay.elapsedMs * scriptVerdictPart;
    case 'loss':
      return ownMs >= leastLossMs;
    case 'assertions':
      return areExplained(outcome.assertions, ownMs);
  }
}

/** Whether only assertions about times failed, and each of them might hold without our delay. */
function areExplained(assertions: Attempted['outcome']['assertions'], ownMs: number): boolean {
  return assertions
    .filter(({ error }) => error !== null)
    .every(({ source, actual, comparison, target }) => {
      if (!timeSources.has(source)) return false;
      const measured = largestNumber(actual);
      if (comparison === 'LESS_THAN') return measured - ownMs < Number(target);
      return ownMs >= measured * waitPart;
    });
}

/** The value of RESPONSE_TIME is a number, that of LATENCY may be a list or an object of numbers. */
function largestNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  const parts = Array.isArray(value) ? value : isFields(value) ? Object.values(value) : [];
  return Math.max(0, ...parts.filter((part) => typeof part === 'number'));
}

/** The attempt as it is, or as our own fault with the evidence if our delay explains its result. */
export function judged(doubtful: Doubtful & { attempted: Attempted }): Attempted {
  const { attempted, delay, withChildren } = doubtful;
  const reason = explainedReason(doubtful);
  if (reason === null) return attempted;
  const why = `so this result is not believed: ${reason.code}: ${reason.message}`;
  return { ...attempted, grade: overloadedGrade(why, delay, withChildren), disbelieved: reason };
}

/** Whether our own delay kept a job waiting for a slot of its lane until its deadline. */
export function isDelayedWait(delay: DelayReading, withChildren: boolean): boolean {
  const ownMs = ownDelayMs(delay, withChildren);
  return ownMs >= leastWaitMs && ownMs >= delay.elapsedMs * waitPart;
}

/** The grade for a job whose deadline came before it had a slot. `delay`: of its wait; null = it had none. */
export function noSlotGrade(delay: DelayReading | null, withChildren: boolean): Grade {
  return delay !== null && isDelayedWait(delay, withChildren)
    ? overloadedGrade('so no slot became free before the deadline of the job', delay, withChildren)
    : erroredGrade(reasonOf('INTERNAL', 'the agent had no free slot before the deadline of the job'));
}

/** `consequence` begins with "so". */
function overloadedGrade(consequence: string, delay: DelayReading, withChildren: boolean): Grade {
  const figures = [
    `event loop ${ms(delay.loopMs)} late`,
    ...(delay.waitedMs === null ? [] : [`${ms(delay.waitedMs)} without a core`]),
    ...(delay.throttledMs === null ? [] : [`${ms(delay.throttledMs)} stopped by the CPU quota`]),
    ...(withChildren && delay.childrenWaitedMs !== null
      ? [`script processes ${ms(delay.childrenWaitedMs)} without a core`]
      : []),
    ...(delay.pressurePercent === null ? [] : [`CPU pressure ${rounded(delay.pressurePercent, 0)}%`]),
  ];
  const own = `the agent was delayed for ${ms(ownDelayMs(delay, withChildren))} of ${ms(delay.elapsedMs)}`;
  const remedy = 'give the agent more processor time (docs/guards.md)';
  return erroredGrade(
    reasonOf('AGENT_OVERLOADED', `${own} (${figures.join(', ')}), ${consequence}; ${remedy}`),
  );
}

function ms(milliseconds: number): string {
  return `${Math.round(milliseconds)} ms`;
}
