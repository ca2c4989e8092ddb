import type { CheckType } from '../../../src/protocol/check-types.ts';
import type { ResultStatus } from '../../../src/protocol/result.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { noteRollupsDue } from '../../../src/service/results/rollups-due.ts';
import { insertResults, type ResultToStore } from '../../../src/service/results/store-result.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';

/** A run as a test describes it; omitted fields are those of a passed run. */
export type Run = {
  at: number;
  checkType?: CheckType;
  runLocation?: string;
  status?: ResultStatus;
  resultType?: 'FINAL' | 'ATTEMPT';
  isTest?: boolean;
  responseTime?: number;
  attempts?: number;
  timings?: object | null;
  assertions?: readonly object[];
  reason?: ResultToStore['reason'];
  details?: object;
  log?: readonly object[];
  artifacts?: readonly object[];
};

/** Stores results as agents' reports do, and notes their hours as the follower of finished runs does; their ids. */
export async function storeRuns(
  db: Db,
  { accountId, checkId, noted = true }: { accountId: string; checkId: string; noted?: boolean },
  runs: readonly Run[],
): Promise<string[]> {
  await createPartitions(db).make(runs.map(({ at }) => at));
  const results = runs.map((run): ResultToStore => {
    const { at, status = 'passed', responseTime = 100 } = run;
    return {
      id: uuidv7(at),
      startedAt: at,
      stoppedAt: at + Math.round(responseTime),
      accountId,
      checkId,
      jobId: null,
      sequenceId: uuidv7(at),
      isTest: run.isTest ?? false,
      checkType: run.checkType ?? 'URL',
      runLocation: run.runLocation ?? 'eu-west-1',
      resultType: run.resultType ?? 'FINAL',
      status,
      hasFailures: status === 'failed',
      hasErrors: status === 'errored',
      isDegraded: status === 'degraded',
      overMaxResponseTime: false,
      isCancelled: status === 'cancelled',
      responseTime,
      attempts: run.attempts ?? 0,
      reason: run.reason ?? null,
      body: JSON.stringify({
        assertions: run.assertions ?? [],
        timings: run.timings ?? null,
        details: run.details ?? {},
        artifacts: run.artifacts ?? [],
        log: run.log ?? [],
      }),
      sslDaysRemaining: null,
    };
  });
  for (let from = 0; from < results.length; from += 500) {
    const some = results.slice(from, from + 500);
    await db.tx(async (tx) => {
      await insertResults(tx, some, new Date());
      if (!noted) return;
      const counted = some.filter(
        ({ resultType, isTest, status }) =>
          resultType === 'FINAL' && isTest !== true && status !== 'missed' && status !== 'cancelled',
      );
      await noteRollupsDue(
        tx,
        counted.map(({ startedAt }) => ({ checkId, startedAt: new Date(startedAt) })),
      );
    });
  }
  return results.map(({ id }) => id);
}
