import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hourMs } from '../../../src/durations.ts';
import { recommend } from '../../../src/service/locations/recommend.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { addCheck, addLocation } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The agents of a private location, its queues, and what it needs. */

const now = Date.parse('2026-03-05T12:34:56.000Z');

describe('the recommendation', () => {
  const load = { queue: 'uptime' as const, queued: 95, oldestSeconds: 95, slots: 8, taken: 150 };
  const rate = { agents: 2, takenSeconds: 300 };

  test('is what the measured rates need', () => {
    // One job arrives a second, and 8 slots take half of one: as many slots again.
    expect(recommend([load], rate)).toEqual({
      moreSlots: 8,
      moreAgents: 2,
      message: '2 more agents or 8 more slots: the oldest job waits 95 s',
    });
    expect(recommend([{ ...load, queued: 3, taken: 0 }], rate)).toMatchObject({
      moreSlots: 3,
      moreAgents: 1,
    });
  });

  test('is nothing while no job waits long, and an agent where there is none', () => {
    expect(recommend([{ ...load, oldestSeconds: 5 }], rate)).toBeNull();
    expect(recommend([{ ...load, queued: 0 }], rate)).toBeNull();
    expect(recommend([load], { ...rate, agents: 0 })?.message).toBe(
      'Start an agent, because none is connected: the oldest job waits 95 s',
    );
    expect(recommend([{ ...load, queue: 'main', slots: 0 }], rate)?.message).toBe(
      'No agent has a slot for browser or suite jobs: the oldest job waits 95 s',
    );
  });
});

describe.each(databases)('agents of a location ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService(await database.open(), { now: () => now });
    });
    afterAll(async () => {
      await service.close();
      await database.close();
    });

    test('shows agents with their jobs, queues, missed runs and the recommendation', async () => {
      const { db, account, call } = service;
      const accountId = account.id;
      const office = await addLocation(db, { accountId, slug: 'office' });
      const checkId = await addCheck(db, { accountId, privateLocations: ['office'], now });
      const addAgent = async (hostname: string, seen: number) => {
        const id = uuidv7();
        const host = JSON.stringify({ hostname, platform: 'linux', arch: 'x64', cores: 4, memoryBytes: 8e9 });
        await db.query(
          `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, created_at, last_seen_at)
           values ($1, $2, $3, '1.2.3', $4::jsonb, '{URL}', '{}', '{"uptime": 4}', $5, $6)`,
          [id, office.id, hostname, host, new Date(now - hourMs), new Date(seen)],
        );
        return id;
      };
      const here = await addAgent('here', now);
      await addAgent('gone', now - hourMs);
      const addJob = (state: string, agentId: string | null, at: number) =>
        db.query(
          `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, due_at,
             not_before, expires_at, claim_window_seconds, state, agent_id)
           values ($1, $2, $3, $1, $1, $4, 'office', 'URL', 'uptime', $5, $5, $6, 600, $7, $8)`,
          [uuidv7(), accountId, checkId, office.id, new Date(at), new Date(now + hourMs), state, agentId],
        );
      await addJob('leased', here, now - 1000);
      await addJob('queued', null, now - 95_000);
      await addJob('queued', null, now - 10_000);
      const missed = { status: 'missed' as const, runLocation: 'office', details: { count: 3 } };
      await storeRuns(db, { accountId, checkId }, [
        { at: now - hourMs, ...missed },
        { at: now - 30 * hourMs, ...missed },
        { at: now - hourMs, ...missed, runLocation: 'elsewhere' },
      ]);
      const path = `/v1/private-locations/${office.id}/agents`;
      const { status, body } = await call('GET', path);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        agents: [
          {
            id: here,
            hostname: 'here',
            platform: 'linux x64',
            version: '1.2.3',
            connected: true,
            slots: { uptime: 4 },
            running: 1,
          },
          { hostname: 'gone', connected: false, running: 0 },
        ],
        queues: [
          { lane: 'uptime', slots: 4, running: 1, queued: 2, oldestSeconds: 95 },
          { lane: 'browser', slots: 0, running: 0, queued: 0, oldestSeconds: 0 },
          { lane: 'suite' },
        ],
        missedRuns: 3,
        recommendation: {
          moreSlots: 2,
          moreAgents: 1,
          message: '1 more agent or 2 more slots: the oldest job waits 95 s',
        },
      });
      expect((await call('GET', path, { key: service.foreign.key })).status).toBe(404);
    });
  });
});
