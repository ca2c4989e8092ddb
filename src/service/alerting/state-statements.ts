import type { AlertSettings } from '../accounts/alert-settings.ts';
import type { AlertState } from './state-machine.ts';
import type { Queryable } from '../db/database.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';

/** Statements on the alert state of checks. */

export type IncidentTrigger = { serviceId: string } & { readonly [field: string]: unknown };

/** A check with its alert state and everything that decides about its alerts. */
export type AlertSubject = {
  checkId: string;
  accountId: string;
  state: AlertState;
  /** Result of the last run that counted; null before there was one. */
  resultId: string | null;
  runLocations: string[];
  name: string;
  checkType: string;
  description: string | null;
  /** Tags of the check and its group. */
  tags: string[];
  groupId: number | null;
  groupName: string | null;
  /** Whether the check or its group is muted. */
  muted: boolean;
  /** Whether the check and its group are activated. */
  activated: boolean;
  useGlobal: boolean | null;
  own: Partial<AlertSettings> | null;
  groupUseGlobal: boolean | null;
  groupOwn: Partial<AlertSettings> | null;
  account: Partial<AlertSettings> | null;
  trigger: IncidentTrigger | null;
  /** Domain of an SSL check; null for other checks. */
  sslCheckDomain: string | null;
  /** Whether its certificate expires soon and has not been examined recently. */
  isSslDue: boolean;
};

type Run = { checkId: string; at: number; runId: string };
type Instants = { since: Date | null; alertedAt: Date | null; lastRunAt: Date | null };
type Row = Omit<AlertSubject, 'state'> & Omit<AlertState, keyof Instants> & Instants;

/**
 * Certificates are examined when at most this many days are left, then again after this time or when the days change.
 */
const sslDays = 30;
const sslEvery = `interval '1 hour'`;
const isSslDue = (now: string) => `coalesce(st.ssl_days_remaining <= ${sslDays} and (
  s.ssl_looked_at is null or s.ssl_looked_at <= ${now}::timestamptz - ${sslEvery} or s.ssl_days is distinct from st.ssl_days_remaining),
  false)`;

/**
 * Updates checks that were passing and whose new runs have all passed, so that no alert can follow.
 * `runs` has the newest run of each check. One statement for all checks; returns those that it has updated.
 */
export async function followQuietChecks(
  tx: Queryable,
  { runs, now }: { runs: readonly Run[]; now: Date },
): Promise<{ checkId: string; isSslDue: boolean }[]> {
  return tx.query(
    `update alert_states s set last_run_at = r.at, last_run_id = r.run_id
     from unnest($1::uuid[], $2::timestamptz[], $3::uuid[]) as r (check_id, at, run_id)
     left join check_statuses st on st.check_id = r.check_id
     where s.check_id = r.check_id and s.status = 'passing' and (s.last_run_at is null or s.last_run_at <= r.at
       or s.last_run_at > $4::timestamptz + ${clockSkewSql})
     returning s.check_id as "checkId", ${isSslDue('$4')} as "isSslDue"`,
    [
      runs.map(({ checkId }) => checkId),
      runs.map(({ at }) => new Date(at)),
      runs.map(({ runId }) => runId),
      now,
    ],
  );
}

/** Creates states for checks that have none yet. */
export async function ensureStates(tx: Queryable, checkIds: readonly string[]): Promise<void> {
  await tx.query(
    `insert into alert_states (check_id, account_id)
     select id, account_id from checks where id = any($1::uuid[]) order by id on conflict do nothing`,
    [[...checkIds]],
  );
}

const subject = (
  now: string,
) => `select s.check_id as "checkId", s.account_id as "accountId", s.status, s.since, s.runs,
  s.alerted, s.silent, s.reminders, s.alerted_at as "alertedAt", s.told as "notified", s.told_failure as "notifiedOfFailure",
  s.has_incident as "hasIncident", s.last_run_at as "lastRunAt", s.last_run_id as "lastRunId",
  s.result_id as "resultId", s.run_locations as "runLocations", c.name, c.check_type as "checkType",
  c.definition->>'description' as description, c.tags || coalesce(g.tags, '{}') as tags, c.group_id::float8 as "groupId",
  g.name as "groupName", c.muted or coalesce(g.muted, false) as muted,
  c.activated and coalesce(g.activated, true) as activated,
  (c.definition->>'useGlobalAlertSettings')::boolean as "useGlobal", c.definition->'alertSettings' as own,
  (g.definition->>'useGlobalAlertSettings')::boolean as "groupUseGlobal", g.definition->'alertSettings' as "groupOwn",
  a.alert_settings as account, c.definition->'triggerIncident' as trigger,
  nullif(c.definition->>'sslCheckDomain', '') as "sslCheckDomain", ${isSslDue(now)} as "isSslDue"
  from alert_states s
  join checks c on c.id = s.check_id
  join accounts a on a.id = c.account_id
  left join check_groups g on g.id = c.group_id
  left join check_statuses st on st.check_id = s.check_id`;

