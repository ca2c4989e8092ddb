import { createDraftBuilder } from '../agents/draft.ts';
import { insertDrafts, type Draft } from '../agents/draft-statements.ts';
import { UnbuildableJobError } from '../agents/job-scripts.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type { Db } from '../db/database.ts';
import { sealVariables, type Encryption } from '../engine/encryption.ts';
import { uuidv7 } from '../engine/ids.ts';
import { matchesTags, type Target } from '../sessions/rules.ts';
import {
  checkRoom,
  planSessionRuns,
  startSessions,
  type Planned,
  type StartedSession,
} from '../sessions/sessions.ts';
import type { SessionRetries } from '../scheduling/session-runs.ts';
import { findTargetChecks, shareLock, type TargetCheck } from '../sessions/target-statements.ts';
import type { Variable } from '../checks/storage/settings.ts';
import type { Change } from './plan.ts';
import { checksThatUse } from './statements.ts';

/** Test runs of checks that files describe, before they are applied. */

type Deps = { db: Db; encryption: Encryption; now: () => number };

export type TestOptions = {
  accountId: string;
  /** Also checks that the files would not change. */
  all: boolean;
  /** Part of the name, in any case; null = any. */
  name: string | null;
  matchTags: NonNullable<Target['matchTags']>;
  /** Slug; null = where the first scheduled run of each check would be. */
  runLocation: string | null;
  variables: readonly Variable[];
  retries: SessionRetries | null;
  refreshCache: boolean;
};

type Skipped = { logicalId: string; name: string; checkType: string; reason: string };
type Ready = { logicalId: string; planned: Planned; job: string };
export type Drafts = { ready: Ready[]; skipped: Skipped[] };

/** Builds the jobs of the chosen checks, in the transaction that is to be rolled back. Throws HttpError. */
export async function draftsOf(
  tx: Db,
  { encryption, now }: Deps,
  diff: readonly Change[],
  options: TestOptions,
): Promise<Drafts> {
  const { accountId, matchTags, runLocation, refreshCache, retries } = options;
  const logicalIds = new Map(
    (await chosen(tx, diff, options.all)).map(({ physicalId, logicalId }) => [physicalId ?? '', logicalId]),
  );
  if (logicalIds.size === 0) return { ready: [], skipped: [] };
  const ids = [...logicalIds.keys()];
  const isNamed = ({ name }: TargetCheck) =>
    options.name === null || name.toLowerCase().includes(options.name.toLowerCase());
  const targets = (await findTargetChecks(tx, { accountId, ids, alsoDeactivated: true })).filter(
    (check) => isNamed(check) && matchesTags(check.tags, matchTags),
  );
  if (targets.length === 0) return { ready: [], skipped: [] };
  const planned = new Map(
    (
      await planSessionRuns(
        { db: tx, now },
        { accountId, target: { checkId: targets.map(({ id }) => id) }, alsoDeactivated: true, runLocation },
      )
    ).map((one) => [one.check.id, one]),
  );
  const settings = { variables: sealVariables(options.variables, encryption), retries, refreshCache };
  const build = createDraftBuilder(tx, { accountId, encryption, settings, now: now() });
  const drafts: Drafts = { ready: [], skipped: [] };
  for (const check of targets) {
    const logicalId = logicalIds.get(check.id) ?? '';
    const skip = (reason: string) =>
      drafts.skipped.push({ logicalId, name: check.name, checkType: check.checkType, reason });
    const own = planned.get(check.id);
    if (serviceCheckType(check.checkType)?.runBy === 'service')
      skip('is run by the service, and only once it is applied');
    else if (own === undefined) skip('has no location');
    else {
      const job = await build(check.id).catch((error: unknown) => {
        if (error instanceof UnbuildableJobError) return error;
        throw error;
      });
      if (job instanceof UnbuildableJobError) skip(job.message);
      else if (job !== null) drafts.ready.push({ logicalId, planned: own, job });
    }
  }
  return drafts;
}

/** Checks that exist after the deployment: all of them, or those that change with it, also by their group or snippets. */
async function chosen(tx: Db, diff: readonly Change[], all: boolean): Promise<Change[]> {
  const there = diff.filter(
    ({ type, action }) => type === 'check' && action !== 'DELETE' && action !== 'DETACHED',
  );
  if (all) return there;
  const isChanged = ({ action }: Change) => action === 'CREATE' || action === 'UPDATE';
  const numbersOf = (type: string) =>
    diff.filter((one) => one.type === type && isChanged(one)).map(({ physicalId }) => Number(physicalId));
  const affected = await checksThatUse(tx, {
    ids: there.map(({ physicalId }) => physicalId ?? ''),
    groupIds: numbersOf('check-group'),
    snippetIds: numbersOf('snippet'),
  });
  return there.filter((one) => isChanged(one) || affected.has(one.physicalId ?? ''));
}

export type StartedTest = {
  started: StartedSession | null;
  checks: {
    logicalId: string;
    name: string;
    checkType: string;
    checkId: string;
    sequenceId: string;
    runLocation: string;
  }[];
  skipped: Skipped[];
};

/** Stores the drafts and queues one run of each. Throws HttpError 429 if too many runs wait. */
export async function startTest(
  { db, encryption, now }: Deps,
  { ready, skipped }: Drafts,
  { name, options }: { name: string; options: TestOptions },
): Promise<StartedTest> {
  const { accountId, variables, retries, refreshCache } = options;
  await checkRoom({ db, now }, { accountId, planned: ready.map(({ planned }) => planned) });
  const sessionId = uuidv7(now());
  return db.tx(async (tx) => {
    const locationIds = ready.flatMap(({ planned }) => planned.places[0]?.id ?? []);
    const known = await shareLock(tx, 'locations', [...new Set(locationIds)]);
    const runnable = ready.flatMap(({ logicalId, planned, job }) => {
      const place = planned.places.find(({ id }) => id !== null && known.has(id));
      const id = uuidv7(now());
      const { check } = planned;
      return place === undefined
        ? []
        : [{ logicalId, job, id, planned: { check: { ...check, id }, places: [place] } }];
    });
    const left = ready.filter(({ logicalId }) => !runnable.some((one) => one.logicalId === logicalId));
    const all = [
      ...skipped,
      ...left.map(({ logicalId, planned: { check } }) => ({
        logicalId,
        name: check.name,
        checkType: check.checkType,
        reason: 'has a location that exists only once it is applied: give another one (--location)',
      })),
    ];
    if (runnable.length === 0) return { started: null, checks: [], skipped: all };
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
    const logicalIds = new Map(runnable.map(({ id, logicalId }) => [id, logicalId]));
    const checks = started.runs.map(({ checkId, sequenceId, runLocation, checkName, checkType }) => {
      return {
        logicalId: logicalIds.get(checkId) ?? '',
        name: checkName,
        checkType,
        checkId,
        sequenceId,
        runLocation,
      };
    });
    return { started, checks, skipped: all };
  });
}
