import { FatalError, JobAborted, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { RequestOf } from '../../protocol/routes.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { LiveLog } from './live-log.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { isRefusedContent, type ServiceClient } from '../link/client.ts';

/** One job in this agent's hands, from its claim until its final result is safe or it is handed back. */
export type Hold = {
  readonly jobId: string;
  readonly leaseToken: string;
  phase: 'queued' | 'running' | 'waiting';
  /** The agent drains: what runs may end, but nothing else is begun or waited for. */
  leaving: boolean;
  /** Of a running suite: the stage that it is in; null = `phase` says all. */
  stage: string | null;
  /** Of a running suite: lines of its log that the service has not heard; null = it is told of none. */
  lines: LiveLog | null;
  /** It is being handed back: a renewal beside that would come too late, and be told that the lease is lost. */
  released: boolean;
  /** Why it has to end; null while nothing is wrong. */
  aborted: JobAborted | null;
  /** What wakes whoever is at work on the job: set by the one that waits or runs, called once by `abort`. */
  onAbort: (() => void) | null;
  /** Takes effect once; only what was cancelled, and may still be telling what it did, can be cut off after that. */
  abort: (code: JobAborted['code']) => void;
  /** The job is no longer ours; its lease is not renewed any more. */
  end: () => void;
};

export type ReleaseBody = Omit<RequestOf<'release'>, 'leaseToken'>;

/** The leases of all jobs that run or wait: renewed together, lost or cancelled one by one. */
export type Leases = {
  hold: (job: { jobId: string; leaseToken: string }) => Hold;
  held: () => readonly Hold[];
  size: () => number;
  /** Hands a job back. Keeps asking until the lease would have run out anyway; never rejects. */
  release: (job: { jobId: string; leaseToken: string }, body: ReleaseBody) => Promise<void>;
  /** Called once hello has told the agent's id and how often to renew. */
  begin: (agent: { agentId: string; renewSeconds: number; leaseSeconds: number }) => void;
  /** Hands back every job that does not run, at once; and each of the others as soon as it would have to wait. */
  drain: () => void;
  /** Aborts what still runs; says how many jobs that were. */
  cancel: () => number;
  /** Resolves when nothing is held and no hand-back is under way. */
  whenIdle: () => Promise<void>;
  stop: () => void;
};

/** The service's limit for one renewal. */
const leasesPerCall = 10_000;
/**
 * Characters of logs that one renewal carries, shared among those that have any, and the most of one lease: a renewal must
 * not take long on a slow line.
 */
const logCharsPerCall = 512 * 1024;
const logCharsPerLease = 128 * 1024;

export function createLeases(options: {
  client: ServiceClient;
  log: Log;
  metrics: AgentMetrics;
  random: () => number;
}): Leases {
  const { client, log, metrics } = options;
  const holds = new Map<string, Hold>();
  const stopped = new AbortController();
  let agent = { agentId: '', renewSeconds: 5, leaseSeconds: 30 };
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;
  let leaving = false;
  /** False once the service has refused a renewal for its lines: leases are worth more than they. */
  let tellsLines = true;
  let releasing = 0;
  let idle: (() => void)[] = [];

  const settle = () => {
    if (holds.size > 0 || releasing > 0) return;
    for (const resolve of idle) resolve();
    idle = [];
  };

  const hold = (job: { jobId: string; leaseToken: string }): Hold => {
    const entry: Hold = {
      jobId: job.jobId,
      leaseToken: job.leaseToken,
      phase: 'queued',
      stage: null,
      lines: null,
      leaving,
      released: false,
      aborted: null,
      onAbort: null,
      abort: (code) => {
        if (entry.aborted !== null && (entry.aborted.code !== 'cancelled' || code === 'cancelled')) return;
        entry.aborted = new JobAborted(code);
        const wake = entry.onAbort;
        entry.onAbort = null;
        wake?.();
      },
      end: () => {
        if (holds.get(job.jobId) === entry) holds.delete(job.jobId);
        settle();
      },
    };
    // The service handed the same job out again: the older lease is void, whatever the older run still does.
    holds.get(job.jobId)?.abort('lease-lost');
    holds.set(job.jobId, entry);
    return entry;
  };

  /** Renews some leases; lines that did not arrive come again. */
  const askFor = async (some: readonly Hold[]) => {
    const progress = progressOf(some, tellsLines ? logCharsPerCall : 0);
    const ask = (leases: RequestOf<'renew'>['leases']) =>
      client.call(
        'renew',
        { agentId: agent.agentId, leases },
        { timeoutMs: Math.max(5000, (agent.leaseSeconds * 1000) / 3), signal: stopped.signal },
      );
    try {
      return await ask(progress.leases);
    } catch (error) {
      if (!progress.hasLines || !isRefusedContent(error)) {
        progress.putBack();
        throw error;
      }
      tellsLines = false;
      log.warn(
        { err: toError(error) },
        'the service takes no log lines with renewals: none are sent any more',
      );
      return await ask(progress.leases.map(({ log: _lines, ...lease }) => lease));
    }
  };

  const renewSome = async (some: Hold[]) => {
    const answer = await askFor(some);
    if (answer === null) return;
    const byId = new Map(some.map((entry) => [entry.jobId, entry]));
    for (const jobId of answer.lost) {
      const entry = byId.get(jobId);
      // An entry that has ended meanwhile is none of our business any more.
      if (entry === undefined || holds.get(jobId) !== entry) continue;
      metrics.leasesLost += 1;
      log.warn({ jobId }, 'lease lost: the run is given up');
      entry.abort('lease-lost');
    }
    for (const jobId of answer.cancel) byId.get(jobId)?.abort('cancelled');
  };

  const renew = async () => {
    if (renewing) return;
    const all = [...holds.values()].filter((entry) => !entry.released);
    if (all.length === 0) return;
    renewing = true;
    try {
      for (let from = 0; from < all.length; from += leasesPerCall) {
        await renewSome(all.slice(from, from + leasesPerCall));
      }
    } catch (error) {
      // Work goes on: should the leases run out, the service decides between the results.
      metrics.renewalsFailed += 1;
      if (!stopped.signal.aborted) log.warn({ err: toError(error), jobs: holds.size }, 'leases not renewed');
    } finally {
      renewing = false;
    }
  };

  const release = async (job: { jobId: string; leaseToken: string }, body: ReleaseBody) => {
    const giveUpAt = performance.now() + agent.leaseSeconds * 1000;
    releasing += 1;
    const held = holds.get(job.jobId);
    if (held?.leaseToken === job.leaseToken) held.released = true;
    try {
      for (let failures = 1; ; failures += 1) {
        try {
          await client.call(
            'release',
            { leaseToken: job.leaseToken, ...body },
            { jobId: job.jobId, timeoutMs: 10_000, signal: stopped.signal },
          );
          metrics.jobsReleased += 1;
          return;
        } catch (error) {
          const again = error instanceof ServiceError && error.retryable && !stopped.signal.aborted;
          const waitMs = backoffMs(failures, options.random);
          if (error instanceof FatalError) return;
          if (!again || performance.now() + waitMs > giveUpAt) {
            log.warn(
              { jobId: job.jobId, err: toError(error) },
              'job not handed back: its lease will run out',
            );
            return;
          }
          await pause(waitMs, stopped.signal);
        }
      }
    } finally {
      releasing -= 1;
      settle();
    }
  };

  return {
    hold,
    held: () => [...holds.values()],
    size: () => holds.size,
    release,
    drain: () => {
      leaving = true;
      for (const entry of holds.values()) {
        entry.leaving = true;
        if (entry.phase !== 'running') entry.abort('shutdown');
      }
    },
    cancel: () => {
      const cut = holds.size;
      for (const entry of holds.values()) entry.abort('shutdown');
      return cut;
    },
    begin: (hello) => {
      agent = hello;
      tellsLines = true;
      clearInterval(timer);
      timer = setInterval(() => void renew(), hello.renewSeconds * 1000);
    },
    whenIdle: () =>
      holds.size === 0 && releasing === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve)),
    stop: () => {
      clearInterval(timer);
      stopped.abort(new JobAborted('shutdown'));
    },
  };
}

/** What a renewal says of each lease: its stage, and lines of its log, as far as `chars` go. */
function progressOf(holds: readonly Hold[], chars: number) {
  const speaking = holds.filter(({ lines }) => lines !== null).length;
  // One line always has room: else it would stay, and all that come after it.
  const share = Math.max(
    protocolLimits.logLineChars,
    Math.min(logCharsPerLease, Math.floor(chars / speaking)),
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
