import type { ReasonCode } from '../../protocol/reasons.ts';
import type { Db, Queryable } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { insertResults } from '../results/store-result.ts';
import { cutMissed } from './cut-missed.ts';
import type { Missed } from './fold-missed.ts';
import { hasMoment, spanOf, type Span } from './missed-moments.ts';
import { closeMissedBefore, lockChecksOf, saveOpenMissed, updateMissedResults } from './missed.ts';
import { detailsOf, missedResultOf, openOf } from './record-missed.ts';

/** Corrects records of missed runs when a run that they count took place after all and its result arrives late. */

/** A run that was recorded as missed and has its final result now. */
export type LateRun = { checkId: string; runLocation: string; dueAt: Date };

type Covering = {
  resultId: string;
  accountId: string;
  checkId: string;
  checkType: string;
  runLocation: string;
  from: Date;
  to: Date;
  count: number;
  code: ReasonCode;
  /** Whether later missed runs may extend it. */
  isOpen: boolean;
};

/**
 * Takes late runs out of the records that count them, in the transaction that stores their results, so that each due
 * moment has one final result or is in one record. The jobs of the runs must be locked. As in `recordMissed`, checks are
 * locked after jobs, in the order of their ids, and everything is read under that lock.
 */
export async function correctMissed(
  tx: Db,
  options: { late: readonly LateRun[]; now: number; partitions: Partitions },
): Promise<void> {
  const { late, now, partitions } = options;
  if (late.length === 0) return;
  const steps = await lockChecksOf(tx, [...new Set(late.map(({ checkId }) => checkId))]);
  const deleted: Covering[] = [];
  const shrunk: { item: Missed; resultId: string }[] = [];
  const fresh: { item: Missed; isOpen: boolean }[] = [];
  for (const record of await findRecords(tx, late)) {
    const whole = spanOf(record);
    const stepMs = steps.get(record.checkId) ?? 0;
    const own = late
      .filter((run) => run.checkId === record.checkId && run.runLocation === record.runLocation)
      .map(({ dueAt }) => dueAt.getTime());
    const moments = own.filter((moment) => hasMoment(whole, moment));
    const left = [...new Set(moments)].reduce<Span[]>(
      (parts, moment) => parts.flatMap((part) => cutMissed(part, moment, stepMs)),
      [whole],
    );
    const [first, ...others] = left;
    if (first !== undefined && first.from === whole.from && first.to === whole.to) continue;
    // The id of a result contains its start, so a record that starts later is another one.
    const keepsStart = first?.from === whole.from;
    if (keepsStart) shrunk.push({ item: { ...record, ...first }, resultId: record.resultId });
    else deleted.push(record);
    const last = left.at(-1);
    const isOvertaken = own.some((moment) => moment > whole.to);
    const staysOpen = record.isOpen && last?.to === whole.to && !isOvertaken;
    for (const part of keepsStart ? others : left) {
      fresh.push({ item: { ...record, ...part }, isOpen: staysOpen && part === last });
    }
  }
  partitions.check(fresh.map(({ item }) => item.from));
  await deleteMissedResults(tx, deleted);
  await updateMissedResults(
    tx,
    shrunk.map(({ item, resultId }) => {
      const open = openOf(item, resultId);
      return { ...open, newId: open.resultId, details: detailsOf(open) };
    }),
  );
  const results = fresh.map(({ item }) => missedResultOf(item));
  await insertResults(tx, results, new Date(now));
  // A run took place after these: the next missed run starts a new record.
  await closeMissedBefore(tx, late);
  await saveOpenMissed(
    tx,
    fresh.flatMap(({ item, isOpen }, index) => (isOpen ? [openOf(item, results[index]?.id ?? '')] : [])),
  );
}

/** The records that count late runs, each once. */
async function findRecords(tx: Queryable, late: readonly LateRun[]): Promise<Covering[]> {
  const last = await findCovering(tx, { late, limit: 1 });
  const isCounted = ({ checkId, runLocation, dueAt }: LateRun) =>
    last.some(
      (record) =>
        record.checkId === checkId &&
        record.runLocation === runLocation &&
        hasMoment(spanOf(record), dueAt.getTime()),
    );
  // Records of several schedules may overlap in time.
  const others = last.length === 0 ? [] : late.filter((run) => !isCounted(run));
  if (others.length === 0) return last;
  const all = [...last, ...(await findCovering(tx, { late: others, limit: mostOverlapping }))];
  return [...new Map(all.map((record) => [record.resultId, record])).values()];
}

/** Each but one is of an edit of the schedule that an agent did not know of. */
const mostOverlapping = 20;

/** For each late run, the records that have moments before and after it, the last ones that began. */
async function findCovering(
  tx: Queryable,
  { late, limit }: { late: readonly LateRun[]; limit: number },
): Promise<Covering[]> {
  return tx.query<Covering>(
    `select distinct r.id as "resultId", r.account_id as "accountId", r.check_id as "checkId",
       r.check_type as "checkType", r.run_location as "runLocation", r.started_at as "from", r.stopped_at as "to",
       r.count, r.code, m.result_id is not null as "isOpen"
     from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as late (check_id, run_location, at)
     cross join lateral (
       select id, account_id, check_id, check_type, run_location, started_at, stopped_at,
         (body->'details'->>'count')::integer as count, reason->>'code' as code
       from check_results
       where check_id = late.check_id and run_location = late.run_location and status = 'missed' and job_id is null
         and started_at <= late.at and stopped_at >= late.at
       order by started_at desc limit $4
     ) as r
     left join missed_runs m on m.result_id = r.id
     order by r.id`,
    [
      late.map(({ checkId }) => checkId),
      late.map(({ runLocation }) => runLocation),
      late.map(({ dueAt }) => dueAt),
      limit,
    ],
  );
}

async function deleteMissedResults(tx: Queryable, records: readonly Covering[]): Promise<void> {
  if (records.length === 0) return;
  const ids = records.map(({ resultId }) => resultId);
  await tx.query(
    `delete from check_results r using unnest($1::uuid[], $2::timestamptz[]) as gone (id, started_at)
     where r.id = gone.id and r.started_at = gone.started_at`,
    [ids, records.map(({ from }) => from)],
  );
  await tx.query('delete from missed_runs where result_id = any($1::uuid[])', [ids]);
}
