import type { FastifyInstance } from 'fastify';
import { createLog, type Log } from '../../../src/log.ts';
import { registerAgentRoutes } from '../../../src/service/agents/routes.ts';

import type { AgentCallLimits } from '../../../src/service/agents/call-limits.ts';
import type { ArtifactFiles } from '../../../src/service/artifacts/files.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { createEncryption, type Encryption } from '../../../src/service/engine/encryption.ts';
import { createServer } from '../../../src/service/http/server.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import { createRetention } from '../../../src/service/retention.ts';
import { nextDue } from '../../../src/protocol/schedule.ts';
import { offsetSeconds, intervalSeconds } from '../../../src/service/checks/schedule/rules.ts';
import { createScheduler, type Scheduler } from '../../../src/service/scheduling/scheduler.ts';
import { emptyTables } from './database.ts';
import { hashToken } from '../../../src/service/engine/keys.ts';

/** The agents' side of the service over a database, with a clock that the test moves. */

export const encryption: Encryption = createEncryption('a passphrase for tests');
export const silent: Log = createLog({
  level: 'ERROR',
  scrub: (line) => line,
  destination: { write: () => undefined },
});

export type Clock = { now: () => number; set(time: number | string): void; advance(ms: number): void };

export function createClock(start: number | string): Clock {
  let time = typeof start === 'string' ? Date.parse(start) : start;
  return {
    now: () => time,
    set: (to) => (time = typeof to === 'string' ? Date.parse(to) : to),
    advance: (ms) => (time += ms),
  };
}

const tables = [
  'service_beat',
  'finished_runs',
  'artifacts',
  'agent_events',
  'missed_runs',
  'check_statuses',
  'check_results',
  'finished_jobs',
  'jobs',
  'checks',
  'agents',
  'location_keys',
  'locations',
  'api_keys',
  'accounts',
].join(', ');

/** Empties the tables of accounts, and so all that refers to one. */
export const emptyAccounts = (db: Db): Promise<void> => emptyTables(db, tables);

export async function addAccount(db: Db): Promise<string> {
  const id = uuidv7();
  await db.query('insert into accounts (id, name) values ($1, $2)', [id, 'Test']);
  return id;
}

/** A location and its key. */
export async function addLocation(
  db: Db,
  { accountId, slug, proxyUrl = null }: { accountId: string; slug: string; proxyUrl?: string | null },
): Promise<{ id: string; slug: string; key: string }> {
  const id = uuidv7();
  const key = `pl_${id.replaceAll('-', '')}`;
  await db.query(
    `insert into locations (id, account_id, kind, name, slug_name, proxy_url) values ($1, $2, 'private', $3, $3, $4)`,
    [id, accountId, slug, proxyUrl === null ? null : Buffer.from(encryption.seal(proxyUrl))],
  );
  await db.query(
    'insert into location_keys (id, location_id, key_hash, masked_key) values ($1, $2, $3, $4)',
    [uuidv7(), id, hashToken(key), '...'],
  );
  return { id, slug, key };
}

export type CheckOptions = {
  accountId: string;
  privateLocations?: string[];
  locations?: string[];
  checkType?: string;
  frequency?: number;
  frequencyOffset?: number | null;
  runParallel?: boolean;
  activated?: boolean;
  definition?: Record<string, unknown>;
  now: number;
};

export const urlRequest = {
  method: 'GET',
  url: 'http://127.0.0.1:1/',
  followRedirects: true,
  skipSSL: false,
  ipFamily: 'IPv4',
  assertions: [],
};

/** A check, as the public API stores one; its id. */
export async function addCheck(db: Db, options: CheckOptions): Promise<string> {
  // Due at 6 s past each minute, so that a test knows when.
  const { accountId, frequency = 1, frequencyOffset = 1, now } = options;
  const id = uuidv7();
  const schedule = {
    intervalSeconds: intervalSeconds({ frequency, frequencyOffset }),
    offsetSeconds: offsetSeconds({ frequency, frequencyOffset }, id),
  };
  await db.query(
    `insert into checks (id, account_id, check_type, name, activated, locations, private_locations, run_parallel,
       frequency, frequency_offset, interval_seconds, offset_seconds, next_due_at, definition)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb)`,
    [
      id,
      accountId,
      options.checkType ?? 'URL',
      `check ${id.slice(-4)}`,
      options.activated ?? true,
      options.locations ?? [],
      options.privateLocations ?? [],
      options.runParallel ?? false,
      frequency,
      frequencyOffset,
      schedule.intervalSeconds,
      schedule.offsetSeconds,
      new Date(nextDue(schedule, now)),
      JSON.stringify({ request: urlRequest, doubleCheck: false, ...options.definition }),
    ],
  );
  return id;
}

export type AgentService = {
  app: FastifyInstance;
  scheduler: Scheduler & { real: Scheduler };
  retention: ReturnType<typeof createRetention>;
};

/**
 * One replica: routes and scheduler (not started: tests tick it). A tick stands for all ticks since the last one: the
 * service was not away in between, however far the test moved its clock. `real` ticks as the service itself does.
 */
