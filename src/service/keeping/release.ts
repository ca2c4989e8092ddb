import { toError } from '../../errors.ts';
import { catchUpStatuses, checksBehind } from '../results/catch-up.ts';
import { stepChecks, type KeeperDeps } from './keeper.ts';
import { dropChecks, holdings, keepingAgents, lockKeptAccount, saveKeptAccount } from './statements.ts';
import { factsOf } from './check-facts.ts';
import { giveBack, owedBy, requeueKeptJobs } from './take-back.ts';

/** Gives every check back to the scheduler, when the service no longer lets agents hold any. */
export async function releaseEverything(deps: KeeperDeps): Promise<void> {
  const { db, now, log, partitions } = deps;
  for (;;) {
    const [row] = await db.query<{ accountId: string }>(
      'select account_id as "accountId" from kept_checks where dropped_at is null limit 1',
    );
    if (row === undefined) break;
    const { accountId } = row;
    const at = now();
    await partitions.withDays(() =>
      db.tx(async (tx) => {
        const account = await lockKeptAccount(tx, accountId);
        if (account === undefined) return;
        const agents = new Map((await keepingAgents(tx, accountId)).map((agent) => [agent.id, agent]));
        const held = (await holdings(tx, { accountId, ids: null })).slice(0, stepChecks[db.kind]);
        const facts = await factsOf(
          tx,
          held.map(({ checkId }) => checkId),
        );
        const rev = account.rev + 1;
        await dropChecks(tx, { rev, now: new Date(at), checkIds: held.map(({ checkId }) => checkId) });
        await giveBack(tx, {
          accountId,
          now: at,
          partitions,
          checks: held.flatMap((holding) => {
            const check = facts.get(holding.checkId);
            const agent = agents.get(holding.agentId);
            if (check === undefined) return [];
            const owed = owedBy(holding, agent, check);
            return [{ check, locationId: holding.locationId, slug: agent?.slug ?? '', owed }];
          }),
        });
        await requeueKeptJobs(tx, { agentIds: [...agents.keys()], now: new Date(at) });
        await saveKeptAccount(tx, { ...account, accountId, rev });
      }),
    );
  }
  // An earlier release does not know of statuses that are behind.
  for (let behind = await checksBehind(db, stepChecks[db.kind]); behind.length > 0;) {
    const checkIds = behind;
    await db.tx((tx) => catchUpStatuses(tx, { checkIds, exceptIds: [] }));
    behind = await checksBehind(db, stepChecks[db.kind]);
  }
  await db.query('delete from kept_accounts').catch((error: unknown) => {
    log.warn({ error: toError(error).message }, 'assignments are off; their accounts could not be forgotten');
  });
}
