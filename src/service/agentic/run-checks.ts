import { createHash } from 'node:crypto';
import type { AnalysisConfig } from '../../config/analysis.ts';
import type { Log } from '../../log.ts';
import { variablesOfCheck } from '../analyses/secrets-of-check.ts';
import type { Background } from '../background.ts';
import { endAgenticRun, findAgenticScript, lockDueAgentic } from '../db/agentic.ts';
import { findCheck } from '../db/checks.ts';
import type { Db } from '../db/database.ts';
import { queueFinishedRuns } from '../db/finished-runs.ts';
import { createPartitions } from '../db/partitions.ts';
import { advanceChecks } from '../db/schedule.ts';
import { insertResults, toJsonb, updateStatuses, type ResultToStore } from '../db/store-result.ts';
import type { Encryption } from '../encryption.ts';
import { serviceLocation } from '../heartbeats/outcomes.ts';
import { scheduledRunId, uuidv7 } from '../ids.ts';
import { maintenanceAt } from '../maintenance/effects.ts';
import { nextDueAt } from '../scheduling/schedule-rules.ts';
import { createLoop, type Loop } from '../scheduling/loop.ts';
import { perform, type Performed } from './perform.ts';

/** Agentic checks, which the service runs itself: whichever replica is free. */

export const agenticQueue = 'agentic-runs';
type Item = { checkId: string; accountId: string; runId: string };

const queue = {
  name: agenticQueue,
  retryLimit: 1,
  retryDelaySeconds: 10,
  expireSeconds: 330,
  concurrency: 1,
  isKeyed: true,
};
const batch = 50;
const everyMs = 1_000;

/** Queues runs of checks that are due. A check whose run before still waits gets no second one. */
export function createAgenticSchedule({
  db,
  background,
  now,
  log,
}: {
  db: Db;
  background: Background;
  now: () => number;
  log: Log;
}): Loop {
  return createLoop({
    name: 'agentic checks',
    log,
    work: () =>
      db.tx(async (tx) => {
        const at = now();
        const due = await lockDueAgentic(tx, { now: new Date(at), limit: batch });
        if (due.length === 0) return everyMs;
        const paused = new Map<string, Awaited<ReturnType<typeof maintenanceAt>>>();
        for (const { id, accountId, tags, nextDueAt: dueAt } of due) {
          const effects = paused.get(accountId) ?? (await maintenanceAt(tx, { accountId, at: new Date(at) }));
          paused.set(accountId, effects);
          if (effects.pauses(tags)) continue;
          const item: Item = { checkId: id, accountId, runId: scheduledRunId(id, dueAt.getTime()) };
          await background.send(tx, agenticQueue, item, { key: id });
        }
        await advanceChecks(
          tx,
          due.map((check) => ({ id: check.id, nextDueAt: nextDueAt(check, at), rotation: 0 })),
        );
        return due.length === batch ? 0 : everyMs;
      }),
  });
}

type Deps = { db: Db; encryption: Encryption; now: () => number; config: AnalysisConfig };

/** Before `background.prepare()`. */
export function handleAgenticRuns(background: Background, deps: Deps): void {
  const { db, encryption, now, config } = deps;
  const partitions = createPartitions(db);
  const endpoint =
    config.endpoint === null
      ? null
      : { ...config.endpoint, model: config.agenticModel ?? config.endpoint.model };
  background.handle<Item>(queue, async ({ checkId, accountId, runId }, { signal }) => {
    const check = await findCheck(db, { accountId, id: checkId });
    // Deleted, or switched off, while it waited.
    if (check?.activated !== true || check.checkType !== 'AGENTIC') return;
    const { prompt, agentRuntime } = check.definition as {
      prompt: string;
      agentRuntime?: { skills: string[] };
    }; // as its schema has it
    const skills = agentRuntime?.skills ?? [];
    const promptHash = createHash('sha256')
      .update(JSON.stringify([prompt, skills]))
      .digest('hex');
    const begun = now();
    const performed = await perform({
      prompt,
      skills,
      script: await findAgenticScript(db, { checkId, promptHash }),
      variables: await variablesOfCheck(db, encryption, { accountId, check }),
      endpoint,
      browser: config.agenticBrowser,
      signal,
      now,
    });
    const result = resultOf({ checkId, accountId, runId }, performed, { begun, ended: now() });
    await partitions.make([begun]);
    const at = new Date(now());
    await db.tx(async (tx) => {
      if (!(await endAgenticRun(tx, { checkId, runId, promptHash, actions: performed.actions }))) return;
      await insertResults(tx, [result], at);
      await updateStatuses(tx, [result], at);
      await queueFinishedRuns(tx, [result], () => runId);
    });
  });
}

function resultOf(
  { checkId, accountId, runId }: Item,
  { status, reason, details }: Performed,
  { begun, ended }: { begun: number; ended: number },
): ResultToStore {
  return {
    id: uuidv7(begun),
    startedAt: begun,
    stoppedAt: ended,
    accountId,
    checkId,
    jobId: null,
    sequenceId: runId,
    checkType: 'AGENTIC',
    runLocation: serviceLocation,
    resultType: 'FINAL',
    status,
    hasFailures: status === 'failed',
    hasErrors: status === 'errored',
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: Math.max(0, ended - begun),
    attempts: 0,
    reason: reason === null ? null : toJsonb(reason),
    // Assertions of other types have another form: these stand in the details.
    body: toJsonb({ assertions: [], timings: null, details, artifacts: [], log: [] }),
    sslDaysRemaining: null,
  };
}
