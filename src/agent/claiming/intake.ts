import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { JobType } from '../../protocol/check-types.ts';
import type { Loading } from './loading.ts';
import type { Leases } from '../run/leases.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import type { ParsedJob } from './parse-job.ts';
import type { reportInvalid, runJob, RunParts } from '../run/run-job.ts';

/** Entry point of claimed jobs. Each job is parsed separately, then run, answered or handed back. */
export type Intake = {
  /** Takes the jobs of one claim. Resolves once all are queued in their lanes; never rejects. */
  accept: (jobs: unknown[]) => Promise<void>;
  /** From now on, jobs are handed back without being parsed. */
  close: () => void;
  isClosed: () => boolean;
};

/** Modules that an agent loads only with its first job. */
export type RunningTools = {
  parseJob: (raw: unknown, available: readonly JobType[]) => ParsedJob;
  runJob: typeof runJob;
  reportInvalid: typeof reportInvalid;
  parts: RunParts;
};

export function createIntake(options: {
  loading: Pick<Loading<RunningTools>, 'get'>;
  /** Types that this agent can run now. */
  available: () => readonly JobType[];
  leases: Leases;
  log: Log;
  metrics: AgentMetrics;
  fault: (error: Error, message: string) => void;
}): Intake {
  const { leases, log, metrics } = options;
  let closed = false;
  const begin = (raw: unknown, { parseJob, runJob, reportInvalid, parts }: RunningTools): Promise<void> => {
    const parsed = parseJob(raw, options.available());
    if (parsed.job !== null) return runJob(parsed.job, parts);
    metrics.jobsUnreadable += 1;
    log.warn({ jobId: parsed.envelope?.jobId, err: parsed.error }, 'job cannot be run');
    return parsed.envelope === null ? Promise.resolve() : reportInvalid(parsed, parts);
  };

  const handBack = (raw: unknown): void => {
    const { jobId, leaseToken } = (raw ?? {}) as { jobId?: unknown; leaseToken?: unknown }; // checked below
    if (typeof jobId !== 'string' || typeof leaseToken !== 'string') return;
    void leases.release({ jobId, leaseToken }, { reason: 'draining' });
  };

  return {
    accept: async (jobs) => {
      // Whoever loads reports the fault. Others may take the jobs.
      const tools = closed ? null : await options.loading.get().catch(() => null);
      for (const raw of jobs) {
        if (closed || tools === null) handBack(raw);
        else {
          try {
            begin(raw, tools).catch((error: unknown) =>
              options.fault(toError(error), 'running a job failed'),
            );
          } catch (error) {
            options.fault(toError(error), 'job could not be started');
          }
        }
      }
    },
    close: () => {
      closed = true;
    },
    isClosed: () => closed,
  };
}