/** Locks and reads the states of these checks, in the order of their ids; omits checks that no longer exist. */
export async function lockSubjects(
  tx: Queryable,
  { checkIds, now }: { checkIds: readonly string[]; now: Date },
): Promise<AlertSubject[]> {
  const rows = await tx.query<Row>(
    `${subject('$2')} where s.check_id = any($1::uuid[]) order by s.check_id for update of s`,
    [[...checkIds], now],
  );
  return rows.map(subjectOf);
}

/**
 * SQL: the last run of the check `s` was learned of late, and the agent that holds the check has not delivered its later
 * runs yet, or they have not been followed. They decide whether an alert that became due meanwhile is raised.
 */
const awaitsRuns = `s.last_learned_at - s.last_run_at > interval '2 minutes' and (exists (
  select 1 from kept_checks k join agents h on h.id = k.agent_id
  where k.check_id = s.check_id and k.dropped_at is null and coalesce(h.reported_to < s.due_at, true))
  or exists (select 1 from finished_runs f where f.check_id = s.check_id))`;

/** Whether lockDueSubjects may find any, also if another replica has locked them. */
export async function isAnySubjectDue(db: Queryable, now: Date): Promise<boolean> {
  const rows = await db.query(
    `select 1 from alert_states s where s.due_at <= $1 and (${awaitsRuns}) is not true limit 1`,
    [now],
  );
  return rows.length > 0;
}

/** Locks and reads checks with a due alert or reminder; skips those that another replica has locked. */
export async function lockDueSubjects(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<AlertSubject[]> {
  const rows = await tx.query<Row>(
    `${subject('$1')} where s.due_at <= $1 and (${awaitsRuns}) is not true
     order by s.due_at limit $2 for update of s skip locked`,
    [now, limit],
  );
  return rows.map(subjectOf);
}

function subjectOf(row: Row): AlertSubject {
  const {
    status,
    since,
    runs,
    alerted,
    silent,
    reminders,
    alertedAt,
    notified,
    notifiedOfFailure,
    ...others
  } = row;
  const { hasIncident, lastRunAt, lastRunId, ...rest } = others;
  const state: AlertState = {
    status,
    since: since?.getTime() ?? null,
    runs,
    alerted,
    silent,
    reminders,
    alertedAt: alertedAt?.getTime() ?? null,
    notified,
    notifiedOfFailure,
    hasIncident,
    lastRunAt: lastRunAt?.getTime() ?? null,
    lastRunId,
  };
  return { ...rest, state };
}

export type StateToStore = Pick<AlertSubject, 'checkId' | 'state' | 'resultId' | 'runLocations'> & {
  dueAt: number | null;
};

const instant = (time: number | null) => (time === null ? null : new Date(time));

/** Writes states that this transaction has locked. */
export async function saveStates(tx: Queryable, states: readonly StateToStore[], now: Date): Promise<void> {
  if (states.length === 0) return;
  await tx.query(
    `update alert_states s set status = r."status", since = r."since", runs = r."runs", alerted = r."alerted",
       silent = r."silent", reminders = r."reminders", alerted_at = r."alertedAt", told = r."notified",
       told_failure = r."notifiedOfFailure", has_incident = r."hasIncident", last_run_at = r."lastRunAt",
       last_learned_at = case when s.last_run_at is distinct from r."lastRunAt" then $2::timestamptz else s.last_learned_at end,
       last_run_id = r."lastRunId", result_id = r."resultId", run_locations = r."runLocations", due_at = r."dueAt"
     from jsonb_to_recordset($1::jsonb) as r ("checkId" uuid, "status" text, "since" timestamptz, "runs" integer,
       "alerted" boolean, "silent" boolean, "reminders" integer, "alertedAt" timestamptz, "notified" boolean,
       "notifiedOfFailure" boolean, "hasIncident" boolean, "lastRunAt" timestamptz, "lastRunId" uuid, "resultId" uuid,
       "runLocations" text[], "dueAt" timestamptz)
     where s.check_id = r."checkId"`,
    [
      JSON.stringify(
        states.map(({ state, dueAt, ...rest }) => ({
          ...rest,
          ...state,
          since: instant(state.since),
          alertedAt: instant(state.alertedAt),
          lastRunAt: instant(state.lastRunAt),
          dueAt: instant(dueAt),
        })),
      ),
      now,
    ],
  );
}

/** Clears the due time of these checks; their next run may set it again. */
export async function forgetDue(tx: Queryable, checkIds: readonly string[]): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query('update alert_states set due_at = null where check_id = any($1::uuid[])', [[...checkIds]]);
}

/** Postpones the due time of a check to `until`. */
export async function putOffDue(
  db: Queryable,
  { checkId, until }: { checkId: string; until: Date },
): Promise<void> {
  await db.query('update alert_states set due_at = $2 where check_id = $1 and due_at is not null', [
    checkId,
    until,
  ]);
}