export async function createAgentService(
  db: Db,
  clock: Pick<Clock, 'now'>,
  files: ArtifactFiles | null = null,
  bundles?: ArtifactFiles,
  /** Limits of rare calls; default: none. */
  limits?: AgentCallLimits,
  /** From when on agents may hold checks; null = never. */
  keepingFrom: number | null = null,
): Promise<AgentService> {
  const app = await createServer({});
  const deps = { db, now: clock.now, log: silent, random: Math.random };
  const ofBundles = bundles === undefined ? {} : { bundles };
  await registerAgentRoutes(app, { ...deps, ...ofBundles, encryption, files, limits, keepingFrom });
  await app.ready();
  const real = createScheduler(deps);
  return {
    app,
    scheduler: {
      ...real,
      real,
      tick: async () => {
        await db.query('update service_beat set at = greatest(at, $1)', [new Date(clock.now())]);
        await real.tick();
      },
    },
    retention: createRetention({ ...deps, ...ofBundles, ...(files === null ? {} : { files }) }),
  };
}

export type TestJob = {
  jobId: string;
  runId: string;
  leaseToken: string;
  checkId: string;
  sequenceId: string;
  checkType: string;
  attempt: number;
  runLocation: string;
  dueAt: string;
  deadline: string;
  [field: string]: unknown;
};

/** An agent, as far as the protocol goes. */
export type TestAgent = {
  agentId: string;
  /** The body of its hello. */
  hello: object;
  call(path: string, body: unknown, key?: string): Promise<{ status: number; body: unknown }>;
  claim(slots?: number, options?: { waitSeconds?: number; lane?: string }): Promise<TestJob[]>;
  renew(jobs: TestJob[]): Promise<{ renewed: string[]; lost: string[]; cancel: string[] }>;
  report(
    ...results: unknown[]
  ): Promise<{ jobId: string; attempt: number; outcome: string; reason?: string }[]>;
  release(job: TestJob, body?: object): Promise<string>;
};

export async function connectAgent(
  app: FastifyInstance,
  { key }: { key: string },
  abilities: { checkTypes?: string[]; runtimes?: string[]; keeping?: { continues: string[] } } = {},
): Promise<TestAgent> {
  const call: TestAgent['call'] = async (path, body, withKey = key) => {
    const answer = await app.inject({
      method: 'POST',
      url: `/agent/v1/${path}`,
      headers: { authorization: `Bearer ${withKey}`, 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    });
    return {
      status: answer.statusCode,
      body: answer.payload === '' ? null : (JSON.parse(answer.payload) as unknown),
    };
  };
  const expectOk = async <T>(path: string, body: unknown): Promise<T> => {
    const answer = await call(path, body);
    if (answer.status > 204) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  };
  const hello = {
    instanceId: uuidv7(),
    version: '1.2.3',
    protocolMinor: 1,
    host: { hostname: 'h', platform: 'linux', arch: 'x64', nodeVersion: 'v20', cores: 2, memoryBytes: 1 },
    checkTypes: abilities.checkTypes ?? ['URL', 'API', 'TCP', 'DNS', 'ICMP'],
    runtimes: abilities.runtimes ?? [],
    lanes: { uptime: 200 },
    ...(abilities.keeping === undefined ? {} : { keeping: abilities.keeping }),
  };
  const { agentId } = await expectOk<{ agentId: string }>('hello', hello);
  return {
    agentId,
    hello,
    call,
    claim: async (slots = 200, { waitSeconds = 0, lane = 'uptime' } = {}) => {
      const answer = await expectOk<{ jobs: TestJob[] } | null>('jobs/claim', {
        agentId,
        free: { [lane]: slots },
        waitSeconds,
      });
      return answer?.jobs ?? [];
    },
    renew: (jobs) =>
      expectOk('jobs/renew', {
        agentId,
        leases: jobs.map(({ jobId, leaseToken }) => ({ jobId, leaseToken })),
      }),
    report: async (...results) => (await expectOk<{ items: [] }>('results', { agentId, results })).items,
    release: async (job, body = {}) =>
      (
        await expectOk<{ outcome: string }>(`jobs/${job.jobId}/release`, {
          leaseToken: job.leaseToken,
          reason: 'draining',
          ...body,
        })
      ).outcome,
  };
}

/** A result of a job, passed by default. */
export function resultOf(
  job: TestJob,
  now: number,
  fields: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    jobId: job.jobId,
    leaseToken: job.leaseToken,
    attempt: job.attempt,
    sequenceId: job.sequenceId,
    checkId: job.checkId,
    checkType: job.checkType,
    resultType: 'FINAL',
    status: 'passed',
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 12.5,
    startedAt: new Date(now).toISOString(),
    stoppedAt: new Date(now + 20).toISOString(),
    runLocation: job.runLocation,
    attempts: job.attempt - 1,
    reason: null,
    assertions: [],
    timings: { total: 12.5 },
    details: { statusCode: 200 },
    artifacts: [],
    log: [],
    ...fields,
  };
}
