import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  type AgentService,
  type Clock,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';

/** What agents report about themselves, stored and shown. Agents that report nothing work as before. */

const condition = {
  guards: [{ name: 'disk', message: '42 MB are free', stopsJobs: false }],
  outbox: { results: 12, bytes: 34_567, oldestSeconds: 95 },
};

describe.each(databases)('the condition of agents ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let db: Db;
    let api: TestService;
    let service: AgentService;
    let clock: Clock;
    let office: { id: string; key: string };
    beforeAll(async () => {
      db = await database.open();
      clock = createClock('2026-03-04T05:06:07.000Z');
      api = await startTestService(db, { now: clock.now });
      service = await createAgentService(db, clock);
      office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
    });
    afterAll(async () => {
      await service.app.close();
      await api.close();
      await database.close();
    });
    const shown = async (agentId: string) => {
      const { body } = await api.call<{ agents: { id: string; condition: unknown }[] }>(
        'GET',
        `/v1/private-locations/${office.id}/agents`,
      );
      return body.agents.find(({ id }) => id === agentId)?.condition;
    };

    test('an agent of an earlier version reports nothing, and gets its jobs', async () => {
      const agent = await connectAgent(service.app, office);
      await addCheck(db, { accountId: api.account.id, privateLocations: ['office'], now: clock.now() });
      clock.advance(60_000);
      await service.scheduler.tick();
      const jobs = await agent.claim();
      expect(jobs).toHaveLength(1);
      expect((await agent.renew(jobs)).renewed).toHaveLength(1);
      expect(await shown(agent.agentId)).toBeNull();
    });

    test('a claim and a renewal bring the condition, which stays until the next one', async () => {
      const agent = await connectAgent(service.app, office);
      const { agentId } = agent;
      const claim = { agentId, free: {}, waitSeconds: 0 };
      expect(await agent.call('jobs/claim', { ...claim, condition })).toEqual({ status: 204, body: null });
      expect(await shown(agentId)).toEqual({ ...condition, reportedAt: '2026-03-04T05:07:07.000Z' });
      clock.advance(5000);
      await agent.call('jobs/claim', claim);
      expect(await shown(agentId)).toEqual({ ...condition, reportedAt: '2026-03-04T05:07:07.000Z' });
      const better = { ...condition, guards: [] };
      const renewal = { agentId, leases: [], condition: { ...better, newer: 'field' } };
      expect((await agent.call('jobs/renew', renewal)).status).toBe(200);
      expect(await shown(agentId)).toEqual({ ...better, reportedAt: '2026-03-04T05:07:12.000Z' });
    });

    test('a malformed condition costs neither jobs nor leases', async () => {
      const agent = await connectAgent(service.app, office);
      const { agentId } = agent;
      for (const malformed of [
        null,
        7,
        [],
        {},
        { ...condition, guards: [{ name: 'x' }] },
        { ...condition, guards: [{ name: 'x', message: 'y'.repeat(502), stopsJobs: false }] },
        { ...condition, outbox: { results: -1, bytes: 0, oldestSeconds: 0 } },
      ]) {
        const body = { agentId, free: {}, waitSeconds: 0, condition: malformed };
        expect((await agent.call('jobs/claim', body)).status).toBe(204);
        const renewal = { agentId, leases: [], condition: malformed };
        expect((await agent.call('jobs/renew', renewal)).status).toBe(200);
      }
      expect(await shown(agentId)).toBeNull();
    });

    test('texts that a database refuses are stored all the same', async () => {
      const agent = await connectAgent(service.app, office);
      const guards = [{ name: 'disk', message: 'a\u0000b\ud800', stopsJobs: true }];
      const body = { agentId: agent.agentId, free: {}, waitSeconds: 0, condition: { ...condition, guards } };
      expect((await agent.call('jobs/claim', body)).status).toBe(204);
      expect(await shown(agent.agentId)).toMatchObject({ guards: [{ name: 'disk', stopsJobs: true }] });
    });
  });
});
