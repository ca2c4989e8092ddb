import { randomUUID } from 'node:crypto';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { lanes as laneNames } from '../../protocol/check-types.ts';
import type { ReasonCode } from '../../protocol/reasons.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { AgentCondition } from '../../protocol/routes.ts';
import type { ApiScripts } from '../../protocol/script.ts';
import { fieldsOfJob, type JobSources } from './draft.ts';
import type { QueueWaits } from '../locations/sampling.ts';
import type { Waiting } from '../scheduling/waiting-agents.ts';
import { createPartsReader } from './claimed-parts.ts';
import { createProxyReader, createScopeReader } from './claim-sources.ts';
import { touchAgent, type AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import {
  claimJobs,
  nextClaimable,
  unclaimForRuntime,
  unclaimJobs,
  type ClaimedJob,
} from '../scheduling/jobs-claim.ts';
import { lockJobs } from '../scheduling/jobs.ts';
import type { Partitions } from '../db/partitions.ts';
import { EncryptionError, type Encryption } from '../engine/encryption.ts';
import { UnbuildableJobError } from './job-scripts.ts';
import { endJobs } from '../scheduling/own-results.ts';

type Deps = {
  db: Db;
  encryption: Encryption;
  partitions: Partitions;
  waiting: Waiting;
  now: () => number;
  log: Log;
  /** Called with the time that each run waited; optional. */
  waits?: Pick<QueueWaits, 'record'>;
};

export type ClaimOptions = {
  location: AgentLocation;
  agentId: string;
  free: { [lane in (typeof laneNames)[number]]?: number };
  waitSeconds: number;
  /** What the agent reports about itself; null = nothing. */
  condition: AgentCondition | null;
  /** Fires when the agent has disconnected or the service is stopping. */
  signal: AbortSignal;
  /** Fires when the agent has disconnected. */
  gone: AbortSignal;
};

/** Interval between checks for jobs of a location without a notification, in case one was lost. */
const safetyMs = 2_000;
/**
 * A claim is done in batches: no statement may block the embedded database for long, and the response size is limited.
 */
const stepJobs = 100;
const answerBytes = 8 * 1024 * 1024;

/** Returns jobs as JSON texts; empty when none arrived in time. Null: the agent must say hello first. */
export async function claim(deps: Deps, options: ClaimOptions): Promise<string[] | null> {
  const { db, waiting, now } = deps;
  const { location, signal } = options;
  const deadline = now() + options.waitSeconds * 1000;
  const agent = await touchAgent(db, {
    id: options.agentId,
    locationId: location.locationId,
    condition: options.condition,
    now: new Date(now()),
  });
  if (agent === undefined || agent.isOutdated) return null;
  const kind = JSON.stringify([agent.checkTypes, agent.runtimes]);
  const free = laneNames.flatMap((lane) => {
    const slots = options.free[lane] ?? 0;
    return slots > 0 ? [{ lane, slots }] : [];
  });
  for (;;) {
    const { jobs, leases, more } = await claimSteps(deps, { ...options, agent, free });
    if (more) waiting.wake(location.locationId, kind);
    if (options.gone.aborted && leases.length > 0) {
      // Nobody reads the answer. The runs would wait for the end of leases that no agent knows of.
      await unclaimJobs(db, leases);
      waiting.wake(location.locationId);
      return [];
    }
    if (jobs.length > 0 || free.length === 0 || signal.aborted) return jobs;
    const left = deadline - now();
    if (left <= 0) return jobs;
    const next = await nextClaimable(db, { locationId: location.locationId, now: new Date(now()) });
    const untilNext = next === null ? Infinity : Math.max(1, next.getTime() - now());
    const timeoutMs = Math.min(left, safetyMs, untilNext);
    await waiting.wait({ locationId: location.locationId, kind, timeoutMs, signal });
    if (signal.aborted) return [];
  }
}

type Step = ClaimOptions & {
  agent: { checkTypes: string[]; runtimes: string[] };
  free: { lane: string; slots: number }[];
};

type Lease = { jobId: string; leaseToken: string };

/** `more`: a lane was full, so jobs may be left for other agents. `leases`: of the jobs. */
async function claimSteps(
  deps: Deps,
  step: Step,
): Promise<{ jobs: string[]; leases: Lease[]; more: boolean }> {
  const jobs: string[] = [];
  const leases: Lease[] = [];
  let more = false;
  let bytes = 0;
  const proxy = createProxyReader(deps, step.location);
  const scope = createScopeReader(deps, step.location);
  const completeJob = createPartsReader(deps.db);
  // Lane by lane, so that a full lane does not take the place of another in the response.
  for (const { lane, slots } of step.free) {
    let left = Math.min(slots, protocolLimits.claimJobs - jobs.length);
    while (left > 0 && bytes < answerBytes) {
      const requested = Math.min(left, stepJobs);
      const claimed = await claimStep(deps, step, { lane, slots: requested });
      if (claimed.length === 0) break;
      if (step.signal.aborted) {
        await unclaimJobs(deps.db, claimed);
        deps.waiting.wake(step.location.locationId);
        break;
      }
      try {
        const shared = {
          proxyUrl: await proxy(),
          account: await scope(claimed),
          completeJob,
          runtimes: step.agent.runtimes,
        };
        const { built, rest } = await buildSome(deps, claimed, { ...shared, maxBytes: answerBytes - bytes });
        for (const { text } of built) bytes += text.length;
        jobs.push(...built.map(({ text }) => text));
        leases.push(...built.map(({ lease }) => lease));
        if (rest.length > 0) {
          // With large scripts, jobs that do not fit into the response are returned to the queue.
          await unclaimJobs(deps.db, rest);
          return { jobs, leases, more: true };
        }
      } catch (error) {
        // Leases that no agent gets are given back, or their runs would wait until they expire. Jobs of earlier steps
        // are complete, so the agent gets them.
        const lost = claimed.filter(({ jobId }) => !leases.some((lease) => lease.jobId === jobId));
        await unclaimJobs(deps.db, lost).catch(() => undefined);
        if (jobs.length === 0) throw error;
        deps.log.warn({ error: toError(error).message }, 'a claim was answered in part');
        return { jobs, leases, more: true };
      }
      for (const { notBefore } of claimed) {
        const milliseconds = deps.now() - notBefore.getTime();
        deps.waits?.record({ locationId: step.location.locationId, lane, milliseconds });
      }
      left -= claimed.length;
      if (claimed.length < requested) break;
      more = true;
    }
  }
  return { jobs, leases, more };
}

function claimStep(
  { db, now }: Deps,
  { location, agent, agentId }: Step,
  free: { lane: string; slots: number },
): Promise<ClaimedJob[]> {
  const time = now();
  return claimJobs(db, {
    tokens: Array.from({ length: free.slots }, () => randomUUID()),
    locationId: location.locationId,
    agentId,
    free: [free],
    checkTypes: agent.checkTypes,
    runtimes: agent.runtimes,
    now: new Date(time),
    leaseExpiresAt: new Date(time + protocolLimits.leaseSeconds * 1000),
  });
}

/**
 * The runtime that a run needs only since it was queued, if the agent does not have it; otherwise null.
 * Without this check, the agent would skip the scripts without any notice.
 */
function lackingRuntime(
  { runtimeId }: ClaimedJob,
  { scripts }: Record<string, unknown>,
  runtimes: readonly string[],
): string | null {
  if (runtimeId !== null || scripts === undefined) return null;
  const needed = (scripts as ApiScripts).runtimeId; // built by apiScriptsOf
  return runtimes.includes(needed) ? null : needed;
}

/**
 * Builds jobs as texts up to a total of `maxBytes`, and returns the leases of the rest.
 * If no job can be built for a check, its run gets the status errored and the other jobs are not affected.
 */
async function buildSome(
  deps: Deps,
  claimed: ClaimedJob[],
  shared: JobSources & { runtimes: readonly string[]; maxBytes: number },
): Promise<{ built: { text: string; lease: Lease }[]; rest: ClaimedJob[] }> {
  const built: { text: string; lease: Lease }[] = [];
  let bytes = 0;
  let next = 0;
  const broken: { jobId: string; code: ReasonCode; message: string }[] = [];
  for (; next < claimed.length && bytes < shared.maxBytes; next++) {
    const job = claimed[next];
    if (job === undefined) break;
    try {
      const fields = await fieldsOfJob(deps, job, shared);
      if (fields === null) continue;
      const runtimeId = lackingRuntime(job, fields, shared.runtimes);
      if (runtimeId !== null) {
        await unclaimForRuntime(deps.db, { ...job, runtimeId });
        continue;
      }
      const text = JSON.stringify(fields);
      bytes += text.length;
      built.push({ text, lease: job });
    } catch (error) {
      const { jobId } = job;
      if (error instanceof UnbuildableJobError) {
        broken.push({ jobId, code: error.code, message: error.message });
      } else if (error instanceof EncryptionError) {
        const message = `the secrets of the check cannot be opened: ${error.message}`;
        broken.push({ jobId, code: 'INTERNAL', message });
      } else {
        throw error;
      }
    }
  }
  for (const { jobId, code, message } of broken) {
    deps.log.error({ jobId, error: message }, 'job could not be built');
    await deps.partitions.withDays(() =>
      deps.db.tx(async (tx) =>
        endJobs(tx, {
          jobs: await lockJobs(tx, [jobId]),
          status: 'errored',
          code,
          message,
          now: deps.now(),
          partitions: deps.partitions,
        }),
      ),
    );
  }
  return { built, rest: claimed.slice(next) };
}
