/**
 * SQL for the last run of a check whose uneventful runs do not rewrite its status. Such a status is `is_behind`: since the
 * run that it names, all runs have passed, as that one did, and only their results know of them (results/catch-up.ts).
 */

/** SQL: a result `r` that counts for the status of its check. */
export const countsForStatus = `r.result_type = 'FINAL' and not r.test_session and r.status not in ('missed', 'cancelled')`;

/**
 * SQL: joins the last run of a status `s` as `last`, of which everything is null unless the status is behind. Read the
 * columns of the status that the last run changes through `lastRun`.
 */
export const joinLastRun = `left join lateral (
    select r.id, r.started_at, r.stored_at, r.run_location from check_results r
    where s.is_behind and r.check_id = s.check_id and r.started_at >= s.last_started_at and ${countsForStatus}
    order by r.started_at desc, r.id desc limit 1) as last on true`;

/** SQL: what a status `s` says of the last run, with `joinLastRun`. */
export const lastRun = {
  id: 'coalesce(last.id, s.last_check_run_id)',
  startedAt: 'coalesce(last.started_at, s.last_started_at)',
  location: 'coalesce(last.run_location, s.last_run_location)',
  updatedAt: 'coalesce(last.stored_at, s.updated_at)',
} as const;
