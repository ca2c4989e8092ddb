import { createHash } from 'node:crypto';
import type { AnalysisConfig } from '../../config/analysis.ts';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { ArtifactFiles } from '../artifacts/files.ts';
import { variablesOfCheck } from '../analyses/secrets-of-check.ts';
import { checkOfRun, type AgenticTask } from './drafts.ts';
import { findAgenticScript, saveAgenticScript } from './statements.ts';
import {
  claimAgenticRuns,
  endAgenticRuns,
  releaseAgenticRuns,
  renewAgenticRuns,
  type AgenticRun,
} from './run-statements.ts';
import { settingsOfSession } from '../scheduling/session-runs.ts';
import { findCheckGroup } from '../checks/storage/group-statements.ts';
import type { CheckRow } from '../checks/storage/statements.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { openVariables, type Encryption } from '../engine/encryption.ts';
import type { Variable } from '../checks/storage/settings.ts';
import { uuidv7 } from '../engine/ids.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { endRuns, type AgenticEnd } from './outcomes.ts';
import { Cancelled, perform, type Performed, type usualLimits } from './perform.ts';
import { storeRunFiles } from './run-files.ts';
import { clearUpRuns, makeDueRuns } from './schedule.ts';

/** Runs agentic checks inside the service, on any replica with free capacity. */

export type AgenticChecks = Loop & {
  /** Resolves when this replica has no active runs. */
  idle(): Promise<void>;
};

/** Browsers that this replica runs at once. */
const concurrency = 2;
const everyMs = 1_000;
const leaseMs = 30_000;
const renewEveryMs = 2_000;

type Deps = {
  db: Db;
  encryption: Encryption;
  now: () => number;
  log: Log;
  config: AnalysisConfig;
  partitions: Partitions;
  /** Storage for the files of runs. */
  files: ArtifactFiles;
  limits?: typeof usualLimits;
};

type Running = { run: AgenticRun; ending: AbortController; done: Promise<void> };

export function createAgenticChecks(deps: Deps): AgenticChecks {
  const { db, now, log } = deps;
  const running = new Map<string, Running>();
  const token = uuidv7(now());
  let renewal: NodeJS.Timeout | undefined;
  const leaseUntil = () => new Date(now() + leaseMs);

  /**
   * Renews leases. A run that this replica has lost, because it was blocked for too long, is stopped without a result.
   */
  async function renew(): Promise<void> {
    const ids = [...running.keys()];
    if (ids.length === 0) return;
    const kept = await renewAgenticRuns(db, { ids, token, leaseUntil: leaseUntil() });
    for (const id of ids) {
      const cancelled = kept.get(id);
      if (cancelled === undefined)
        running.get(id)?.ending.abort(new Error('another replica has taken the run'));
      else if (cancelled) running.get(id)?.ending.abort(new Cancelled('cancelled'));
    }
  }

  function keepRenewing(): void {
    renewal ??= setInterval(() => {
      void renew().catch((error: unknown) =>
        log.warn({ error: toError(error).message }, 'agentic run leases could not be renewed'),
      );
    }, renewEveryMs);
  }

  function begin(run: AgenticRun): void {
    const ending = new AbortController();
    const done = runOne(deps, run, { token, signal: ending.signal })
      .catch(async (error: unknown) => {
        if (!ending.signal.aborted) {
          // The lease expires, and the run starts again until its tries are used up.
          log.error({ checkId: run.checkId, error: toError(error).message }, 'agentic run failed');
          return;
        }
        // The service is stopping; the next replica starts the run from the beginning.
        await releaseAgenticRuns(db, { ids: [run.id], token }).catch(() => undefined);
      })
      .finally(() => {
        running.delete(run.id);
        if (running.size > 0) return;
        clearInterval(renewal);
        renewal = undefined;
      });
    running.set(run.id, { run, ending, done });
    keepRenewing();
  }

  const makeRuns = makeDueRuns(deps);
  const clearUp = clearUpRuns(deps);
  const loop = createLoop({
    name: 'agentic checks',
    log,
    work: async () => {
      await makeRuns();
      await clearUp();
      const limit = concurrency - running.size;
      if (limit <= 0) return everyMs;
      const claim = { limit, token, now: new Date(now()), leaseUntil: leaseUntil() };
      for (const run of await claimAgenticRuns(db, claim)) begin(run);
      return everyMs;
    },
  });
  const idle = async () => {
    while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done));
  };
  return {
    start: () => loop.start(),
    tick: () => loop.tick(),
    stop: async () => {
      await loop.stop();
      for (const { ending } of running.values()) ending.abort(new Error('the service is stopping'));
      await idle();
    },
    idle,
  };
}

