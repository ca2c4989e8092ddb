import type { Log } from '../../log.ts';
import type { Assignment, KeepingAnswer, SharedVariables } from '../../protocol/assignments.ts';
import { keepingMinor, protocolLimits } from '../../protocol/agent-calls.ts';
import { laneOf, type JobType } from '../../protocol/check-types.ts';
import type { AgentCondition, RequestOf } from '../../protocol/routes.ts';
import { touchAgent, type AgentLocation } from '../locations/agent-statements.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { EncryptionError, type Encryption } from '../engine/encryption.ts';
import { uuidPattern } from '../engine/ids.ts';
import {
  heldChanges,
  isKnownCursor,
  lookAtHeld,
  notePausesKnown,
  renewKeeping,
  type HeldCheck,
} from '../keeping/held.ts';
import { pausesAhead } from '../keeping/pauses.ts';
import { refuseCheck } from '../keeping/refuse.ts';
import { sharedVariables, sharingMinor } from '../keeping/shared-variables.ts';
import type { Waiting } from '../scheduling/waiting-agents.ts';
import { createPartsReader } from './claimed-parts.ts';
import { createProxyReader, createScopeReader } from './claim-sources.ts';
import { buildJob } from './job.ts';
import { UnbuildableJobError } from './job-scripts.ts';

/** The claim with which an agent renews the checks that it holds, and reads what has changed. */

type Deps = {
  db: Db;
  encryption: Encryption;
  now: () => number;
  log: Log;
  /** Wakes agents that have something to read. */
  keptWaiting: Waiting;
  partitions: Partitions;
  /** From when on agents may hold checks; null = never. */
  keepingFrom: number | null;
  /** Accounts and tags of variables that cannot be read and that the log names. */
  unreadable: Set<string>;
};

type Options = {
  location: AgentLocation;
  agentId: string;
  keeping: NonNullable<RequestOf<'claim'>['keeping']>;
  waitSeconds: number;
  condition: AgentCondition | null;
  signal: AbortSignal;
};

/** Between two looks without a notification, in case one was lost. */
const safetyMs = 1_500;
const answerBytes = 8 * 1024 * 1024;
/** More are named in the log again. */
const mostUnreadable = 1_000;

/** Agents name theirs since the next one. */
const minorOf = ({ minor }: Options['keeping']) => minor ?? keepingMinor;

const nothing = { epoch: 0, isFirst: false, hasMore: false, checks: [], dropped: [] };

/** Null: the agent must say hello first. */
export async function claimKept(deps: Deps, options: Options): Promise<KeepingAnswer | null> {
  const { db, now, keptWaiting } = deps;
  const { location, agentId, keeping, signal } = options;
  if (deps.keepingFrom === null || now() < deps.keepingFrom) {
    return { ...nothing, cursor: null, isOff: true };
  }
  const { locationId, accountId } = location;
  const begun = now();
  const agent = await touchAgent(db, {
    id: agentId,
    locationId,
    condition: options.condition,
    now: new Date(begun),
  });
  if (agent === undefined || agent.isOutdated) return null;
  const known = keeping.cursor !== null && (await isKnownCursor(db, { accountId, cursor: keeping.cursor }));
  const cursor = known ? keeping.cursor : null;
  const isRenewed = await renewKeeping(db, {
    agentId,
    locationId,
    accountId,
    until: new Date(begun + protocolLimits.leaseSeconds * 1000),
    now: new Date(begun),
    reportedTo: keeping.reportedTo === null ? null : new Date(keeping.reportedTo),
    cursor,
    isLeaving: keeping.isLeaving === true,
    minor: minorOf(keeping),
  });
  if (!isRenewed) return null;
  const isSharing = minorOf(keeping) >= sharingMinor;
  const waitMs = Math.min(options.waitSeconds, protocolLimits.keepingWaitSeconds) * 1000;
  const deadline = begun + (keeping.isLeaving === true ? 0 : waitMs);
  let wasHandedOut: boolean | null = null;
  for (;;) {
    const { hasChanges, isHandedOut, stopsInOutages, tag } = await lookAtHeld(db, {
      agentId,
      locationId,
      accountId,
      cursor,
    });
    const isKnown = tag === keeping.variables;
    const variables = isSharing && !isKnown ? await readVariables(deps, { accountId, tag }) : undefined;
    const isApart = isSharing && (isKnown || variables !== undefined);
    const shared = {
      stopsInOutages,
      ...(isApart ? { sharesVariables: true } : {}),
      ...(variables === undefined ? {} : { variables }),
    };
    // The list of an agent that continues another one is complete with its last check only: until then it runs, but no longer
    // than it must, what the other one held.
    wasHandedOut ??= isHandedOut;
    if (hasChanges) {
      const changes = await readChanges(deps, options, { cursor, isApart });
      return { ...changes, hasMore: changes.hasMore || !isHandedOut, ...shared };
    }
    const left = deadline - now();
    const isComplete = isHandedOut && !wasHandedOut;
    // A complete list of nothing is an answer too: the agent forgets what it held before.
    if (left <= 0 || signal.aborted || isComplete) {
      return { ...nothing, ...shared, cursor, isFirst: cursor === null, hasMore: !isHandedOut };
    }
    if (variables !== undefined) return { ...nothing, ...shared, cursor, hasMore: !isHandedOut };
    await keptWaiting.wait({
      locationId: agentId,
      kind: '',
      timeoutMs: Math.min(left, safetyMs),
      signal,
    });
  }
}

