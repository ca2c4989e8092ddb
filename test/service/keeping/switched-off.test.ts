import { describe, expect, it } from 'vitest';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench } from './keeping-bench.ts';

/** Services that let agents hold no checks, next to others that do, and services that are switched from one to the other. */

const start = '2026-03-04T05:06:07.000Z';
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('services that let agents hold no checks: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    const add = () =>
      addCheck(current().db, {
        accountId: current().accountId,
        privateLocations: ['office'],
        now: clock.now(),
      });
    const connected = (continues?: string[]) => current().connectHolder(continues);
    const due = async () =>
      (await current().db.query<{ due: Date | null }>('select next_due_at as due from checks')).map(
        (row) => row.due,
      );

    it('give checks back whose account another replica has forgotten', async () => {
      await add();
      await connected();
      await current().db.query('delete from kept_accounts');
      await current().release();
      expect(await due()).toEqual([new Date(first)]);
      expect(await current().db.query('select 1 from kept_accounts')).toEqual([]);
    });

    it.skipIf(database.name === 'embedded')(
      'forget no account of which another replica hands checks out meanwhile',
      async () => {
        const id = await add();
        const agent = await current().connect();
        await agent.renewHeld();
        const { db, accountId, office } = current();
        await db.tx(async (tx) => {
          await tx.query('select 1 from kept_accounts where account_id = $1 for update', [accountId]);
          // It finds nothing that is held, and leaves the account to the replica that has it.
          await current().release();
          await tx.query(
            `insert into kept_checks (check_id, agent_id, account_id, location_id, owed_from, rev, epoch)
             values ($1, $2, $3, $4, $5, 1, 0)`,
            [id, agent.agentId, accountId, office.id, new Date(first)],
          );
        });
        expect(await db.query('select 1 from kept_accounts')).toHaveLength(1);
        // The next time, it gives the check back.
        await current().release();
        expect(await db.query('select 1 from kept_accounts')).toEqual([]);
      },
    );

    it('are switched on again: agents that are alive get their checks', async () => {
      const id = await add();
      const agent = await connected();
      await current().release();
      // Its lease has not run out.
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      expect([...agent.held.keys()]).toEqual([id]);
    });

    it('are switched on again: agents that continue an earlier one get its checks', async () => {
      const id = await add();
      const agent = await connected();
      await current().release();
      const next = await connected([agent.agentId]);
      expect([...next.held.keys()]).toEqual([id]);
    });
  });
});
