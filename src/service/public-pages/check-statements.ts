import type { Queryable } from '../db/database.ts';

/** Statements on the checks of the services of a status page. */

export type PageService = {
  id: string;
  createdAt: Date;
  /** How many of its activated checks have each status now. A check that could not be measured counts nowhere. */
  passed: number;
  degraded: number;
  failed: number;
};

/** The services of a page, and the statuses of their checks. */
export async function servicesOfPage(db: Queryable, pageId: string): Promise<PageService[]> {
  return db.query<PageService>(
    `select s.id, s.created_at as "createdAt",
       count(*) filter (where st.status = 'passed')::integer as passed,
       count(*) filter (where st.status = 'degraded')::integer as degraded,
       count(*) filter (where st.status = 'failed')::integer as failed
     from status_page_services s
       left join status_page_service_checks sc on sc.service_id = s.id
       left join checks c on c.id = sc.check_id
       left join check_groups g on g.id = c.group_id
       left join check_statuses st on st.check_id = c.id and c.activated and g.activated is not false
     where s.id in (select l.service_id from status_page_card_services l
       join status_page_cards k on k.id = l.card_id where k.page_id = $1)
     group by s.id`,
    [pageId],
  );
}

export type ServiceDay = {
  serviceId: string;
  /** Its beginning (UTC). */
  day: Date;
  /** Runs that describe the target, and those of them that did not fail. */
  runs: number;
  up: number;
};

/** The runs of the checks of these services, by day. Today's come from its full hours. */
export async function daysOfServices(
  db: Queryable,
  { serviceIds, since, today }: { serviceIds: readonly string[]; since: Date; today: Date },
): Promise<ServiceDay[]> {
  if (serviceIds.length === 0) return [];
  return db.query<ServiceDay>(
    `select sc.service_id as "serviceId", d.day, sum(d.runs)::integer as runs, sum(d.up)::integer as up
     from status_page_service_checks sc cross join lateral (
       select day, runs, up from report_days where check_id = sc.check_id and day >= $2 and day < $3
       union all
       select $3::timestamptz, count, case when status = 'failed' then 0 else count end from check_rollups
       where check_id = sc.check_id and metric = 'retries' and hour >= $3 and status in ('passed', 'degraded', 'failed')
     ) as d
     where sc.service_id = any($1::uuid[]) group by 1, 2 having sum(d.runs) > 0`,
    [[...serviceIds], since, today],
  );
}
