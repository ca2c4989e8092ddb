import { FatalError, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { Lane } from '../../protocol/check-types.ts';
import type { AgentCondition } from '../../protocol/routes.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { Lanes } from '../run/lanes.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';
import type { TurnWatch } from '../metrics/turn-watch.ts';

/**
 * Claims jobs of one lane while it has free slots. Each lane has its own loop, so that a full lane does not delay
 * another one, and a lane with a free slot claims at once.
 */
export type Poller = {
  start: () => void;
  /** Stops new claims; the open one may still be answered. Resolves when the loop has ended. */
  finish: () => Promise<void>;
  /** Aborts the open claim as well. */
  cut: () => void;
};

/** How much longer a claim may take than it waits for jobs. */
export const answerMarginMs = 15_000;
/**
 * An answer may contain 500 jobs, each with bodies and certificates. It is parsed on the thread that measures, so a
 * longer one is refused; fewer jobs are requested then.
 */
export const answerBytes = 32 * 1024 * 1024;
/**
 * While jobs keep arriving, the next claim waits this long so that it gets several, because a call costs more than a
 * job. If the last claim was filled, the next one is sent as soon as half of the slots are free.
 */
const gatherMs = 20;
const blockedMs = 1000;
/** While the agent accepts no work, it reports its condition this often by a claim without slots, so that it stays connected. */
const reportEveryMs = 15_000;
/**
 * An empty answer that arrives sooner than this did not wait for jobs. The loop then pauses instead of asking again
 * at once.
 */
const minAnswerMs = 500;

export function createPoller(options: {
  lane: Lane;
  lanes: Lanes;
  client: ServiceClient;
  session: Session;
  log: Log;
  metrics: AgentMetrics;
  watch: TurnWatch;
  random: () => number;
  /** True while the agent must not accept more work. */
  blocked: () => boolean;
  /** What claims report about the agent itself. */
  condition: () => AgentCondition;
  accept: (jobs: unknown[]) => Promise<void>;
}): Poller {
  const { lane, lanes, client, session, log, metrics, watch } = options;
  const finishing = new AbortController();
  const aborting = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let maxJobs: number = protocolLimits.claimJobs;
  /** Jobs received and jobs requested in the last claim. */
  let lastClaim: 'nothing' | 'some' | 'all' = 'nothing';

  const claim = async (free: number): Promise<void> => {
    watch.rest();
    const hello = await session.get(finishing.signal);
    const waitSeconds = protocolLimits.claimWaitSeconds;
    const timeoutMs = waitSeconds * 1000 + answerMarginMs;
    watch.turn(timeoutMs + 30_000);
    const sentAt = performance.now();
    metrics.claims += 1;
    const asked = Math.min(free, maxJobs);
    let answer;
    try {
      answer = await client.call(
        'claim',
        { agentId: hello.agentId, free: { [lane]: asked }, waitSeconds, condition: options.condition() },
        { timeoutMs, answerBytes, signal: aborting.signal },
      );
    } catch (error) {
      if (error instanceof ServiceError && !error.retryable) session.forget(hello.agentId);
      throw error;
    }
    metrics.polledAt.set(lane, performance.now());
    if (answer !== null && answer.jobs.length > 0) {
      const jobs = answer.jobs.slice(0, asked);
      if (jobs.length < answer.jobs.length)
        log.warn(
          { lane, asked, received: answer.jobs.length },
          'more jobs than requested; the rest is ignored',
        );
      metrics.jobsClaimed += jobs.length;
      lastClaim = jobs.length >= asked ? 'all' : 'some';
      await options.accept(jobs);
      return;
    }
    lastClaim = 'nothing';
    if (performance.now() - sentAt < minAnswerMs) {
      await pause(backoffMs(2, options.random), finishing.signal);
    }
  };

  let reportedAt = -Infinity;
  /** Tells the service why this agent takes no jobs. An error costs only the report. */
  const report = async (): Promise<void> => {
    if (performance.now() - reportedAt < reportEveryMs) return;
    reportedAt = performance.now();
    const agentId = session.current()?.agentId;
    if (agentId === undefined) return;
    watch.turn(answerMarginMs + 30_000);
    try {
      const body = { agentId, free: {}, waitSeconds: 0, condition: options.condition() };
      await client.call('claim', body, { timeoutMs: answerMarginMs, answerBytes, signal: aborting.signal });
    } catch (error) {
      if (error instanceof FatalError) throw error;
      if (error instanceof ServiceError && !error.retryable) session.forget(agentId);
      log.debug({ lane, err: toError(error) }, 'condition not reported');
    }
  };

  const retryLater = async (error: unknown, failures: number): Promise<void> => {
    metrics.claimsFailed += 1;
    const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(retryAfterMs, backoffMs(failures, options.random));
    // The answer was too long to read; fewer jobs at a time make a shorter one.
    maxJobs = Math.max(1, Math.floor(maxJobs / 2));
    log.warn({ lane, err: toError(error), retryInMs: Math.round(waitMs) }, 'jobs not claimed');
    watch.turn(waitMs + 30_000);
    await pause(waitMs, finishing.signal);
  };

  const loop = async () => {
    const half = Math.ceil((lanes.slots[lane] ?? 0) / 2);
    let failures = 0;
    while (!finishing.signal.aborted) {
      const free = lanes.free(lane);
      if (free === 0) {
        watch.rest();
        await slotsFree({ lanes, lane, count: 1, signal: finishing.signal });
        metrics.polledAt.set(lane, performance.now());
        continue;
      }
      if (options.blocked()) {
        try {
          await report();
        } catch {
          return; // the key was refused
        }
        watch.turn(blockedMs + 30_000);
        await pause(blockedMs, finishing.signal);
        continue;
      }
      if (lastClaim === 'some') await pause(gatherMs, finishing.signal);
      if (lastClaim === 'all' && free < half)
        await slotsFree({ lanes, lane, count: half, maxWaitMs: gatherMs, signal: finishing.signal });
      if (finishing.signal.aborted) return;
      try {
        await claim(lanes.free(lane));
        failures = 0;
        maxJobs = protocolLimits.claimJobs;
      } catch (error) {
        if (error instanceof FatalError) return;
        if (finishing.signal.aborted) return;
        failures += 1;
        await retryLater(error, failures);
      }
    }
  };

  return {
    start: () => {
      metrics.polledAt.set(lane, performance.now());
      running = loop().finally(() => {
        watch.rest();
        // Nobody waits for an answer any more.
        metrics.polledAt.delete(lane);
      });
    },
    finish: () => {
      finishing.abort(new Error('the agent accepts no more jobs'));
      return running;
    },
    cut: () => {
      finishing.abort(new Error('the agent accepts no more jobs'));
      aborting.abort(new Error('the agent is stopping'));
    },
  };
}

/** Resolves when `count` slots are free, after at most `maxWaitMs`, or when the signal fires. */
function slotsFree(wait: {
  lanes: Lanes;
  lane: Lane;
  count: number;
  maxWaitMs?: number;
  signal: AbortSignal;
}): Promise<void> {
  const { lanes, lane, count, maxWaitMs, signal } = wait;
  return new Promise<void>((resolve) => {
    const done = () => {
      stop();
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = maxWaitMs === undefined ? undefined : setTimeout(done, maxWaitMs);
    const stop = lanes.onFree(lane, () => {
      if (lanes.free(lane) >= count) done();
    });
    signal.addEventListener('abort', done);
  });
}
