import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { AgentCondition, RequestOf, ResponseOf } from '../../protocol/routes.ts';
import type { Hold, Holds } from './holds.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { isRefusedContent, type ServiceClient } from '../link/client.ts';

/** The lease terms in the answer to hello: the agent's id, how often to renew leases, and how long they last. */
export type LeaseTerms = {
  readonly agentId: string;
  readonly renewSeconds: number;
  readonly leaseSeconds: number;
};

/** Renews the leases of all holds on a timer. Aborts jobs whose lease is lost or that the service cancels. */
export type Renewals = {
  /** Starts the timer, or restarts it with new terms. */
  begin: (terms: LeaseTerms) => void;
  /**
   * Renews this job's lease at once, so that the service knows that the job runs. If the job ends its agent before the
   * first renewal by the timer, it is charged with that. Several jobs that begin during a call share the next one.
   */
  announce: (hold: Hold) => void;
  stop: () => void;
};

/** The service's limit for one renewal. */
const leasesPerCall = 10_000;
/**
 * Characters of log lines in one renewal, shared among the leases that have any, and the maximum of one lease. A
 * renewal must not take long on a slow connection.
 */
const logCharsPerCall = 512 * 1024;
const logCharsPerLease = 128 * 1024;

/** `stopped` aborts calls that are in progress. */
export function createRenewals(options: {
  holds: Pick<Holds, 'held' | 'size' | 'find'>;
  client: Pick<ServiceClient, 'call'>;
  log: Log;
  metrics: AgentMetrics;
  /** What renewals report about the agent itself; absent = nothing. */
  condition?: () => AgentCondition;
  stopped: AbortSignal;
}): Renewals {
  const { holds, client, log, metrics, condition, stopped } = options;
  let terms: LeaseTerms = { agentId: '', renewSeconds: 5, leaseSeconds: 30 };
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;
  /** False once the service has refused a renewal because of its log lines; leases are more important. */
  let sendsLines = true;

  /** Renews some leases. If the call fails, the next call sends its log lines again. */
  const call = async (some: readonly Hold[]) => {
    const progress = progressOf(some, sendsLines ? logCharsPerCall : 0);
    const send = (leases: RequestOf<'renew'>['leases']) =>
      client.call(
        'renew',
        { agentId: terms.agentId, leases, ...(condition && { condition: condition() }) },
        { timeoutMs: Math.max(5000, (terms.leaseSeconds * 1000) / 3), signal: stopped },
      );
    try {
      return await send(progress.leases);
    } catch (error) {
      if (!progress.hasLines || !isRefusedContent(error)) {
        progress.putBack();
        throw error;
      }
      sendsLines = false;
      log.warn({ err: toError(error) }, 'the service refused log lines in renewals; no more are sent');
      return await send(progress.leases.map(({ log: _lines, ...lease }) => lease));
    }
  };

  const renewSome = async (some: readonly Hold[]) => {
    heed(await call(some), some);
  };

  const heed = (answer: ResponseOf<'renew'> | null, some: readonly Hold[]) => {
    if (answer === null) return;
    const byId = new Map(some.map((entry) => [entry.jobId, entry]));
    for (const jobId of answer.lost) {
      const entry = byId.get(jobId);
      // The hold may have ended, or been replaced, during the call.
      if (entry === undefined || holds.find(jobId) !== entry) continue;
      metrics.leasesLost += 1;
      log.warn({ jobId }, 'lease lost; the run is aborted');
      entry.abort('lease-lost');
    }
    for (const jobId of answer.cancel) byId.get(jobId)?.abort('cancelled');
  };

  const renew = async () => {
    if (renewing) return;
    const all = holds.held().filter((entry) => !entry.released);
    if (all.length === 0) return;
    renewing = true;
    try {
      for (let from = 0; from < all.length; from += leasesPerCall) {
        await renewSome(all.slice(from, from + leasesPerCall));
      }
    } catch (error) {
      // The jobs continue: if leases expire, the service chooses among the results.
      metrics.renewalsFailed += 1;
      if (!stopped.aborted) log.warn({ err: toError(error), jobs: holds.size() }, 'leases not renewed');
    } finally {
      renewing = false;
    }
  };

  const begun = new Set<Hold>();
  let announcing = false;
  const announceAll = async () => {
    if (announcing) return;
    announcing = true;
    try {
      while (begun.size > 0 && !stopped.aborted) {
        const next = [...begun].slice(0, leasesPerCall);
        for (const hold of next) begun.delete(hold);
        const some = next.filter((hold) => !hold.released && holds.find(hold.jobId) === hold);
        if (some.length === 0) continue;
        // Without log lines: those of the timer's renewals stay in their order.
        const { leases } = progressOf(some, 0);
        const timeoutMs = Math.max(5000, (terms.leaseSeconds * 1000) / 3);
        const answer = await client.call(
          'renew',
          { agentId: terms.agentId, leases },
          { timeoutMs, signal: stopped },
        );
        heed(answer, some);
      }
    } catch (error) {
      // The timer renews these leases soon.
      begun.clear();
      if (!stopped.aborted) log.debug({ err: toError(error) }, 'begun jobs not announced');
    } finally {
      announcing = false;
    }
  };

  return {
    announce: (hold) => {
      begun.add(hold);
      void announceAll();
    },
    begin: (given) => {
      terms = given;
      sendsLines = true;
      clearInterval(timer);
      timer = setInterval(() => void renew(), given.renewSeconds * 1000);
    },
    stop: () => clearInterval(timer),
  };
}

/** The entry of each lease in a renewal: its stage, and as many of its log lines as `chars` characters allow. */
function progressOf(holds: readonly Hold[], chars: number) {
  const withLines = holds.filter(({ lines }) => lines !== null).length;
  // One line is always sent, or that line would block all lines after it.
  const share = Math.max(
    protocolLimits.logLineChars,
    Math.min(logCharsPerLease, Math.floor(chars / withLines)),
  );
  const taken: (() => void)[] = [];
  const leases = holds.map((hold): RequestOf<'renew'>['leases'][number] => {
    const { jobId, leaseToken, lines, phase, stage } = hold;
    const lease = { jobId, leaseToken, stage: stage ?? phase };
    if (lines === null || chars === 0) return lease;
    const { lines: log, putBack } = lines.take(share);
    if (log.length === 0) return lease;
    taken.push(putBack);
    return { ...lease, log };
  });
  return { leases, hasLines: taken.length > 0, putBack: () => taken.forEach((putBack) => putBack()) };
}
