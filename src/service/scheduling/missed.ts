import type { Queryable } from '../db/database.ts';

/** Statements on open records of missed runs. Consecutive missed runs of a check at a location share one result. */

export type OpenMissed = {
  checkId: string;
  runLocation: string;
  resultId: string;
  resultStartedAt: Date;
  count: number;
  from: Date;
  to: Date;
  reason: string;
};

type Place = { checkId: string; runLocation: string };
const idsOf = (places: readonly Place[]) => places.map(({ checkId }) => checkId);
const locationsOf = (places: readonly Place[]) => places.map(({ runLocation }) => runLocation);

/**
 * Those of these checks that still exist, locked, with the milliseconds between two runs at one location. Records of a
 * check are written by one transaction at a time.
 */
export async function lockChecksOf(tx: Queryable, checkIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.query<{ id: string; stepMs: number }>(
    `select id, 1000 * interval_seconds * case when run_parallel then 1
       else greatest(1, cardinality(locations) + cardinality(private_locations)) end::float8 as "stepMs"
     from checks where id = any($1::uuid[]) order by id for no key update`,
    [checkIds],
  );
  return new Map(rows.map(({ id, stepMs }) => [id, stepMs]));
}

/** Due moments of scheduled runs that may still take place. Places without any are absent. */
export async function findLiveMoments(
  tx: Queryable,
  places: readonly Place[],
): Promise<(Place & { moments: Date[] })[]> {
  const rows = await tx.query<Place & { at: Date }>(
    `select j.check_id as "checkId", j.run_location as "runLocation", j.due_at as at
     from jobs j join unnest($1::uuid[], $2::text[]) as place (check_id, run_location)
       on j.check_id = place.check_id and j.run_location = place.run_location
     where j.run_source = 'SCHEDULER' and j.state <> 'abandoned'`,
    [idsOf(places), locationsOf(places)],
  );
  const byPlace = new Map<string, Place & { moments: Date[] }>();
  for (const { at, ...place } of rows) {
    const key = `${place.checkId} ${place.runLocation}`;
    const known = byPlace.get(key) ?? { ...place, moments: [] };
    known.moments.push(at);
    byPlace.set(key, known);
  }
  return [...byPlace.values()];
}

/**
 * Removes scheduled runs of these checks that no agent claimed in their time, and that no agent has ever had. Returns
 * them, for their record.
 */
export async function takeUnclaimed(
  tx: Queryable,
  { checkIds, now }: { checkIds: readonly string[]; now: Date },
): Promise<(Place & { dueAt: Date })[]> {
  if (checkIds.length === 0) return [];
  return tx.query(
    `delete from jobs where id in (
       select id from jobs where check_id = any($1::uuid[]) and state = 'queued' and expires_at <= $2
         and run_source = 'SCHEDULER' and attempt = 1 and first_attempt_at is null and past_tokens = '{}'
       order by id for update skip locked)
     returning check_id as "checkId", run_location as "runLocation", due_at as "dueAt"`,
    [checkIds, now],
  );
}

/** Open records of these checks at these locations; not those whose result has been deleted. */
export async function findOpenMissed(tx: Queryable, places: readonly Place[]): Promise<OpenMissed[]> {
  return tx.query<OpenMissed>(
    `select m.check_id as "checkId", m.run_location as "runLocation", m.result_id as "resultId",
       m.result_started_at as "resultStartedAt", m.count, m.from_due_at as "from", m.to_due_at as "to", m.reason
     from missed_runs m join unnest($1::uuid[], $2::text[]) as place (check_id, run_location)
       on m.check_id = place.check_id and m.run_location = place.run_location
     join check_results r on r.id = m.result_id and r.started_at = m.result_started_at`,
    [idsOf(places), locationsOf(places)],
  );
}

/** Inserts or replaces open records. */
export async function saveOpenMissed(tx: Queryable, records: readonly OpenMissed[]): Promise<void> {
  await tx.query(
    `insert into missed_runs (check_id, run_location, result_id, result_started_at, count, from_due_at, to_due_at, reason)
     select m."checkId", m."runLocation", m."resultId", m."resultStartedAt", m.count, m."from", m."to", m.reason
     from jsonb_to_recordset($1::jsonb) as m ("checkId" uuid, "runLocation" text, "resultId" uuid,
       "resultStartedAt" timestamptz, count integer, "from" timestamptz, "to" timestamptz, reason text)
     on conflict (check_id, run_location) do update set result_id = excluded.result_id,
       result_started_at = excluded.result_started_at, count = excluded.count, from_due_at = excluded.from_due_at,
       to_due_at = excluded.to_due_at, reason = excluded.reason`,
    [JSON.stringify(records)],
  );
}

/**
 * Updates the results of records whose ends have moved. `newId`: the id of a result contains its start, so one that
 * starts at another moment has another id.
 */
export async function updateMissedResults(
  tx: Queryable,
  records: readonly (OpenMissed & { newId: string; details: object })[],
): Promise<void> {
  if (records.length === 0) return;
  await tx.query(
    `update check_results r set id = m."newId", started_at = m."from", stopped_at = m."to",
       body = r.body || jsonb_build_object('details', m.details)
     from jsonb_to_recordset($1::jsonb) as m ("resultId" uuid, "newId" uuid, "resultStartedAt" timestamptz,
       "from" timestamptz, "to" timestamptz, details jsonb)
     where r.id = m."resultId" and r.started_at = m."resultStartedAt"`,
    [JSON.stringify(records)],
  );
}

/** Closes records after a run has taken place: the next missed run starts a new record. */
export async function closeMissed(tx: Queryable, places: readonly Place[]): Promise<void> {
  if (places.length === 0) return;
  await tx.query(
    `delete from missed_runs m using unnest($1::uuid[], $2::text[]) as place (check_id, run_location)
     where m.check_id = place.check_id and m.run_location = place.run_location`,
    [idsOf(places), locationsOf(places)],
  );
}

/** Closes records that end at or before a run that has taken place. Later ones stay open. */
export async function closeMissedBefore(
  tx: Queryable,
  runs: readonly (Place & { dueAt: Date })[],
): Promise<void> {
  await tx.query(
    `delete from missed_runs m using unnest($1::uuid[], $2::text[], $3::timestamptz[]) as run (check_id, run_location, at)
     where m.check_id = run.check_id and m.run_location = run.run_location and m.to_due_at <= run.at`,
    [idsOf(runs), locationsOf(runs), runs.map(({ dueAt }) => dueAt)],
  );
}
