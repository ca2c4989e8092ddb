import type { RequestOf } from '../../protocol/routes.ts';
import { connectedMs, type AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import { longestBackoffMs } from '../scheduling/jobs-expiry.ts';
import { connectedLocations, lockLease, requeueJob, type ReleasableJob } from '../scheduling/jobs-lease.ts';
import { jobsChannel } from '../scheduling/jobs.ts';
import type { Partitions } from '../db/partitions.ts';
import { endJobs } from '../scheduling/own-results.ts';

/** Releases a job that an agent returns, either not started or between two attempts. */

type Deps = { db: Db; partitions: Partitions; now: () => number; random: () => number };

/** 'lost': the token no longer has the lease. */
export async function releaseJob(
  deps: Deps,
  { location, jobId, release }: { location: AgentLocation; jobId: string; release: RequestOf<'release'> },
): Promise<'released' | 'lost'> {
  const { db, partitions } = deps;
  return partitions.withDays(() =>
    db.tx(async (tx) => {
      const { locationId } = location;
      const job = await lockLease(tx, { jobId, leaseToken: release.leaseToken, locationId });
      if (job === undefined) return 'lost';
      const now = deps.now();
      if (job.cancelRequested) {
        // A cancelled job would not be claimed again.
        const message = 'cancelled between two attempts';
        await endJobs(tx, { jobs: [job], status: 'cancelled', code: 'CANCELLED', message, now, partitions });
        return 'released';
      }
      const target = release.otherLocation === true ? await otherLocation(tx, job, deps) : null;
      const notBefore = Math.min(Math.max(timeOf(release.notBefore) ?? now, now), now + longestBackoffMs);
      const firstAttemptAt = timeOf(release.firstAttemptAt);
      await requeueJob(tx, {
        id: job.id,
        locationId: target?.id ?? job.locationId,
        runLocation: target?.slug ?? job.runLocation,
        attempt: Math.min(100, Math.max(job.attempt, release.nextAttempt ?? job.attempt)),
        firstAttemptAt: job.firstAttemptAt ?? (firstAttemptAt === null ? null : new Date(firstAttemptAt)),
        notBefore: new Date(notBefore),
        expiresAt: new Date(notBefore + job.claimWindowSeconds * 1000),
      });
      await tx.notify(jobsChannel, target?.id ?? job.locationId);
      return 'released';
    }),
  );
}

/** Picks another connected location of the check at random; null when the job should stay. */
async function otherLocation(tx: Db, job: ReleasableJob, { now, random }: Deps) {
  if (job.runParallel) return null;
  const others = await connectedLocations(tx, { job, connectedSince: new Date(now() - connectedMs) });
  return others[Math.floor(random() * others.length)] ?? null;
}

function timeOf(text: string | null | undefined): number | null {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? null : time;
}
