import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addAccount,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  type AgentService,
  type TestAgent,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** Agents that one replica has greeted, and that another lets hold checks. */

describe.each(databases)('agents greeted by another replica: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock('2026-03-04T05:06:07.000Z');
    let db: Db;
    let off: AgentService;
    let on: AgentService;
    let office: { key: string };
    beforeAll(async () => {
      db = await database.open();
    });
    beforeEach(async () => {
      await emptyAccounts(db);
      off = await createAgentService(db, clock);
      on = await createAgentService(db, clock, null, undefined, undefined, 0);
      office = await addLocation(db, { accountId: await addAccount(db), slug: 'office' });
    });
    afterEach(async () => {
      await off.app.close();
      await on.app.close();
    });
    afterAll(() => database.close());

    /** The same agent at the replica that lets agents hold checks. */
    const call = async (path: string, agent: TestAgent, body: object) => {
      const answer = await on.app.inject({
        method: 'POST',
        url: `/agent/v1/${path}`,
        headers: { authorization: `Bearer ${office.key}`, 'content-type': 'application/json' },
        payload: JSON.stringify({ agentId: agent.agentId, ...body }),
      });
      return { status: answer.statusCode, body: answer.payload === '' ? null : (answer.json() as unknown) };
    };
    const claim = (agent: TestAgent, keeping?: object) =>
      call('jobs/claim', agent, { free: {}, waitSeconds: 0, ...(keeping === undefined ? {} : { keeping }) });
    const keeping = { cursor: null, reportedTo: null };

    it('one that a replica has greeted which lets agents hold none gets checks from another', async () => {
      const agent = await connectAgent(off.app, office, { keeping: { continues: [] } });
      expect(await claim(agent, keeping)).toMatchObject({
        status: 200,
        body: { keeping: { isFirst: true } },
      });
    });

    it('one that an earlier release has greeted is asked for a new hello, once', async () => {
      const agent = await connectAgent(off.app, office, { keeping: { continues: [] } });
      // What such a replica has stored, as one that let agents hold none.
      await db.query('update agents set keeps = false, can_keep = null');
      expect(await claim(agent)).toMatchObject({ status: 409 });
      expect(await call('hello', agent, agent.hello)).toMatchObject({
        status: 200,
        body: { keepsChecks: true },
      });
      expect(await claim(agent)).toMatchObject({ status: 204 });
      expect(await claim(agent, keeping)).toMatchObject({ status: 200 });
      // Later that release greets it again.
      await db.query('update agents set keeps = false');
      expect(await claim(agent)).toMatchObject({ status: 409 });
    });

    it('one that cannot hold checks is greeted once', async () => {
      const agent = await connectAgent(off.app, office);
      expect(await claim(agent)).toMatchObject({ status: 204 });
      expect(await claim(agent, keeping)).toMatchObject({ status: 409 });
    });
  });
});
