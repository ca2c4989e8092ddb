import { createDraftBuilder } from '../agents/draft.ts';
import { insertDrafts, type Draft } from '../agents/draft-statements.ts';
import { UnbuildableJobError } from '../agents/job-scripts.ts';
import { createAgenticDrafts } from '../agentic/drafts.ts';
import type { Variable } from '../checks/storage/settings.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { Db } from '../db/database.ts';
import { sealVariables, type Encryption } from '../engine/encryption.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { SessionRetries } from '../scheduling/session-runs.ts';
import {
  checkRoom,
  planSessionRuns,
  startSessions,
  type Planned,
  type StartedSession,
} from '../sessions/sessions.ts';
import { shareLock, type TargetCheck } from '../sessions/target-statements.ts';

/**
 * Runs of definitions that are not stored. A check is written in a transaction that is rolled back; before that, its
 * job is built as the account would have it. The job waits as a draft that belongs to a test session.
 */

type Deps = { db: Db; encryption: Encryption; now: () => number };

export type DraftOptions = {
  accountId: string;
  /** Slug; null = where the first scheduled run of each check would be. */
  runLocation: string | null;
  variables: readonly Variable[];
  retries: SessionRetries | null;
  refreshCache: boolean;
};

export type Skipped = { checkId: string; name: string; checkType: string; reason: string };
export type Ready = { checkId: string; planned: Planned; job: string };
export type Drafts = { ready: Ready[]; skipped: Skipped[] };

/** Builds the jobs of these checks as `tx` sees them; `tx` is to be rolled back. Throws HttpError. */
export async function buildDrafts(
  tx: Db,
  { encryption, now }: Deps,
  targets: readonly TargetCheck[],
  options: DraftOptions,
): Promise<Drafts> {
  const drafts: Drafts = { ready: [], skipped: [] };
  if (targets.length === 0) return drafts;
  const { accountId, runLocation, refreshCache, retries } = options;
  const planned = new Map(
    (
      await planSessionRuns(
        { db: tx, now },
        { accountId, target: { checkId: targets.map(({ id }) => id) }, alsoDeactivated: true, runLocation },
      )
    ).map((one) => [one.check.id, one]),
  );
  const settings = { variables: sealVariables(options.variables, encryption), retries, refreshCache };
  const ofAgents = createDraftBuilder(tx, { accountId, encryption, settings, now: now() });
  const ofService = createAgenticDrafts(tx, { accountId, encryption });
  for (const { id: checkId, name, checkType } of targets) {
    const skip = (reason: string) => drafts.skipped.push({ checkId, name, checkType, reason });
    const own = planned.get(checkId);
    if (own === undefined) {
      skip('has no location');
      continue;
    }
    const build = serviceCheckType(checkType)?.runBy === 'service' ? ofService : ofAgents;
    const job = await build(checkId).catch((error: unknown) => {
      if (error instanceof UnbuildableJobError) return error;
      throw error;
    });
    if (job instanceof UnbuildableJobError) skip(job.message);
    else if (job !== null) drafts.ready.push({ checkId, planned: own, job });
  }
  return drafts;
}

export type StartedDraft = {
  /** Of the definition in the transaction that was rolled back. */
  definitionId: string;
  name: string;
  checkType: string;
  /** Of the draft. */
  checkId: string;
  sequenceId: string;
  runLocation: string;
};

export type StartedDrafts = {
  /** Null = nothing could be run. */
  started: StartedSession | null;
  runs: StartedDraft[];
  skipped: Skipped[];
};

/** Stores the drafts and queues one run of each. Throws HttpError 429 if too many runs wait. */
export async function startDrafts(
  { db, encryption, now }: Deps,
  ready: readonly Ready[],
  { name, options }: { name: string; options: DraftOptions },
): Promise<StartedDrafts> {
  const { accountId, variables, retries, refreshCache } = options;
  await checkRoom({ db, now }, { accountId, planned: ready.map(({ planned }) => planned) });
  const sessionId = uuidv7(now());
  return db.tx(async (tx) => {
    const locationIds = ready.flatMap(({ planned }) => planned.places[0]?.id ?? []);
    const known = await shareLock(tx, 'locations', [...new Set(locationIds)]);
    const runnable = ready.flatMap(({ checkId, planned, job }) => {
      const place = planned.places.find(({ id }) => id === null || known.has(id));
      const id = uuidv7(now());
      const { check } = planned;
      return place === undefined
        ? []
        : [{ checkId, job, id, planned: { check: { ...check, id }, places: [place] } }];
    });
    const skipped = ready
      .filter(({ checkId }) => !runnable.some((one) => one.checkId === checkId))
      .map(({ checkId, planned: { check } }) => ({
        checkId,
        name: check.name,
        checkType: check.checkType,
        reason: 'has a location that exists only once it is applied: give another one (--location)',
      }));
    if (runnable.length === 0) return { started: null, runs: [], skipped };
    const drafts = runnable.map(({ id, job, planned: { check } }): Draft => {
      return { id, name: check.name, checkType: check.checkType, sessionId, job };
    });
    await insertDrafts(tx, drafts);
    const session = {
      id: sessionId,
      accountId,
      kind: 'test',
      checkId: null,
      name,
      runSource: 'TRIGGER_RECORD',
      refreshCache,
      metadata: null,
      environmentVariables: sealVariables(variables, encryption),
      ...(retries === null ? {} : { retries }),
    } as const;
    const [started] = await startSessions({ db: tx, now }, [
      { session, planned: runnable.map(({ planned }) => planned) },
    ]);
    if (started === undefined) throw new Error('the locked locations are gone');
    const definitionIds = new Map(runnable.map(({ id, checkId }) => [id, checkId]));
    const runs = started.runs.map(({ checkId, sequenceId, runLocation, checkName, checkType }) => {
      return {
        definitionId: definitionIds.get(checkId) ?? '',
        name: checkName,
        checkType,
        checkId,
        sequenceId,
        runLocation,
      };
    });
    return { started, runs, skipped };
  });
}
