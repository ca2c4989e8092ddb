import { protocolLimits } from '../../protocol/agent-calls.ts';
import { dayMs, hourMs } from '../../durations.ts';
import type { Log } from '../../log.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { createLoop, type Loop } from '../engine/loop.ts';
import { refreshBehind } from '../results/catch-up.ts';
import { findAway } from '../scheduling/service-beat.ts';
import { applyDiff } from './apply-diff.ts';
import { withOwnPlaces } from './hand-out.ts';
import { diffOf } from './diff.ts';
import { deleteDropped } from './former-holdings.ts';
import { settleFormerSchedules } from './former-schedules.ts';
import { markStalePauses } from './pauses.ts';
import {
  accountsToHandOut,
  endKeeping,
  forgetRefusals,
  holdings,
  keepableChecks,
  keepingAgents,
  keepingChannel,
  keptChannel,
  lockKeptAccount,
  saveKeptAccount,
  takeChanges,
  type KeepingAgent,
} from './statements.ts';
import { touchChecks } from './touch-checks.ts';
import { lockOwedBefore, recordOwedBefore, requeueForgottenJobs, requeueKeptJobs } from './take-back.ts';

/**
 * Hands the checks of each location out to its agents, and takes those of dead agents back. Any number of replicas may
 * run it: one at a time works on an account.
 */

const everyMs = 1_000;
const accountsAtOnce = 100;
/**
 * Checks that one transaction moves. Each step reads all checks of the account, so steps should be few. But a step must not
 * block the embedded database for long.
 */
export const stepChecks: { readonly [kind in Db['kind']]: number } = { embedded: 500, server: 5_000 };
/** Everything is compared again after this time, should a change have gone unnoticed. */
const fullEveryMs = 10 * 60_000;
/**
 * After an agent has come or gone. Changes are noted only while an account has agents that hold checks, so those of a
 * transaction that had begun before the first one came were not. Others may follow it at once.
 */
const againMs = 5_000;
/** Results of former holders are accepted for this long. */
const formerMs = 50 * hourMs;

export type KeeperDeps = {
  db: Db;
  now: () => number;
  log: Log;
  partitions: Partitions;
};

/** Creates the loop. `wake` makes it look at once. */
export function createKeeper(deps: KeeperDeps): Loop {
  const { db, now, log, partitions } = deps;
  let wake: (() => void) | null = null;
  let isWoken = false;
  let stopListening: (() => Promise<void>) | null = null;
  let isStopping = false;
  let availableSince: number | null = null;
  let cleanedAt = -Infinity;
  let isUnsettled = false;

  async function handOutAll(): Promise<void> {
    let found;
    try {
      found = await findAway(db, now);
    } catch (error) {
      availableSince = null;
      throw error;
    }
    const { at, away } = found;
    // As with leases of jobs: agents that could not renew for a while get the time to do it.
    availableSince = Math.min(availableSince ?? Infinity, at);
    const since = Math.max(availableSince, away === null || away.to > at ? -Infinity : away.to);
    const mayEnd = at - since >= protocolLimits.leaseSeconds * 1000;
    let isHandedOut = false;
    for (;;) {
      const accounts = await accountsToHandOut(db, {
        now: new Date(at),
        since: new Date(at - fullEveryMs),
        limit: accountsAtOnce,
      });
      isHandedOut ||= accounts.length > 0;
      let more = false;
      for (const accountId of accounts) more = (await handOut(deps, { accountId, at, mayEnd })) || more;
      if (!more) break;
    }
    const mustClean = at - cleanedAt >= hourMs;
    if (mustClean) {
      cleanedAt = at;
      await deleteDropped(db, new Date(at - formerMs));
      await markStalePauses(db, at);
      await requeueForgottenJobs(db, { now: at, since });
      await refreshBehind(db, new Date(at - dayMs));
    }
    // One batch each time: others wait for their checks.
    if (isHandedOut || mustClean || isUnsettled)
      isUnsettled = await settleFormerSchedules({ db, now: at, partitions }, at - formerMs);
  }

  const waitForChange = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (isWoken || isStopping) wake();
    });

  const loop = createLoop({
    name: 'keeper',
    log,
    work: async () => {
      stopListening ??= await db.listen(keepingChannel, () => {
        isWoken = true;
        wake?.();
      });
      isWoken = false;
      await handOutAll();
      await waitForChange();
      return 0;
    },
  });
  return {
    start: loop.start,
    stop: async () => {
      isStopping = true;
      wake?.();
      await loop.stop();
      await stopListening?.();
    },
    tick: handOutAll,
  };
}