/** Performs a run and stores its result. Rejects when that is not possible now. */
async function runOne(
  deps: Deps,
  run: AgenticRun,
  { token, signal }: { token: string; signal: AbortSignal },
): Promise<void> {
  const { db, now, partitions } = deps;
  const check = await checkOfRun(db, deps.encryption, run);
  // The check was deleted in the meantime, together with its runs.
  if (check === undefined) return;
  if (run.sessionId === null && 'activated' in check && !(await isSwitchedOn(db, run.accountId, check))) {
    await endAgenticRuns(db, { ids: [run.id], token });
    return;
  }
  const { prompt, skills, promptHash } = taskOf(check);
  const begun = now();
  const performed = await performTask(deps, run, { check, prompt, skills, promptHash, signal });
  const { status, reason, details, actions } = performed;
  const ended = now();
  const filesOf = { accountId: run.accountId, jobId: run.id, leaseToken: uuidv7(ended) };
  const artifacts = await storeRunFiles({ ...deps, signal }, filesOf, performed.files);
  const end: AgenticEnd = {
    run,
    status,
    reason,
    details,
    begun,
    ended,
    artifacts,
    filesToken: filesOf.leaseToken,
  };
  await partitions.withDays(() =>
    db.tx(async (tx) => {
      const endedRuns = await endRuns(tx, { token, partitions, now: now() }, [end]);
      if (!endedRuns.has(run.id) || actions === null || run.testSession) return;
      await saveAgenticScript(tx, { checkId: run.checkId, promptHash, actions });
    }),
  );
}

async function isSwitchedOn(
  db: Db,
  accountId: string,
  { activated, groupId }: Pick<CheckRow, 'activated' | 'groupId'>,
): Promise<boolean> {
  if (!activated || groupId === null) return activated;
  const group = await findCheckGroup(db, { accountId, id: groupId });
  return group?.activated !== false;
}

type TaskOfCheck = { prompt: string; skills: string[]; promptHash: string };

function taskOf({ definition }: Pick<CheckRow, 'definition'>): TaskOfCheck {
  const { prompt, agentRuntime } = definition as { prompt: string; agentRuntime?: { skills: string[] } }; // guaranteed by its schema
  const skills = agentRuntime?.skills ?? [];
  const promptHash = createHash('sha256')
    .update(JSON.stringify([prompt, skills]))
    .digest('hex');
  return { prompt, skills, promptHash };
}

async function performTask(
  { db, encryption, config, now, limits }: Deps,
  run: AgenticRun,
  task: TaskOfCheck & { check: AgenticTask; signal: AbortSignal },
): Promise<Performed> {
  const { check, prompt, skills, promptHash, signal } = task;
  const { endpoint, agenticModel } = config;
  try {
    const settings = run.sessionId === null ? null : await settingsOfSession(db, run.sessionId);
    const ofSession = (settings?.variables ?? []) as Variable[]; // written by the routes of sessions and triggers
    return await perform({
      prompt,
      skills,
      script: await findAgenticScript(db, { checkId: check.id, promptHash }),
      variables: [
        // Variables of the session have the highest priority.
        ...openVariables(ofSession, encryption),
        ...(await variablesOfCheck(db, encryption, { accountId: run.accountId, check })),
      ],
      endpoint: endpoint === null ? null : { ...endpoint, model: agenticModel ?? endpoint.model },
      browser: config.agenticBrowser,
      signal,
      now,
      ...(limits === undefined ? {} : { limits }),
    });
  } catch (error) {
    if (signal.aborted) throw error;
    // An internal error ends the run too, because another try would fail in the same way.
    const reason = reasonOf('INTERNAL', toError(error).message.slice(0, 500));
    const details = {
      summary: '',
      prompt,
      assertions: [],
      suggestions: [],
      steps: [],
      errors: [reason.message],
    };
    return { status: 'errored', reason, details: { ...details, replayed: false }, actions: null, files: [] };
  }
}
