import { lastDue, type Schedule } from '../../protocol/schedule.ts';
import type { Db, Queryable } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { evenly, recordGaps } from '../scheduling/gaps.ts';
import { factsOf, type CheckFacts } from './check-facts.ts';
import { handedOutSchedule } from './handed-out-schedule.ts';
import type { Holding, KeepingAgent } from './statements.ts';
import { owedBy, stretchOf } from './take-back.ts';

/** Moments of the schedule that a held check had before an edit. The next form of the check does not include them. */

/** Milliseconds since the epoch, both included. */
export type FormerSchedule = Schedule & {
  checkId: string;
  agentId: string;
  locationId: string;
  owedFrom: number;
  owedTo: number;
};

/** What the holder owes before `moment`, the first one of the next schedule. That schedule is handed out at `at`. */
export function formerScheduleOf(
  holding: Holding,
  agent: KeepingAgent | undefined,
  { check, moment, at }: { check: CheckFacts; moment: Date; at: number },
): FormerSchedule {
  const { checkId, agentId, locationId } = holding;
  const schedule = handedOutSchedule(holding, check);
  const owedFrom = owedBy(holding, agent, schedule);
  return { ...schedule, checkId, agentId, locationId, owedFrom, owedTo: Math.min(at, moment.getTime() - 1) };
}

/** Keeps the moments of these schedules until their agents have reported them or have left. */
export async function keepFormerSchedules(
  tx: Queryable,
  { accountId, rows }: { accountId: string; rows: readonly FormerSchedule[] },
): Promise<void> {
  const owed = rows.filter((row) => row.owedFrom <= row.owedTo);
  if (owed.length === 0) return;
  await tx.query(
    `insert into kept_former_schedules
       (account_id, check_id, agent_id, location_id, interval_seconds, offset_seconds, owed_from, owed_to)
     select $1, r."checkId", r."agentId", r."locationId", r."intervalSeconds", r."offsetSeconds",
       to_timestamp(r."owedFrom" / 1000), to_timestamp(r."owedTo" / 1000)
     from jsonb_to_recordset($2::jsonb) as r ("checkId" uuid, "agentId" uuid, "locationId" uuid, "intervalSeconds" integer,
       "offsetSeconds" double precision, "owedFrom" double precision, "owedTo" double precision)`,
    [accountId, JSON.stringify(owed)],
  );
}

/** Each row may cost two statements, and the embedded database must not be blocked for long. */
const settledAtOnce = 200;
/** Of all rows, but for the first one. */
const momentsAtOnce = 20_000;

/**
 * Records the moments that nobody has run, of agents that have reported everything until then or have left. `before`: rows
 * that end earlier need not wait; null = nor need those of accounts in which no agent holds a check. Returns whether there may be more.
 */
export async function settleFormerSchedules(
  { db, now, partitions }: { db: Db; now: number; partitions: Partitions },
  before: number | null,
): Promise<boolean> {
  const found = await db.query<{ id: number; moments: number }>(
    `select f.id, extract(epoch from f.owed_to - f.owed_from)::float8 / f.interval_seconds as moments
     from kept_former_schedules f left join agents a on a.id = f.agent_id
     where f.owed_to < $1 or a.keeps_until is null or f.owed_to <= a.reported_to
       or ($1::timestamptz is null and not exists (
         select 1 from kept_checks k where k.account_id = f.account_id and k.dropped_at is null))
     order by f.id limit ${settledAtOnce}`,
    [before === null ? null : new Date(before)],
  );
  if (found.length === 0) return false;
  let sum = 0;
  const few = found.filter(({ moments }, index) => (sum += moments) <= momentsAtOnce || index === 0);
  const ids = few.map(({ id }) => id);
  const count = await partitions.withDays(() => db.tx((tx) => settle(tx, { ids, now, partitions })));
  // If there was none, another replica works on them.
  return count > 0 && (ids.length < found.length || found.length === settledAtOnce);
}

/** Returns how many of these rows there were. */
async function settle(
  tx: Db,
  { ids, now, partitions }: { ids: readonly number[]; now: number; partitions: Partitions },
): Promise<number> {
  const rows = await tx.query<
    Schedule & {
      accountId: string;
      checkId: string;
      locationId: string;
      slug: string | null;
      from: Date;
      to: Date;
    }
  >(
    `with settled as (
       delete from kept_former_schedules where id in (
         select id from kept_former_schedules where id = any($1::bigint[]) order by id for update skip locked)
       returning *
     )
     select s.account_id as "accountId", s.check_id as "checkId", s.location_id as "locationId", l.slug_name as slug,
       s.interval_seconds as "intervalSeconds", s.offset_seconds as "offsetSeconds", s.owed_from as "from", s.owed_to as "to"
     from settled s left join locations l on l.id = s.location_id order by s.id`,
    [[...ids]],
  );
  const facts = await factsOf(
    tx,
    rows.map(({ checkId }) => checkId),
  );
  const stretches = rows.flatMap((row) => {
    const { accountId, checkId, locationId, slug, intervalSeconds, offsetSeconds } = row;
    const check = facts.get(checkId);
    if (check?.isActive !== true || slug === null) return [];
    const former = { ...check, intervalSeconds, offsetSeconds };
    const [from, to] = [row.from.getTime(), row.to.getTime()];
    // A check that was to run at once was first due between two moments.
    const last = Math.max(from, lastDue(former, to));
    return evenly({ ...stretchOf(accountId, former, { locationId, slug }), from, to: last }, former);
  });
  await recordGaps(tx, { stretches, now, partitions });
  return rows.length;
}
