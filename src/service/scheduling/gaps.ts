import { dayMs, hourMs } from '../../durations.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import { lastDue, nextDue, scheduledJobId, type Schedule } from '../../protocol/schedule.ts';
import type { ReasonCode } from '../../protocol/reasons.ts';
import type { Db, Queryable } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { queryResults } from '../db/query-results.ts';
import { createFindPauses, unpausedParts } from '../maintenance/pauses.ts';
import type { Missed } from './fold-missed.ts';
import { hasMoment, outside, partsOf, spanOf, type Span } from './missed-moments.ts';
import { lockChecksOf } from './missed.ts';
import { recordMissed } from './record-missed.ts';

/** Records runs of held checks that did not take place, without those whose results the service has. */

/** Due moments of one check at one location, evenly spaced; milliseconds since the epoch. */
export type Stretch = {
  accountId: string;
  checkId: string;
  checkType: string;
  locationId: string;
  runLocation: string;
  stepMs: number;
  from: number;
  to: number;
  code: ReasonCode;
};

/**
 * A stretch, in parts that begin at one of the check's moments. A check that was to run at once was first due between two of
 * them, and that moment is a part.
 */
export function evenly<Part extends { from: number; to: number }>(stretch: Part, schedule: Schedule): Part[] {
  const { from } = stretch;
  if (from > stretch.to) return [];
  if (lastDue(schedule, from) === from) return [stretch];
  return [
    { ...stretch, to: from },
    { ...stretch, from: nextDue(schedule, from) },
  ].filter((part) => part.from <= part.to);
}

/** Uneventful runs begin within less than this time after their moment. Earlier releases let them begin until its end. */
export const startsWithinMs = 10_000;

/** A record that began longer before is not compared. */
const longestRecordMs = 2 * dayMs;

/** So many moments of one check are compared with results at once. */
export const maxCompared = protocolLimits.missedMoments;
/** Every attempt of a run begins within less than this time after its moment: it may be late, take long, and be repeated. */
const beginsWithinMs = hourMs;

/** Records the moments of these stretches that have neither a result nor a job nor a record already, and that no maintenance pauses. */
export async function recordGaps(
  tx: Db,
  options: { stretches: readonly Stretch[]; now: number; partitions: Partitions },
): Promise<void> {
  const stretches = options.stretches.filter(({ from, to }) => from <= to);
  if (stretches.length === 0) return;
  const pauses = await createFindPauses()(tx, {
    checks: stretches.map(({ checkId, accountId, from }) => ({
      id: checkId,
      accountId,
      nextDueAt: new Date(from),
    })),
    now: options.now,
  });
  // Results of late runs are stored under the same lock, so none is stored between the comparison and the record.
  await lockChecksOf(tx, [...new Set(stretches.map(({ checkId }) => checkId))]);
  const missed: Missed[] = [];
  for (const stretch of stretches) {
    const { accountId, checkId, checkType, runLocation, code, stepMs, to } = stretch;
    const own = pauses.get(checkId) ?? [];
    const momentAt = (index: number) => stretch.from + index * stepMs;
    /** Those from one number up to another, without it. */
    const unpaused = (first: number, end: number) =>
      unpausedParts({ from: momentAt(first), to: momentAt(end - 1), count: end - first }, stepMs, own);
    const count = Math.floor((to - stretch.from) / stepMs) + 1;
    const gaps: Span[] = [];
    const slices = await slicesOf(tx, stretch, count);
    const recorded = slices.length > 1 ? await recordsWithin(tx, stretch) : [];
    for (const { first, end, isCompared } of slices) {
      const parts = unpaused(first, end);
      if (isCompared) {
        const known = await momentsWithRun(tx, { ...stretch, from: momentAt(first), to: momentAt(end - 1) });
        gaps.push(...parts.flatMap((part) => partsOf(part, (at) => known.has(at))));
      } else gaps.push(...parts.flatMap((part) => outside(part, recorded)));
    }
    for (const gap of gaps) missed.push({ accountId, checkId, checkType, runLocation, code, ...gap });
  }
  await recordMissed(tx, { missed, now: options.now, partitions: options.partitions });
}

/**
 * The moments of a stretch in slices, by their numbers; `end` is not included. The last ones are compared. Earlier ones are only where
 * there is an attempt: mostly there is none, because an agent that was away for so long brings none.
 */