/**
 * Undefined if they cannot be read. Then they stay a part of each job, so none can be built: the checks go back to the queue,
 * and each of their runs says why.
 */
async function readVariables(
  deps: Deps,
  { accountId, tag }: { accountId: string; tag: string },
): Promise<SharedVariables | undefined> {
  try {
    return await sharedVariables(deps, accountId);
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error;
    const { unreadable } = deps;
    if (unreadable.has(`${accountId} ${tag}`)) return undefined;
    if (unreadable.size >= mostUnreadable) unreadable.clear();
    unreadable.add(`${accountId} ${tag}`);
    deps.log.error({ accountId, error: error.message }, 'the variables of an account cannot be read');
    return undefined;
  }
}

async function readChanges(
  deps: Deps,
  { location, agentId }: Options,
  { cursor, isApart }: { cursor: string | null; isApart: boolean },
): Promise<KeepingAnswer> {
  const { db, now } = deps;
  const rows = await heldChanges(db, { agentId, cursor, limit: protocolLimits.keptChecks });
  const held = rows.filter(({ isDropped }) => !isDropped);
  const at = now();
  const ahead = await pausesAhead(db, {
    checks: held.map(({ checkId, accountId }) => ({ id: checkId, accountId })),
    now: at,
  });
  if (ahead.hasWindows) {
    const checkIds = held.map(({ checkId }) => checkId);
    await notePausesKnown(db, { agentId, checkIds, until: new Date(ahead.until) });
  }
  const build = createBuilder(deps, { location, isApart });
  const checks: Assignment[] = [];
  const dropped: string[] = [];
  let bytes = 0;
  let read = 0;
  for (const row of rows) {
    if (bytes >= answerBytes) break;
    read += 1;
    const job = row.isDropped ? null : await build(row, agentId);
    if (job === null) {
      dropped.push(row.checkId);
      continue;
    }
    bytes += JSON.stringify(job).length;
    checks.push({
      checkId: row.checkId,
      holder: agentId,
      locationId: row.locationId,
      epoch: row.epoch,
      from: row.owedFrom.getTime(),
      intervalSeconds: row.intervalSeconds,
      offsetSeconds: row.offsetSeconds,
      pauses: ahead.pauses.get(row.checkId) ?? [],
      ...(isApart ? { sharesVariables: true } : {}),
      job,
    });
  }
  return {
    epoch: Math.max(0, ...rows.map(({ epoch }) => epoch)),
    cursor: rows[read - 1]?.cursor ?? cursor,
    isFirst: cursor === null,
    hasMore: read < rows.length || rows.length >= protocolLimits.keptChecks,
    checks,
    dropped,
  };
}

/**
 * Builds jobs without what only a run has; null = none can be built, and the check is back in the queue. `isApart`: also
 * without the variables of the account.
 */
function createBuilder(deps: Deps, { location, isApart }: { location: AgentLocation; isApart: boolean }) {
  const { db, encryption, now, log, partitions } = deps;
  const complete = createPartsReader(db);
  const proxy = createProxyReader(deps, location);
  const scope = createScopeReader(deps, location);
  return async (row: HeldCheck, agentId: string): Promise<Record<string, unknown> | null> => {
    const claimed = {
      ...row,
      ...withoutRun(now()),
      runLocation: location.slugName,
      lane: laneOf[row.checkType as JobType],
    }; // keepable types are job types
    try {
      const whole = await complete(claimed);
      if (whole === null) return null;
      const account = await scope([claimed]);
      return buildJob(whole, {
        encryption,
        proxyUrl: await proxy(),
        account: isApart ? { ...account, variables: [] } : account,
        now: now(),
      });
    } catch (error) {
      if (!(error instanceof UnbuildableJobError) && !(error instanceof EncryptionError)) throw error;
      const { checkId } = row;
      log.warn({ checkId, error: error.message }, 'no job can be built of a check; it stays in the queue');
      const at = now();
      const { accountId, locationId, slugName: slug } = location;
      const refused = { accountId, checkId, agentId, location: { locationId, slug }, now: at, partitions };
      await partitions.withDays(() => db.tx((tx) => refuseCheck(tx, refused)));
      return null;
    }
  };
}

/** What only a run has. The agent writes it into each job that it makes. */
const withoutRun = (now: number) => ({
  jobId: '',
  runId: '',
  sequenceId: '',
  runSource: 'SCHEDULER',
  dueAt: new Date(now),
  notBefore: new Date(now),
  attempt: 1,
  firstAttemptAt: null,
  leaseToken: '',
  leaseExpiresAt: new Date(now),
  runtimeId: null,
  isDraft: false,
  sessionId: null,
  testSession: false,
  refreshCache: false,
});

/** Agent ids that may be compared with ids in the database. */
export const knownIds = (ids: readonly string[]): string[] => ids.filter((id) => uuidPattern.test(id));
