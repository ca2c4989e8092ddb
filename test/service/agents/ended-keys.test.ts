import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { deleteLocationKey } from '../../../src/service/locations/statements.ts';
import {
  addAccount,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** Keys of locations that are deleted while agents use them. */

describe.each(databases)('a deleted key of a location: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let db: Db;
    beforeAll(async () => {
      db = await database.open();
    });
    afterAll(() => database.close());

    it('is refused at once by every replica, and other keys are not', async () => {
      // It stands still, so nothing that a replica remembers expires.
      const clock = createClock('2026-03-04T05:06:07.000Z');
      const one = await createAgentService(db, clock);
      const two = await createAgentService(db, clock);
      try {
        const accountId = await addAccount(db);
        const office = await addLocation(db, { accountId, slug: 'office' });
        const other = await addLocation(db, { accountId, slug: 'other' });
        const agents = await Promise.all([one, two].map(({ app }) => connectAgent(app, office)));
        const stranger = await connectAgent(one.app, other);
        const statusOf = async (agent: (typeof agents)[number]) =>
          (await agent.call('jobs/renew', { agentId: agent.agentId, leases: [] })).status;
        expect(await Promise.all([...agents, stranger].map(statusOf))).toEqual([200, 200, 200]);
        const [key] = await db.query<{ id: string }>('select id from location_keys where location_id = $1', [
          office.id,
        ]);
        expect(await deleteLocationKey(db, { locationId: office.id, keyId: key?.id ?? '' })).toBe(true);
        await expect.poll(() => Promise.all(agents.map(statusOf))).toEqual([401, 401]);
        expect(await statusOf(stranger)).toBe(200);
      } finally {
        await one.app.close();
        await two.app.close();
      }
    });
  });
});
