import { serviceCheckType } from '../checks/types/table.ts';
import type { ApiDeps } from '../http/api.ts';
import { linesOfJobs } from '../results/log-statements.ts';
import { runningJobs } from '../scheduling/running-jobs.ts';
import { lastLines } from '../sessions/rules.ts';
import type { RunningRun } from './page-data.ts';

/** Number of a check's active runs on the page, and characters of each log. */
const shownRuns = 20;
const shownLines = { lines: 200, chars: 32 * 1024 };

/** Reads the active runs of a check for the page. */
export async function runningOnPage(
  { db, now }: Pick<ApiDeps, 'db' | 'now'>,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<{ runs: RunningRun[] }> {
  const jobs = await runningJobs(db, { accountId, checkId, limit: shownRuns });
  const logs = await linesOfJobs(db, {
    jobIds: jobs.map(({ jobId }) => jobId),
    each: shownLines.chars,
    all: shownRuns * shownLines.chars,
  });
  return {
    runs: jobs.map((job) => {
      const isRunning = job.state === 'leased';
      const since = isRunning ? (job.leasedAt ?? job.dueAt) : job.dueAt;
      const session = job.testSession ? 'test-sessions' : 'check-sessions';
      return {
        sequenceId: job.sequenceId,
        runLocation: job.runLocation,
        isScheduled: job.sessionId === null,
        state: isRunning ? 'running' : 'waiting for an agent',
        stage: isRunning ? job.stage : null,
        elapsed: Math.max(0, now() - since.getTime()),
        cancelRequested: job.cancelRequested,
        cancelPath:
          job.sessionId === null || serviceCheckType(job.checkType)?.cancel !== 'job'
            ? null
            : `/v1/${session}/${job.sessionId}/cancel`,
        log: lastLines(logs.get(job.jobId) ?? [], shownLines),
      };
    }),
  };
}