/**
 * One step for one account. `mayEnd`: agents whose lease has run out are dead. Returns whether another step is needed now.
 */
async function handOut(
  { db, log, partitions }: KeeperDeps,
  { accountId, at, mayEnd }: { accountId: string; at: number; mayEnd: boolean },
): Promise<boolean> {
  return partitions.withDays(() =>
    db.tx(async (tx) => {
      const account = await lockKeptAccount(tx, accountId);
      if (account === undefined) return false;
      const agents = await keepingAgents(tx, accountId);
      const isOver = ({ keepsUntil, hasLeft }: KeepingAgent) =>
        hasLeft || (mayEnd && keepsUntil.getTime() <= at);
      const members = withOwnPlaces(agents.filter((agent) => !isOver(agent)));
      const lost = agents.filter(isOver);
      const changes = await takeChanges(tx, accountId);
      const memberIds = members.map(({ id }) => id);
      const isNew = memberIds.join() !== account.members.join();
      const isFull =
        lost.length > 0 ||
        account.handedOutAt === null ||
        at - account.handedOutAt.getTime() >= fullEveryMs ||
        isNew;
      const { checkIds: changed, everything, variables, certificates, locations } = changes;
      const isCommon = everything || variables || certificates || locations.length > 0;
      if (!isFull && changed.length === 0 && !isCommon) return false;

      await lockOwedBefore(tx, lost);
      const refused = await forgetRefusals(tx, { accountId, ids: isCommon ? null : changed });
      // A location may have another slug, or agents that may hold none of its checks any more.
      const isComplete = isFull || everything || locations.length > 0;
      const ids = isComplete ? null : [...new Set([...changed, ...refused])];
      const held = await holdings(tx, { accountId, ids });
      const keepable = await keepableChecks(tx, { accountId, ids });
      const diff = diffOf({ held, keepable, members, changed, limit: stepChecks[db.kind] });
      const rev = account.rev + 1;
      const epoch = account.epoch + (isNew && diff.isComplete ? 1 : 0);
      const informed = await applyDiff(tx, { accountId, rev, epoch, diff, agents, at, partitions });
      await touchChecks(tx, { accountId, rev, changes });
      if (diff.isComplete) {
        for (const agent of lost) await recordOwedBefore(tx, { accountId, agent, now: at, partitions });
        const lostIds = lost.map(({ id }) => id);
        await requeueKeptJobs(tx, { agentIds: lostIds, now: new Date(at) });
        await endKeeping(tx, lostIds);
        if (lost.length > 0) log.warn({ agents: lostIds }, 'agents are gone; others get their checks');
      }
      const passedMs = isNew ? fullEveryMs - againMs : 0;
      await saveKeptAccount(tx, {
        accountId,
        rev,
        epoch,
        members: diff.isComplete ? memberIds : account.members,
        // What could not be done in this step is found again by the comparison of everything.
        handedOutAt: !diff.isComplete ? null : isFull ? new Date(at - passedMs) : account.handedOutAt,
      });
      // Those that have joined wait for the end of their list.
      const joined = diff.isComplete ? memberIds.filter((id) => !account.members.includes(id)) : [];
      const told = new Set(isCommon ? memberIds : [...informed, ...joined]);
      for (const id of told) await tx.notify(keptChannel, id);
      return !diff.isComplete;
    }),
  );
}
