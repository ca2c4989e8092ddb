import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { createPartitions } from '../../../src/service/db/partitions.ts';
import { listResults } from '../../../src/service/results/statements.ts';
import { listStatuses } from '../../../src/service/results/status-statements.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  resultOf,
  urlRequest,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** The embedded database runs on the program's own thread, so no statement may take long, however much there is. */
const limitMs = 20;
const checks = 2_000;
const results = 100_000;

/** How long this process's main thread has run, and how long it has waited for a processor: on a busy machine, that is most. */
function ranAndWaited(): [ran: number, waited: number] {
  const file = '/proc/self/schedstat';
  const [ran = 1, waited = 0] = existsSync(file) ? readFileSync(file, 'utf8').split(' ').map(Number) : [];
  return [ran, waited];
}

describe('statements of the embedded database at a realistic volume', () => {
  const [embedded] = databases;
  const took = new Map<string, number[]>();
  let observing = false;
  let db: Db;
  const clock = createClock('2026-03-04T05:06:07.000Z');
  let accountId: string;
  let office: { id: string; slug: string; key: string };
  let checkId: string;

  beforeAll(async () => {
    if (embedded === undefined) throw new Error('no embedded database');
    db = await embedded.open({
      onStatement: ({ sql, milliseconds }) => {
        if (!observing) return;
        const key = sql.replace(/\s+/g, ' ').slice(0, 90);
        took.set(key, [...(took.get(key) ?? []), milliseconds]);
      },
    });
    accountId = await addAccount(db);
    office = await addLocation(db, { accountId, slug: 'office' });
    checkId = await addCheck(db, { accountId, privateLocations: ['office'], now: clock.now() });
    await db.query(
      `insert into checks (id, account_id, check_type, name, private_locations, frequency, interval_seconds,
         offset_seconds, next_due_at, definition)
       select gen_random_uuid(), $1, 'URL', 'check ' || n, '{office}', 1, 60, n % 60, $2::timestamptz + n % 60 * interval '1 s',
         $3::jsonb
       from generate_series(2, $4::integer) as n`,
      [
        accountId,
        new Date(clock.now()),
        JSON.stringify({ request: urlRequest, description: 'x'.repeat(200) }),
        checks,
      ],
    );
    const days = [0, 1, 2, 3].map((day) => clock.now() - day * 86_400_000);
    await createPartitions(db).make(days);
    for (let from = 0; from < results; from += 10_000) {
      await db.query(
        `insert into check_results (id, started_at, stopped_at, account_id, check_id, sequence_id, check_type, run_location,
           result_type, status, has_failures, has_errors, is_degraded, over_max_response_time, is_cancelled,
           response_time, attempts, body)
         select gen_random_uuid(), $1::timestamptz - n * interval '2.5 s', $1, $2, c.id, gen_random_uuid(), 'URL', 'office',
           'FINAL', 'passed', false, false, false, false, false, n % 100, 0, $3::jsonb
         from (select id, row_number() over () as row from checks) c
         join generate_series($4::integer, $5::integer) as n on n % $6 + 1 = c.row`,
        [
          new Date(clock.now()),
          accountId,
          JSON.stringify({
            assertions: [],
            timings: { total: 1 },
            details: { text: 'x'.repeat(300) },
            artifacts: [],
            log: [],
          }),
          from,
          from + 9_999,
          checks,
        ],
      );
    }
  }, 120_000);
  afterAll(() => embedded?.close());

  it(`stay under ${limitMs} ms`, async () => {
    expect(await db.query('select count(*) as results from check_results')).toEqual([{ results }]);
    const service = await createAgentService(db, clock);
    const agent = await connectAgent(service.app, office);
    await service.retention.tick();
    observing = true;
    const before = ranAndWaited();
    for (let second = 0; second < 60; second++) {
      clock.advance(1_000);
      await service.scheduler.tick();
      const jobs = await agent.claim();
      await agent.renew(jobs);
      if (jobs.length > 0) await agent.report(...jobs.map((job) => resultOf(job, clock.now())));
      if (second % 5 === 0) {
        await service.retention.tick();
        await listResults(db, {
          accountId,
          checkId,
          runLocation: null,
          checkType: null,
          hasFailures: null,
          status: null,
          resultType: 'FINAL',
          sequenceId: null,
          from: null,
          to: null,
          limit: 100,
          offset: 0,
        });
        await listStatuses(db, { accountId, limit: 100, offset: 0 });
      }
    }
    observing = false;
    const after = ranAndWaited();
    const [ran, waited] = [after[0] - before[0], after[1] - before[1]];
    const share = ran > 0 ? ran / (ran + waited) : 1;
    await service.app.close();
    expect(took.size).toBeGreaterThan(10);
    // The middle one of each kind that ran often enough, less what it waited for others on this machine.
    const slow = [...took].flatMap(([sql, times]) => {
      const middle = (times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0) * share;
      return times.length >= 5 && middle > limitMs
        ? [{ sql, milliseconds: middle, times: times.length }]
        : [];
    });
    expect(slow).toEqual([]);
  }, 60_000);
});
