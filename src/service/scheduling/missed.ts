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

/** Those of these checks that still exist, locked. Records of a check are written by one transaction at a time. */
export async function lockChecksOf(tx: Queryable, checkIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    'select id from checks where id = any($1::uuid[]) order by id for no key update',
    [checkIds],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Open records of these checks at these locations. */
export async function findOpenMissed(tx: Queryable, places: readonly Place[]): Promise<OpenMissed[]> {
  return tx.query<OpenMissed>(
    `select m.check_id as "checkId", m.run_location as "runLocation", m.result_id as "resultId",
       m.result_started_at as "resultStartedAt", m.count, m.from_due_at as "from", m.to_due_at as "to", m.reason
     from missed_runs m join unnest($1::uuid[], $2::text[]) as place (check_id, run_location)
       on m.check_id = place.check_id and m.run_location = place.run_location`,
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

/** Updates the results of records that have grown. Returns the ids of those that still exist. */
export async function growMissedResults(
  tx: Queryable,
  records: readonly (OpenMissed & { details: object })[],
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `update check_results r set stopped_at = m."to", body = r.body || jsonb_build_object('details', m.details)
     from jsonb_to_recordset($1::jsonb) as m ("resultId" uuid, "resultStartedAt" timestamptz, "to" timestamptz,
       details jsonb)
     where r.id = m."resultId" and r.started_at = m."resultStartedAt" returning r.id`,
    [JSON.stringify(records)],
  );
  return new Set(rows.map(({ id }) => id));
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
