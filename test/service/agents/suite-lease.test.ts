import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  encryption,
  resultOf,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { databases, emptyTables } from '../../helpers/service/database.ts';
import { startTestService, type Fields, type TestService } from '../../helpers/service/service.ts';

/**
 * A suite that lasts for many leases, as the service sees it: it stays its agent's, other lanes have their work all the while, and
 * what it says is seen in its session. (What the agent does for it: test/agent/suite-jobs.test.ts.)
 */

describe.each(databases)('a long suite: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock('2026-03-04T05:06:07.000Z');
    const abilities = { checkTypes: ['URL', 'PLAYWRIGHT'] };
    let db: Db;
    let folder: string;
    let agents: AgentService;
    let api: TestService;
    let office: { id: string; slug: string; key: string };

    beforeAll(async () => {
      db = await database.open();
      folder = mkdtempSync(join(tmpdir(), 'suite-lease-'));
      const bundles = createArtifactFiles(folder, { reserveBytes: 0 });
      agents = await createAgentService(db, clock, null, bundles);
      api = await startTestService(db, { now: clock.now, bundles, encryption });
    });
    beforeEach(async () => {
      await emptyTables(db, 'check_results, finished_jobs, playwright_bundles, checks, locations');
      office = await addLocation(db, { accountId: api.account.id, slug: 'office' });
    });
    afterAll(async () => {
      await agents.app.close();
      await api.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const post = async <T>(path: string, body: Fields): Promise<T> => {
      const answer = await api.call<T>('POST', path, { body });
      expect([path, answer.status], JSON.stringify(answer.body)).toEqual([path, 201]);
      return answer.body;
    };

    it('keeps its lease for 5 minutes by renewals, while uptime checks run and its lines are seen', async () => {
      const { body: bundle } = await api.call<{ key: string }>('POST', '/v1/playwright-bundles', {
        body: gzipSync('a project'),
        headers: { 'content-type': 'application/octet-stream' },
      });
      const { id } = await post<{ id: string }>('/v1/checks/playwright', {
        name: 'Shop',
        codeBundlePath: bundle.key,
        privateLocations: ['office'],
        frequency: 1440,
      });
      await addCheck(db, { accountId: api.account.id, privateLocations: ['office'], now: clock.now() });
      const [agent, other] = [
        await connectAgent(agents.app, office, abilities),
        await connectAgent(agents.app, office, abilities),
      ];
      const { sessions } = await post<{ sessions: { checkSessionId: string }[] }>(
        '/v1/check-sessions/trigger',
        { target: { checkId: [id] } },
      );
      const session = async () =>
        (
          await api.call<{ status: string; inProgress: { stage: string | null; log: string[] }[] }>(
            'GET',
            `/v2/check-sessions/${sessions[0]?.checkSessionId}`,
          )
        ).body;
      const [job, ...more] = await agent.claim(10, { lane: 'suite' });
      expect(more).toEqual([]);
      if (job === undefined) throw new Error('no job');

      let probes = 0;
      // 20 s apart: a lease lasts 30.
      for (let step = 1; step <= 15; step += 1) {
        clock.advance(20_000);
        const lease = { jobId: job.jobId, leaseToken: job.leaseToken, stage: 'test', log: [`step ${step}`] };
        const { body } = await agent.call('jobs/renew', { agentId: agent.agentId, leases: [lease] });
        expect(body, `step ${step}`).toMatchObject({ renewed: [job.jobId], lost: [], cancel: [] });
        await agents.scheduler.tick();
        expect(await other.claim(10, { lane: 'suite' })).toEqual([]);
        const due = await other.claim(10);
        probes += due.length;
        if (due.length > 0) await other.report(...due.map((each) => resultOf(each, clock.now())));
        if (step % 5 !== 0) continue;
        const { status, inProgress } = await session();
        expect(inProgress[0]?.stage).toBe('test');
        expect(inProgress[0]?.log.at(-1)).toContain(`step ${step}`);
        expect(status).not.toBe('PASSED');
      }
      // One a minute.
      expect(probes).toBeGreaterThanOrEqual(4);
      const outcome = await agent.report(resultOf(job, clock.now(), { details: { totals: { tests: 1 } } }));
      expect(outcome, JSON.stringify(outcome)).toMatchObject([{ outcome: 'stored' }]);
      expect((await session()).status).toBe('PASSED');
    });
  });
});
