import type { AlertSettings } from '../accounts/alert-settings.ts';
import type { AlertState } from './state-machine.ts';
import type { Queryable } from '../db/database.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';

/** Statements on how far each check is with its alerts. */

export type IncidentTrigger = { serviceId: string } & { readonly [field: string]: unknown };

/** A check with its state, and all that decides about its alerts. */
export type AlertSubject = {
  checkId: string;
  accountId: string;
  state: AlertState;
  /** Of the last run that counted; null before there was one. */
  resultId: string | null;
  runLocations: string[];
  name: string;
  checkType: string;
  description: string | null;
  /** Its own and its group's. */
  tags: string[];
  groupId: number | null;
  groupName: string | null;
  /** Of the check or its group. */
  muted: boolean;
  /** Both. */
  activated: boolean;
  useGlobal: boolean | null;
  own: Partial<AlertSettings> | null;
  groupUseGlobal: boolean | null;
  groupOwn: Partial<AlertSettings> | null;
  account: Partial<AlertSettings> | null;
  trigger: IncidentTrigger | null;
  /** Of a check whose runs look at the certificate of a domain that it names. */
  sslCheckDomain: string | null;
  /** It saw a certificate that expires soon, and that has not been looked at lately. */
  looksAtSsl: boolean;
};

type Run = { checkId: string; at: number; runId: string };
type Instants = { since: Date | null; alertedAt: Date | null; lastRunAt: Date | null };
type Row = Omit<AlertSubject, 'state'> & Omit<AlertState, keyof Instants> & Instants;

/** Certificates are looked at when so few days are left, and again after this time, or when the days have changed. */
const sslDays = 30;
const sslEvery = `interval '1 hour'`;
const looksAtSsl = (now: string) => `coalesce(st.ssl_days_remaining <= ${sslDays} and (
  s.ssl_looked_at is null or s.ssl_looked_at <= ${now}::timestamptz - ${sslEvery} or s.ssl_days is distinct from st.ssl_days_remaining),
  false)`;

/**
 * The newest run of each of these checks, all of whose runs have passed: follows those that were passing, whom nothing
 * else comes of. One statement for all; the checks that it has followed.
 */
export async function followQuietChecks(
  tx: Queryable,
  { runs, now }: { runs: readonly Run[]; now: Date },
): Promise<{ checkId: string; looksAtSsl: boolean }[]> {
  return tx.query(
    `update alert_states s set last_run_at = r.at, last_run_id = r.run_id
     from unnest($1::uuid[], $2::timestamptz[], $3::uuid[]) as r (check_id, at, run_id)
     left join check_statuses st on st.check_id = r.check_id
     where s.check_id = r.check_id and s.status = 'passing' and (s.last_run_at is null or s.last_run_at <= r.at
       or s.last_run_at > $4::timestamptz + ${clockSkewSql})
     returning s.check_id as "checkId", ${looksAtSsl('$4')} as "looksAtSsl"`,
    [
      runs.map(({ checkId }) => checkId),
      runs.map(({ at }) => new Date(at)),
      runs.map(({ runId }) => runId),
      now,
    ],
  );
}

/** States for checks that have none yet. */
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
  s.alerted, s.silent, s.reminders, s.alerted_at as "alertedAt", s.told, s.told_failure as "toldFailure",
  s.has_incident as "hasIncident", s.last_run_at as "lastRunAt", s.last_run_id as "lastRunId",
  s.result_id as "resultId", s.run_locations as "runLocations", c.name, c.check_type as "checkType",
  c.definition->>'description' as description, c.tags || coalesce(g.tags, '{}') as tags, c.group_id::float8 as "groupId",
  g.name as "groupName", c.muted or coalesce(g.muted, false) as muted,
  c.activated and coalesce(g.activated, true) as activated,
  (c.definition->>'useGlobalAlertSettings')::boolean as "useGlobal", c.definition->'alertSettings' as own,
  (g.definition->>'useGlobalAlertSettings')::boolean as "groupUseGlobal", g.definition->'alertSettings' as "groupOwn",
  a.alert_settings as account, c.definition->'triggerIncident' as trigger,
  nullif(c.definition->>'sslCheckDomain', '') as "sslCheckDomain", ${looksAtSsl(now)} as "looksAtSsl"
  from alert_states s
  join checks c on c.id = s.check_id
  join accounts a on a.id = c.account_id
  left join check_groups g on g.id = c.group_id
  left join check_statuses st on st.check_id = s.check_id`;

/** These checks as far as they exist, locked, in the order of their ids. */
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

/** Checks of which something is due that no run brings, locked; those that another replica has are left out. */
export async function lockDueSubjects(
  tx: Queryable,
  { now, limit }: { now: Date; limit: number },
): Promise<AlertSubject[]> {
  const rows = await tx.query<Row>(
    `${subject('$1')} where s.due_at <= $1 order by s.due_at limit $2 for update of s skip locked`,
    [now, limit],
  );
  return rows.map(subjectOf);
}

function subjectOf(row: Row): AlertSubject {
  const { status, since, runs, alerted, silent, reminders, alertedAt, told, toldFailure, ...others } = row;
  const { hasIncident, lastRunAt, lastRunId, ...rest } = others;
  const state: AlertState = {
    status,
    since: since?.getTime() ?? null,
    runs,
    alerted,
    silent,
    reminders,
    alertedAt: alertedAt?.getTime() ?? null,
    told,
    toldFailure,
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

/** Writes states that are locked. */
export async function saveStates(tx: Queryable, states: readonly StateToStore[]): Promise<void> {
  if (states.length === 0) return;
  await tx.query(
    `update alert_states s set status = r."status", since = r."since", runs = r."runs", alerted = r."alerted",
       silent = r."silent", reminders = r."reminders", alerted_at = r."alertedAt", told = r."told",
       told_failure = r."toldFailure", has_incident = r."hasIncident", last_run_at = r."lastRunAt",
       last_run_id = r."lastRunId", result_id = r."resultId", run_locations = r."runLocations", due_at = r."dueAt"
     from jsonb_to_recordset($1::jsonb) as r ("checkId" uuid, "status" text, "since" timestamptz, "runs" integer,
       "alerted" boolean, "silent" boolean, "reminders" integer, "alertedAt" timestamptz, "told" boolean,
       "toldFailure" boolean, "hasIncident" boolean, "lastRunAt" timestamptz, "lastRunId" uuid, "resultId" uuid,
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
    ],
  );
}

/** Nothing is due for these any more, until their next run. */
export async function forgetDue(tx: Queryable, checkIds: readonly string[]): Promise<void> {
  if (checkIds.length === 0) return;
  await tx.query('update alert_states set due_at = null where check_id = any($1::uuid[])', [[...checkIds]]);
}

/** What is due for a check is tried again at `until`. */
export async function putOffDue(
  db: Queryable,
  { checkId, until }: { checkId: string; until: Date },
): Promise<void> {
  await db.query('update alert_states set due_at = $2 where check_id = $1 and due_at is not null', [
    checkId,
    until,
  ]);
}
