import type { Db } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import {
  buildDrafts,
  startDrafts,
  type DraftOptions,
  type Drafts as BuiltDrafts,
  type Skipped as SkippedDraft,
} from '../drafts/drafts.ts';
import { matchesTags, type Target } from '../sessions/rules.ts';
import type { StartedSession } from '../sessions/sessions.ts';
import { findTargetChecks, type TargetCheck } from '../sessions/target-statements.ts';
import type { Change } from './plan.ts';
import { checksThatUse } from './statements.ts';

/** Test runs of checks that files describe, before they are applied. */

type Deps = { db: Db; encryption: Encryption; now: () => number };

export type TestOptions = DraftOptions & {
  /** Also checks that the files would not change. */
  all: boolean;
  /** Part of the name, in any case; null = any. */
  name: string | null;
  matchTags: NonNullable<Target['matchTags']>;
};

/** `logicalIds`: of the definitions, by the ids that they have in the transaction. */
export type Drafts = BuiltDrafts & { logicalIds: ReadonlyMap<string, string> };

/** Builds the jobs of the chosen checks, in the transaction that is to be rolled back. Throws HttpError. */
export async function draftsOf(
  tx: Db,
  deps: Deps,
  diff: readonly Change[],
  options: TestOptions,
): Promise<Drafts> {
  const { accountId, matchTags } = options;
  const logicalIds = new Map(
    (await chosen(tx, diff, options.all)).map(({ physicalId, logicalId }) => [physicalId ?? '', logicalId]),
  );
  if (logicalIds.size === 0) return { ready: [], skipped: [], logicalIds };
  const ids = [...logicalIds.keys()];
  const isNamed = ({ name }: TargetCheck) =>
    options.name === null || name.toLowerCase().includes(options.name.toLowerCase());
  const targets = (await findTargetChecks(tx, { accountId, ids, alsoDeactivated: true })).filter(
    (check) => isNamed(check) && matchesTags(check.tags, matchTags),
  );
  return { ...(await buildDrafts(tx, deps, targets, options)), logicalIds };
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

type Skipped = { logicalId: string; name: string; checkType: string; reason: string };

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
  deps: Deps,
  { ready, skipped, logicalIds }: Drafts,
  run: { name: string; options: TestOptions },
): Promise<StartedTest> {
  const { started, runs, skipped: left } = await startDrafts(deps, ready, run);
  const named = ({ checkId, ...rest }: SkippedDraft) => ({
    logicalId: logicalIds.get(checkId) ?? '',
    ...rest,
  });
  return {
    started,
    checks: runs.map(({ definitionId, ...rest }) => ({
      logicalId: logicalIds.get(definitionId) ?? '',
      ...rest,
    })),
    skipped: [...skipped, ...left].map(named),
  };
}
