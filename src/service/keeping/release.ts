import { toError } from '../../errors.ts';
import type { Db } from '../db/database.ts';
import { catchUpStatuses, checksBehind } from '../results/catch-up.ts';
import { stepChecks, type KeeperDeps } from './keeper.ts';
import {
  claimKeptAccount,
  dropChecks,
  holdings,
  keepingAgents,
  lockKeptAccount,
  saveKeptAccount,
} from './statements.ts';
import { factsOf } from './check-facts.ts';
import { formerScheduleOf, keepFormerSchedules, settleFormerSchedules } from './former-schedules.ts';
import { isEdited } from './handed-out-schedule.ts';
import { giveBack, owedBy, requeueKeptJobs } from './take-back.ts';

/** Gives every check back to the scheduler, when the service no longer lets agents hold any. */
export async function releaseEverything(deps: KeeperDeps): Promise<void> {
  const { db, log } = deps;
  const rows = await db.query<{ accountId: string }>(
    'select distinct account_id as "accountId" from kept_checks where dropped_at is null',
  );
  for (const { accountId } of rows) while (await releaseSome(deps, accountId));
  while (await settleFormerSchedules({ ...deps, now: deps.now() }, null));
  // An earlier release does not know of statuses that are behind.
  for (let behind = await checksBehind(db, stepChecks[db.kind]); behind.length > 0;) {
    const checkIds = behind;
    await db.tx((tx) => catchUpStatuses(tx, { checkIds, exceptIds: [] }));
    behind = await checksBehind(db, stepChecks[db.kind]);
  }
  const accounts = await db.query<{ accountId: string }>(
    'select account_id as "accountId" from kept_accounts',
  );
  for (const { accountId } of accounts) {
    await db
      .tx((tx) => forget(tx, accountId))
      .catch((error: unknown) => {
        log.warn(
          { accountId, error: toError(error).message },
          'assignments are off; an account could not be forgotten',
        );
      });
  }
}

/** Returns whether the account may have more. */
async function releaseSome({ db, now, partitions }: KeeperDeps, accountId: string): Promise<boolean> {
  const at = now();
  return partitions.withDays(() =>
    db.tx(async (tx) => {
      // Another replica may still let agents hold checks, and hand them out at this moment.
      const account = await claimKeptAccount(tx, accountId);
      if (account === undefined) return false;
      const agents = new Map((await keepingAgents(tx, accountId)).map((agent) => [agent.id, agent]));
      const held = (await holdings(tx, { accountId, ids: null })).slice(0, stepChecks[db.kind]);
      const facts = await factsOf(
        tx,
        held.map(({ checkId }) => checkId),
      );
      const rev = account.rev + 1;
      await dropChecks(tx, { rev, now: new Date(at), checkIds: held.map(({ checkId }) => checkId) });
      await keepFormerSchedules(tx, {
        accountId,
        rows: held.flatMap((holding) => {
          const check = facts.get(holding.checkId);
          const moment = check?.nextDueAt ?? null;
          if (check === undefined || !isEdited(holding, moment)) return [];
          return [formerScheduleOf(holding, agents.get(holding.agentId), { check, moment, at })];
        }),
      });
      await giveBack(tx, {
        accountId,
        now: at,
        partitions,
        checks: held.flatMap((holding) => {
          const check = facts.get(holding.checkId);
          const agent = agents.get(holding.agentId);
          if (check === undefined) return [];
          const owed = isEdited(holding, check.nextDueAt) ? null : owedBy(holding, agent, check);
          return [{ check, locationId: holding.locationId, slug: agent?.slug ?? '', owed }];
        }),
      });
      await requeueKeptJobs(tx, { agentIds: [...agents.keys()], now: new Date(at) });
      await saveKeptAccount(tx, { ...account, accountId, rev });
      return held.length === stepChecks[db.kind];
    }),
  );
}

/** Without its row, no replica hands its checks out, so it keeps the row while something is held. */
async function forget(tx: Db, accountId: string): Promise<void> {
  // What is held is read after the lock, by a statement of its own: the other replica may just have handed something out.
  if ((await lockKeptAccount(tx, accountId)) === undefined) return;
  await tx.query(
    `delete from kept_accounts where account_id = $1
       and not exists (select 1 from kept_checks where account_id = $1 and dropped_at is null)`,
    [accountId],
  );
}
