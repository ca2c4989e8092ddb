import { afterEach, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench } from './keeping-bench.ts';

/** The variables of the account, which agents get apart from the checks that they hold. */

const start = '2026-03-04T05:06:07.000Z';
/** Checks are due at 6 s past each minute. */
const first = Date.parse('2026-03-04T05:07:06.000Z');

describe.each(databases)('variables of held checks: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    const closers: AgentService[] = [];
    afterEach(async () => {
      for (const { app } of closers.splice(0)) await app.close();
    });
    const insert = (value: string, secret = false) =>
      current().db.query(
        `insert into account_variables (account_id, key, value, locked, secret) values ($1, 'A', $2, false, $3)`,
        [current().accountId, value, secret],
      );
    const update = (value: string) =>
      current().db.query('update account_variables set value = $2 where account_id = $1', [
        current().accountId,
        value,
      ]);

    it('a value that changes while it is read, and changes back, is sent again', async () => {
      const { db, accountId } = current();
      await insert('one');
      let looks = 0;
      const changing: Db = {
        ...db,
        query: (async (sql: string, params?: readonly unknown[]) => {
          const rows = await db.query(sql, params);
          // The service has compared what the agent has with what there is, and reads the variables next.
          if (sql.includes('hasChanges') && (looks += 1) === 1) await update('two');
          return rows;
        }) as Db['query'],
      };
      const service = await createAgentService(changing, clock, null, undefined, undefined, 0);
      closers.push(service);
      const other = await addLocation(db, { accountId, slug: 'other' });
      const agent = await connectAgent(service.app, other, { keeping: { continues: [] } });
      type Sent = { keeping: { variables?: { tag: string; list: { value: string }[] } } };
      const claim = async (tag: string | null) => {
        const { body } = await agent.call('jobs/claim', {
          agentId: agent.agentId,
          free: {},
          waitSeconds: 0,
          keeping: { cursor: null, reportedTo: null, minor: 8, variables: tag },
        });
        return (body as Sent).keeping.variables;
      };
      const sent = await claim(null);
      expect(sent?.list).toMatchObject([{ key: 'A', value: 'two' }]);
      await update('one');
      expect((await claim(sent?.tag ?? null))?.list).toMatchObject([{ key: 'A', value: 'one' }]);
    });

    it('one that cannot be decrypted brings the checks back to the queue, whose runs name it', async () => {
      const { db, service } = current();
      const id = await addCheck(db, {
        accountId: current().accountId,
        privateLocations: ['office'],
        now: clock.now(),
      });
      const agent = await current().connect();
      const renewed = async () => {
        await agent.renewHeld();
        await current().handOut();
        return agent.renewHeld();
      };
      await renewed();
      expect([...agent.held.keys()]).toEqual([id]);
      await insert('sealed:1:00000000:AAAA', true);
      await current().handOut();
      // It says that it shares no variables, so the agent asks for everything.
      expect(await agent.renewHeld()).not.toHaveProperty('sharesVariables');
      const { status, body } = await agent.call('jobs/claim', {
        agentId: agent.agentId,
        free: {},
        waitSeconds: 0,
        keeping: { cursor: null, reportedTo: null, minor: 8, variables: null },
      });
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { keeping: { checks: [], isFirst: true } },
      });
      clock.set(first + 500);
      await service.scheduler.tick();
      expect(await agent.claim()).toEqual([]);
      const results = await db.query<{ status: string; message: string }>(
        `select status, reason->>'message' as message from check_results where check_id = $1`,
        [id],
      );
      expect(results).toMatchObject([
        { status: 'errored', message: expect.stringContaining('variable A: ') },
      ]);
      // An agent holds the check again when the variable is right.
      await update('plain');
      await db.query('update account_variables set secret = false');
      await current().handOut();
      await renewed();
      expect([...agent.held.keys()]).toEqual([id]);
      expect(agent.variables()).toMatchObject([{ key: 'A', value: 'plain' }]);
    });
  });
});
