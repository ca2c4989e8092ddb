import Type from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { findCheck } from '../checks/storage/statements.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { notFound } from '../http/errors.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { IdParams, isUuid } from '../http/fields/path-params.ts';
import { open } from '../http/fields/strict-schema.ts';
import { linesOfJobs } from '../results/log-statements.ts';
import { runningJobs, type RunningJob } from '../scheduling/running-jobs.ts';
import { lastLines } from './rules.ts';

/** Number of active runs in an answer, and characters of each log. */
const maxRuns = 20;
const maxLines = { lines: 200, chars: 32 * 1024 };

const ActiveRun = Type.Object({
  sequenceId: Type.String({ format: 'uuid', description: 'Also of its results, once it has any.' }),
  runLocation: Type.String(),
  isScheduled: Type.Boolean({ description: 'False: someone requested it.' }),
  state: StringEnum(['running', 'waiting']),
  stage: Nullable(Type.String({ description: 'What the agent does now; of suites.' })),
  elapsedMs: Type.Number({ description: 'Since an agent took the run, or since it became due.' }),
  cancelRequested: Type.Boolean(),
  cancelPath: Nullable(
    Type.String({
      description:
        'Path for `POST` with `{"sequenceId": […]}` that cancels the run; null: it cannot be cancelled.',
    }),
  ),
  log: Type.Array(Type.String(), { description: 'The last lines, if the type has a live log.' }),
});

export const ActiveRuns = open(
  Type.Object({ runs: Type.Array(ActiveRun) }, { $id: 'ActiveRuns', title: 'ActiveRuns' }),
);

/** Registers the list of a check's runs that have no result yet. */
export function registerActiveRuns(api: PublicApi, { db, now }: Pick<ApiDeps, 'db' | 'now'>): void {
  api.get(
    '/v1/checks/:id/active-runs',
    {
      schema: {
        operationId: 'listActiveRuns',
        tags: ['Results'],
        summary: "A check's runs that agents have, and requested runs that wait for an agent",
        description: `At most ${maxRuns}, those that have been due longest first.`,
        params: IdParams,
        response: { 200: Type.Ref('ActiveRuns'), ...errorResponses(400, 404) },
      },
    },
    async ({ accountId, params: { id } }) => {
      const check = isUuid(id) ? await findCheck(db, { accountId, id }) : undefined;
      if (check === undefined) throw notFound('check', id);
      const jobs = await runningJobs(db, { accountId, checkId: id, limit: maxRuns });
      const logs = await linesOfJobs(db, {
        jobIds: jobs.map(({ jobId }) => jobId),
        each: maxLines.chars,
        all: maxRuns * maxLines.chars,
      });
      const time = now();
      return { runs: jobs.map((job) => present(job, { lines: logs.get(job.jobId) ?? [], time })) };
    },
  );
}

function present(job: RunningJob, { lines, time }: { lines: readonly string[]; time: number }) {
  const isRunning = job.state === 'leased';
  const since = isRunning ? (job.leasedAt ?? job.dueAt) : job.dueAt;
  const session = job.testSession ? 'test-sessions' : 'check-sessions';
  const canCancel = job.sessionId !== null && serviceCheckType(job.checkType)?.cancel === 'job';
  return {
    sequenceId: job.sequenceId,
    runLocation: job.runLocation,
    isScheduled: job.sessionId === null,
    state: isRunning ? ('running' as const) : ('waiting' as const),
    stage: isRunning ? job.stage : null,
    elapsedMs: Math.max(0, time - since.getTime()),
    cancelRequested: job.cancelRequested,
    cancelPath: canCancel ? `/v1/${session}/${job.sessionId}/cancel` : null,
    log: lastLines(lines, maxLines),
  };
}
