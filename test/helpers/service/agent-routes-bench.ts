import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { FastifyInstance } from 'fastify';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  emptyAccounts,
  type AgentService,
  type TestAgent,
  type TestJob,
} from './agent-service.ts';
import type { TestDatabase } from './database.ts';

const start = '2026-03-04T05:06:07.000Z';

/**
 * The agents' side of a service, with one private location, `office`, and one agent there. Registers the hooks: before each
 * test, the tables are empty and the clock is at 2026-03-04 05:06:07.
 */
export function agentRoutesBench(database: TestDatabase) {
  const clock = createClock(start);
  let db: Db;
  let service: AgentService;
  let app: FastifyInstance;
  let accountId: string;
  let office: { id: string; slug: string; key: string };
  let agent: TestAgent;

  beforeAll(async () => {
    db = await database.open();
  });
  beforeEach(async () => {
    clock.set(start);
    await emptyAccounts(db);
    service = await createAgentService(db, clock);
    app = service.app;
    accountId = await addAccount(db);
    office = await addLocation(db, { accountId, slug: 'office' });
    agent = await connectAgent(app, office);
  });
  afterEach(() => app.close());
  afterAll(() => database.close());

  /** Moves on to the next due moment, which all checks here share; the jobs that the agent then gets. */
  async function nextJobs(by: TestAgent = agent): Promise<TestJob[]> {
    const [next] = await db.query<{ at: Date }>('select min(next_due_at) as at from checks');
    clock.set(next?.at.getTime() ?? clock.now());
    await by.claim(0); // still here
    await service.scheduler.tick();
    return by.claim();
  }
  async function oneJob(options: { definition?: Record<string, unknown> } = {}): Promise<TestJob> {
    await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now(), ...options });
    const [job] = await nextJobs();
    if (job === undefined) throw new Error('no job');
    return job;
  }
  const results = () =>
    db.query<Record<string, unknown>>(
      `select job_id as "jobId", result_type as "resultType", status, attempts from check_results order by stored_at, attempts`,
    );
  const status = async (checkId: string) =>
    (
      await db.query('select status, has_errors, reason from check_statuses where check_id = $1', [checkId])
    )[0];

  return {
    clock,
    get db() {
      return db;
    },
    get service() {
      return service;
    },
    get app() {
      return app;
    },
    get accountId() {
      return accountId;
    },
    get office() {
      return office;
    },
    get agent() {
      return agent;
    },
    nextJobs,
    oneJob,
    results,
    status,
  };
}
