import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { keepingFrom } from '../../../src/service/keeping/begin.ts';
import {
  addAccount,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** Agents hold checks by default, but not while replicas of an earlier release may run beside this one. */

describe.each(databases)('the beginning of assignments: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let db: Db;
    let appliedAt: Date;
    const wasAppliedAt = (at: Date) =>
      db.query('update schema_migrations set applied_at = $1 where version = 54', [at]);
    beforeAll(async () => {
      db = await database.open();
      const [row] = await db.query<{ at: Date }>(
        'select applied_at as at from schema_migrations where version = 54',
      );
      if (row === undefined) throw new Error('the migration is missing');
      appliedAt = row.at;
    });
    afterEach(() => wasAppliedAt(appliedAt));
    afterAll(() => database.close());

    it('is at once with a new database', async () => {
      expect(await keepingFrom(db, null)).toBe(0);
    });

    it('is an hour after an upgrade, unless there is only one service', async () => {
      const upgraded = new Date(appliedAt.getTime() + 30 * 86_400_000);
      await wasAppliedAt(upgraded);
      const expected = db.kind === 'embedded' ? 0 : upgraded.getTime() + 3_600_000;
      expect(await keepingFrom(db, null)).toBe(expected);
    });

    it('is as configured', async () => {
      await wasAppliedAt(new Date(appliedAt.getTime() + 30 * 86_400_000));
      expect(await keepingFrom(db, true)).toBe(0);
      expect(await keepingFrom(db, false)).toBeNull();
    });

    it('lets agents hold no checks before, and asks them to come back', async () => {
      await emptyAccounts(db);
      const clock = createClock('2026-03-04T05:06:07.000Z');
      const from = clock.now() + 60_000;
      const service = await createAgentService(db, clock, null, undefined, undefined, from);
      try {
        const office = await addLocation(db, { accountId: await addAccount(db), slug: 'office' });
        const agent = await connectAgent(service.app, office, { keeping: { continues: [] } });
        const claim = () =>
          agent.call('jobs/claim', {
            agentId: agent.agentId,
            free: {},
            waitSeconds: 0,
            keeping: { cursor: null, reportedTo: null },
          });
        expect((await claim()).body).toMatchObject({ keeping: { isOff: true, checks: [] } });
        clock.advance(60_000);
        const { body } = await claim();
        expect(body).toMatchObject({ keeping: { isFirst: true, checks: [] } });
        expect(body).not.toHaveProperty('keeping.isOff');
      } finally {
        await service.app.close();
      }
    });
  });
});