async function slicesOf(
  tx: Queryable,
  { checkId, from, stepMs }: Stretch,
  count: number,
): Promise<{ first: number; end: number; isCompared: boolean }[]> {
  const lastFirst = Math.max(0, count - maxCompared);
  const last = { first: lastFirst, end: count, isCompared: true };
  if (lastFirst === 0) return [last];
  const span = { from: new Date(from), to: new Date(from + lastFirst * stepMs + beginsWithinMs) };
  const [found] = await queryResults<{ earliest: Date | null; latest: Date | null }>(
    tx,
    {
      checkIds: [checkId],
      spans: [span],
      columns: ['check_id', 'job_id', 'started_at'],
      leaveOut: 'any',
    },
    `select min(started_at) as earliest, max(started_at) as latest from check_results
     where check_id = $1 and started_at >= $2 and started_at < $3 and job_id is not null`,
    [checkId, span.from, span.to],
  );
  const { earliest = null, latest = null } = found ?? {};
  if (earliest === null || latest === null) return [{ first: 0, end: lastFirst, isCompared: false }, last];
  const numberAt = (at: number) => Math.min(lastFirst, Math.max(0, Math.floor((at - from) / stepMs)));
  const begin = numberAt(earliest.getTime() - beginsWithinMs);
  const end = numberAt(latest.getTime() + stepMs);
  const slices = [{ first: 0, end: begin, isCompared: false }];
  for (let first = begin; first < end; first += maxCompared)
    slices.push({ first, end: Math.min(first + maxCompared, end), isCompared: true });
  slices.push({ first: end, end: lastFirst, isCompared: false }, last);
  return slices.filter((slice) => slice.first < slice.end);
}

/**
 * The job ids of those of these runs, due within the last minutes, that have a final result or a job. Not for runs that may be
 * in a file.
 */
export async function runsMade(
  tx: Queryable,
  runs: readonly { checkId: string; locationId: string; at: number }[],
): Promise<Set<string>> {
  if (runs.length === 0) return new Set();
  const moments = runs.map(({ at }) => at);
  const rows = await tx.query<{ id: string }>(
    `select i.job as id from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as i (job, check_id, due)
     where exists (select 1 from finished_jobs f where f.job_id = i.job)
       or exists (select 1 from jobs j where j.id = i.job and j.state <> 'abandoned')
       -- Of an uneventful run, only the result is known. It began at once.
       or exists (select 1 from check_results r where r.check_id = i.check_id and r.job_id = i.job
         and r.result_type = 'FINAL' and r.started_at >= $4 and r.started_at <= $5)`,
    [
      runs.map(({ checkId, locationId, at }) => scheduledJobId(checkId, locationId, at)),
      runs.map(({ checkId }) => checkId),
      moments.map((at) => new Date(at)),
      new Date(Math.min(...moments)),
      new Date(Math.max(...moments) + startsWithinMs),
    ],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The moments of a stretch that have a result, a job or a record of a missed run. */
export async function momentsWithRun(
  tx: Queryable,
  { checkId, locationId, runLocation, from, to, stepMs }: Omit<Stretch, 'accountId' | 'checkType' | 'code'>,
): Promise<Set<number>> {
  const moments = new Map<string, number>();
  for (let at = from; at <= to; at += stepMs) moments.set(scheduledJobId(checkId, locationId, at), at);
  const until = new Date(to + startsWithinMs);
  const rows = await queryResults<{ id: string }>(
    tx,
    {
      checkIds: [checkId],
      spans: [{ from: new Date(from), to: until }],
      columns: ['check_id', 'job_id', 'result_type', 'started_at'],
      only: { result_type: 'FINAL' },
      // Checks must be handed out while the store is away.
      leaveOut: 'any',
    },
    `select job_id as id from finished_jobs where job_id = any($1::uuid[])
     union all select id from jobs where id = any($1::uuid[]) and state <> 'abandoned'
     -- Of an uneventful run, only the result is known. It began at once.
     union all select job_id from check_results where check_id = $2 and started_at >= $3 and started_at <= $4
       and result_type = 'FINAL' and job_id = any($1::uuid[])`,
    [[...moments.keys()], checkId, new Date(from), until],
  );
  const spans = await recordsWithin(tx, { checkId, runLocation, from, to });
  const isRecorded = (at: number) => spans.some((span) => hasMoment(span, at));
  return new Set([
    ...rows.flatMap(({ id }) => moments.get(id) ?? []),
    ...[...moments.values()].filter(isRecorded),
  ]);
}

/** Records of missed runs with moments in this time. Several holders may say of the same run that they have not made it. */
async function recordsWithin(
  tx: Queryable,
  { checkId, runLocation, from, to }: Pick<Stretch, 'checkId' | 'runLocation' | 'from' | 'to'>,
): Promise<Span[]> {
  const rows = await tx.query<{ from: Date; to: Date; count: number }>(
    `select started_at as "from", stopped_at as "to", (body->'details'->>'count')::integer as count from check_results
     where check_id = $1 and run_location = $2 and started_at >= $3 and started_at <= $4 and stopped_at >= $5
       and result_type = 'FINAL' and status = 'missed' and job_id is null`,
    [checkId, runLocation, new Date(from - longestRecordMs), new Date(to), new Date(from)],
  );
  return rows.map(spanOf);
}
