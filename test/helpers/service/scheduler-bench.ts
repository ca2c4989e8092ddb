import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import {
  addAccount,
  addLocation,
  createAgentService,
  createClock,
  emptyAccounts,
  type AgentService,
  type Clock,
} from './agent-service.ts';
import type { TestDatabase } from './database.ts';

export type JobRow = { at: Date; location: string; run: string; checkId: string };
export type MissedRow = {
  details: unknown;
  status: string;
  started: Date;
  stopped: Date;
  location: string;
  reason: { code: string };
};

/** A service whose scheduler the tests tick, with one account and one private location, `office`. */
export type SchedulerBench = {
  readonly clock: Clock;
  readonly db: Db;
  /** The databases of three replicas; `db` is the first. */
  readonly replicas: Db[];
  readonly service: AgentService;
  readonly accountId: string;
  readonly office: { id: string; slug: string; key: string };
  /** The jobs in the database, by due time and location. */
  readonly jobs: () => Promise<JobRow[]>;
  /** The results that record missed runs, oldest first. */
  readonly missed: () => Promise<MissedRow[]>;
  /** The reason codes of `missed`. */
  readonly codes: () => Promise<string[]>;
};

export const start = '2026-03-04T05:06:07.000Z';

/** Registers the hooks: before each test, the tables are empty and the clock is at `start`. */
export function schedulerBench(database: TestDatabase): SchedulerBench {
  const clock = createClock(start);
  let replicas: Db[];
  let db: Db;
  let service: AgentService;
  let accountId: string;
  let office: SchedulerBench['office'];

  beforeAll(async () => {
    replicas = await database.openReplicas(3);
    db = replicas[0] as Db;
  });
  beforeEach(async () => {
    clock.set(start);
    await emptyAccounts(db);
    service = await createAgentService(db, clock);
    accountId = await addAccount(db);
    office = await addLocation(db, { accountId, slug: 'office' });
  });
  afterEach(() => service.app.close());
  afterAll(() => database.close());

  const missed = () =>
    db.query<MissedRow>(
      `select body->'details' as details, status, started_at as started, stopped_at as stopped,
         run_location as location, reason from check_results where status = 'missed' order by started_at, run_location`,
    );
  return {
    clock,
    get db() {
      return db;
    },
    get replicas() {
      return replicas;
    },
    get service() {
      return service;
    },
    get accountId() {
      return accountId;
    },
    get office() {
      return office;
    },
    jobs: () =>
      db.query<JobRow>(
        'select due_at as at, run_location as location, run_id as run, check_id as "checkId" from jobs order by due_at, run_location',
      ),
    missed,
    codes: async () => (await missed()).map(({ reason }) => reason.code),
  };
}
