import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { Secret } from '../../../src/secrets/secret.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  resultOf,
  type AgentService,
  type Clock,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { startCuttingProxy, type CuttingProxy } from '../../helpers/service/cutting-proxy.ts';
import { databases } from '../../helpers/service/database.ts';

/** The connection to PostgreSQL breaks at each statement of each operation: before it, and after it without an answer. */

const start = '2026-03-04T05:06:07.000Z';
const server = databases.find(({ name }) => name === 'server');
const unavailable = server?.unavailable ?? null;

describe.skipIf(unavailable !== null)(unavailable ?? 'a connection that breaks', { timeout: 60_000 }, () => {
  /** Not through the proxy. */
  let direct: Db;
  let db: Db;
  let proxy: CuttingProxy;
  let clock: Clock;
  let service: AgentService;
  let agent: TestAgent;
  let checkId = '';

  beforeAll(async () => {
    if (server === undefined) throw new Error('no server');
    direct = await server.open();
    const [row] = await direct.query<{ name: string }>('select current_database() as name');
    const url = new URL(`${inject('postgres')}${row?.name}`);
    proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(proxy.port);
    db = await openDatabase({ databaseUrl: new Secret(url.href), dataDir: '' });
  });
  afterAll(async () => {
    await db.close();
    await proxy.close();
    await server?.close();
  });
  beforeEach(async () => {
    proxy.disarm();
    await emptyAccounts(direct);
    clock = createClock(start);
    service = await createAgentService(db, clock);
    const accountId = await addAccount(direct);
    const office = await addLocation(direct, { accountId, slug: 'office' });
    agent = await connectAgent(service.app, office);
    checkId = await addCheck(direct, { accountId, privateLocations: ['office'], now: clock.now() });
    await due();
    await direct.exec('drop table if exists queued; create table queued as select * from jobs');
  });
  afterEach(() => service.app.close());

  const due = async () => {
    clock.advance(60_000);
    await agent.claim(0);
    await service.scheduler.tick();
  };
  /** Queues one run, like the scheduler's. */
  const queueJob = () =>
    direct.exec(
      `delete from jobs; update queued set id = gen_random_uuid(), run_id = gen_random_uuid();
       insert into jobs select * from queued`,
    );
  const oneJob = async (): Promise<TestJob> => {
    await queueJob();
    const [job] = await agent.claim(1);
    if (job === undefined) throw new Error('no job');
    return job;
  };
  /** Runs `work` once for each statement in it, which breaks there, until it has no further statement. */
  async function breakEach(
    when: 'before' | 'after',
    prepare: () => Promise<() => Promise<void>>,
    then: (statement: number) => Promise<void>,
  ): Promise<number> {
    for (let statement = 1; statement < 60; statement++) {
      const work = await prepare();
      proxy.cutAt(statement, when);
      await work();
      const { hasCut } = proxy.disarm();
      await then(statement);
      if (!hasCut) return statement - 1;
    }
    throw new Error('too many statements');
  }
  const finals = (job: TestJob) =>
    direct.query(`select status from check_results where job_id = $1 and result_type = 'FINAL'`, [job.jobId]);

  describe.each(['before', 'after'] as const)('%s a statement', (when) => {
    test('results: stored once, followed once, and never rejected', async () => {
      let job: TestJob;
      let outcomes: (string | number)[] = [];
      const report = async () => {
        const { status, body } = await agent.call('results', {
          agentId: agent.agentId,
          results: [resultOf(job, clock.now())],
        });
        const { items } = body as { items?: { outcome: string }[] };
        outcomes.push(items?.[0]?.outcome ?? status);
      };
      const broken = await breakEach(
        when,
        async () => {
          job = await oneJob();
          outcomes = [];
          return report;
        },
        async (statement) => {
          // Nothing but a commit makes the service say that it has the result.
          if (outcomes[0] !== 503)
            expect([statement, await finals(job)]).toEqual([statement, [{ status: 'passed' }]]);
          await report();
          expect([statement, ...outcomes]).toSatisfy(
            ([, first, second]) =>
              (first === 'stored' && second === 'duplicate') ||
              (first === 503 && (second === 'stored' || second === 'duplicate')),
          );
          expect([statement, await finals(job)]).toEqual([statement, [{ status: 'passed' }]]);
          const queued = await direct.query('select 1 from finished_runs where run_id = $1', [job.runId]);
          expect([statement, queued.length]).toEqual([statement, 1]);
        },
      );
      expect(broken).toBeGreaterThan(5);
    });

    test('a claim: no job stays leased to nobody', async () => {
      let claimed: TestJob[] = [];
      const leased = () =>
        direct.query<{ token: string }>(`select lease_token as token from jobs where state = 'leased'`);
      const broken = await breakEach(
        when,
        async () => {
          await queueJob();
          return async () => {
            claimed = await agent.claim(1).catch(() => []);
          };
        },
        async (statement) => {
          const tokens = (await leased()).map(({ token }) => token);
          expect([statement, tokens]).toEqual([statement, claimed.map(({ leaseToken }) => leaseToken)]);
          // The run is not lost: whoever claims next gets it, if this claim did not.
          expect([statement, [...claimed, ...(await agent.claim(1))].length]).toEqual([statement, 1]);
        },
      );
      expect(broken).toBeGreaterThan(1);
    });

    test('renewing and releasing: the lease is kept, or the run is queued', async () => {
      let job: TestJob;
      await breakEach(
        when,
        async () => {
          job = await oneJob();
          return async () => {
            await agent.renew([job]).catch(() => undefined);
          };
        },
        async (statement) => {
          expect([statement, await agent.renew([job])]).toMatchObject([statement, { renewed: [job.jobId] }]);
        },
      );
      await breakEach(
        when,
        async () => {
          job = await oneJob();
          return async () => {
            await agent.release(job).catch(() => undefined);
          };
        },
        async (statement) => {
          await agent.release(job);
          const rows = await direct.query('select state from jobs where id = $1', [job.jobId]);
          expect([statement, rows]).toEqual([statement, [{ state: 'queued' }]]);
        },
      );
    });

    test('the scheduler: each moment is a run or in one record of missed runs', async () => {
      await breakEach(
        when,
        async () => {
          await direct.query('delete from jobs');
          await direct.query('delete from check_results');
          await direct.query('delete from missed_runs');
          await due();
          // The run stays queued while the service is away for ten minutes.
          clock.advance(10 * 60_000);
          return () => service.scheduler.real.tick().catch(() => undefined);
        },
        async (statement) => {
          await service.scheduler.real.tick();
          for (let second = 0; second < 32; second += 8) {
            clock.advance(8_000);
            await service.scheduler.real.tick();
          }
          const records = await direct.query<{ from: Date; to: Date; count: number; code: string }>(
            `select started_at as "from", stopped_at as "to", (body->'details'->>'count')::int as count,
               reason->>'code' as code from check_results where status = 'missed' and check_id = $1 order by 1`,
            [checkId],
          );
          const moments = records.flatMap(({ from, count }) =>
            Array.from({ length: count }, (_, index) => from.getTime() + index * 60_000),
          );
          expect([statement, new Set(moments).size]).toEqual([statement, moments.length]);
          for (const { from, to, count } of records) {
            expect([statement, to.getTime()]).toEqual([statement, from.getTime() + (count - 1) * 60_000]);
          }
          const first = records[0];
          expect([statement, first?.code, (first?.count ?? 0) >= 10]).toEqual([
            statement,
            'NOT_SCHEDULED',
            true,
          ]);
        },
      );
    });
  });
});
