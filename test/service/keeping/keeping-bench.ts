import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { Assignment, KeepingAnswer } from '../../../src/protocol/assignments.ts';
import { protocolMinor } from '../../../src/protocol/agent-calls.ts';
import { nextDue, scheduledJobId, type Schedule } from '../../../src/protocol/schedule.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { createKeeper } from '../../../src/service/keeping/keeper.ts';
import {
  addAccount,
  addLocation,
  connectAgent,
  createAgentService,
  emptyAccounts,
  resultOf,
  silent,
  type AgentService,
  type Clock,
  type TestAgent,
  type TestJob,
} from '../../helpers/service/agent-service.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { releaseEverything } from '../../../src/service/keeping/release.ts';
import type { TestDatabase } from '../../helpers/service/database.ts';

/** An agent that holds checks, as far as the protocol goes. */
export type KeepingAgent = TestAgent & {
  /** One renewal; applies the answer to `held`. */
  renewHeld: (options?: { reportedTo?: number | null; isLeaving?: boolean }) => Promise<KeepingAnswer>;
  held: Map<string, Assignment>;
  /** The variables of the account, as the service has sent them apart from the checks. */
  variables: () => unknown[] | null;
};

export type KeepingBench = {
  db: Db;
  service: AgentService;
  accountId: string;
  office: { id: string; slug: string; key: string };
  /** Hands checks out, as the service does it at once or within a second. The service was not away before. */
  handOut: () => Promise<void>;
  /** The same, but without saying that the service was there until now. */
  lookAgain: () => Promise<void>;
  /** `minor`: null = an agent that does not name it, as those of minor 7. */
  connect: (continues?: string[], minor?: number | null) => Promise<KeepingAgent>;
  /** The same, and it has been told of its checks. */
  connectHolder: (continues?: string[]) => Promise<KeepingAgent>;
  /** As an edit does it, which also sets when the check is due next. */
  reschedule: (id: string, schedule: Schedule) => Promise<void>;
  /** What a service does that lets agents hold no checks. */
  release: () => Promise<void>;
};

/** Registers the hooks: before each test, the tables are empty and the clock is at `start`. */
export function keepingBench(
  database: TestDatabase,
  clock: Clock,
  start: string,
): { current: () => KeepingBench } {
  let bench: KeepingBench | null = null;
  let db: Db;
  beforeAll(async () => {
    db = await database.open();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await emptyAccounts(db);
    await db.query('delete from kept_changes');
    clock.set(start);
    const service = await createAgentService(db, clock, null, undefined, undefined, 0);
    const accountId = await addAccount(db);
    const office = await addLocation(db, { accountId, slug: 'office' });
    const parts = { db, now: clock.now, log: silent, partitions: createPartitions(db) };
    const keeper = createKeeper(parts);
    const handOut = async () => {
      await db.query(
        'insert into service_beat (at) values ($1) on conflict (id) do update set at = excluded.at',
        [new Date(clock.now())],
      );
      await keeper.tick();
    };
    const connect: KeepingBench['connect'] = (continues = [], minor = protocolMinor) =>
      connectKeeping(service, office, { continues, minor });
    const connectHolder = async (continues: string[] = []) => {
      const agent = await connect(continues);
      await agent.renewHeld();
      await handOut();
      await agent.renewHeld();
      return agent;
    };
    const reschedule = async (id: string, schedule: Schedule) => {
      await db.query(
        'update checks set interval_seconds = $2, offset_seconds = $3, next_due_at = $4 where id = $1',
        [id, schedule.intervalSeconds, schedule.offsetSeconds, new Date(nextDue(schedule, clock.now()))],
      );
    };
    const lookAgain = () => keeper.tick();
    const release = () => releaseEverything(parts);
    bench = {
      db,
      service,
      accountId,
      office,
      handOut,
      lookAgain,
      connect,
      connectHolder,
      reschedule,
      release,
    };
  });
  afterEach(() => bench?.service.app.close());
  return {
    current: () => {
      if (bench === null) throw new Error('used before a test');
      return bench;
    },
  };
}

async function connectKeeping(
  service: AgentService,
  office: { key: string },
  { continues, minor }: { continues: string[]; minor: number | null },
): Promise<KeepingAgent> {
  const agent = await connectAgent(service.app, office, { keeping: { continues } });
  const held = new Map<string, Assignment>();
  let cursor: string | null = null;
  let variables: KeepingAnswer['variables'];
  const renewHeld: KeepingAgent['renewHeld'] = async ({ reportedTo = null, isLeaving = false } = {}) => {
    const answer = await agent.call('jobs/claim', {
      agentId: agent.agentId,
      free: {},
      waitSeconds: 0,
      keeping: {
        cursor,
        reportedTo,
        ...(minor === null ? {} : { minor, variables: variables?.tag ?? null }),
        ...(isLeaving ? { isLeaving } : {}),
      },
    });
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    const { keeping } = answer.body as { keeping: KeepingAnswer };
    if (keeping.isFirst) held.clear();
    for (const check of keeping.checks as Assignment[]) held.set(check.checkId, check);
    for (const id of keeping.dropped) held.delete(id);
    ({ cursor } = keeping);
    ({ variables = variables } = keeping);
    return keeping;
  };
  return { ...agent, held, renewHeld, variables: () => variables?.list ?? null };
}

/** The result of a run that the holder of a check made. */
export function keptResult(
  check: Pick<Assignment, 'checkId' | 'locationId' | 'holder'>,
  dueAt: number,
  fields: Record<string, unknown> = {},
): Record<string, unknown> {
  const job = {
    jobId: scheduledJobId(check.checkId, check.locationId, dueAt),
    leaseToken: check.holder,
    checkId: check.checkId,
    checkType: 'URL',
    sequenceId: uuidv7(),
    attempt: 1,
    runLocation: 'office',
  } as unknown as TestJob; // a result needs no other field
  return resultOf(job, dueAt + 5, { dueAt: new Date(dueAt).toISOString(), ...fields });
}

/** A report that the holder of a check has not made these runs. */
export function missedOf(
  check: Parameters<typeof keptResult>[0],
  from: number,
  to = from,
  count = 1,
): Record<string, unknown> {
  const iso = (time: number) => new Date(time).toISOString();
  return keptResult(check, from, {
    status: 'missed',
    details: { from: iso(from), to: iso(to), count },
    reason: { code: 'NO_AGENT', owner: 'ours', message: 'it was not running' },
  });
}
