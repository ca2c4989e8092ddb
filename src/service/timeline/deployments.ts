import type { TimeRange } from '../analytics/ranges.ts';
import type { Queryable } from '../db/database.ts';
import type { Mark } from './schema.ts';

/** Deployments around a check: those that called its trigger URL or its group's, and those of the project that owns it. */

type Options = { accountId: string; checkId: string; range: TimeRange; limit: number };
type Variable = { key: string; value: string };

/** Reads the deployments of a range as marks, in no order; at most `limit` of each kind. */
export async function deploymentsOf(db: Queryable, options: Options): Promise<Mark[]> {
  const { accountId, checkId, range, limit } = options;
  const params = [accountId, checkId, range.from, range.to, limit];
  const calls = await db.query<{ id: string; at: Date; variables: Variable[] }>(
    `select id, started_at as at, environment_variables as variables from check_sessions
     where account_id = $1 and check_id = $2 and started_at >= $3 and started_at < $4
       and run_source in ('LEGACY_TRIGGER', 'GROUP_RUN_ALL') and jsonb_array_length(environment_variables) > 0
     order by id limit $5`,
    params,
  );
  const projects = await db.query<{ id: string; at: Date; name: string; project: string }>(
    `select d.id, d.ended_at as at, p.name, p.logical_id as project from project_resources r
       join projects p on p.id = r.project_id
       join project_deployments d on d.account_id = p.account_id and d.logical_id = p.logical_id
     where r.account_id = $1 and r.type = 'check' and r.physical_id = $2 and not r.is_detached
       and d.status = 'SUCCEEDED' and d.ended_at >= $3 and d.ended_at < $4
     order by d.ended_at limit $5`,
    params,
  );
  return [
    ...withoutRepeats(calls.map(({ variables, ...call }) => ({ ...call, text: textOf(variables) }))),
    ...projects.map(({ name, ...one }) => ({ ...one, text: `Project ${name} was deployed` })),
  ].map(({ at, text, ...one }): Mark => ({ at: at.toISOString(), kind: 'deployment', text, ...one }));
}

/** A deployment may call the trigger again, for example after a failure: the first call counts. */
function withoutRepeats<Call extends { text: string }>(calls: readonly Call[]): Call[] {
  return calls.filter(({ text }, at) => calls[at - 1]?.text !== text);
}

/** `Deployment 42 of shop (a1b2c3d) to production`, of the variables that the call named. */
function textOf(variables: readonly Variable[]): string {
  const of = (key: string) => variables.find((one) => one.key === key)?.value;
  const parts: [string, string | undefined][] = [
    ['', of('DEPLOYMENT') ?? of('DEPLOYMENT_ID')],
    ['of ', of('REPOSITORY')],
    ['', of('SHA') === undefined ? undefined : `(${of('SHA')?.slice(0, 7)})`],
    ['to ', of('ENVIRONMENT_NAME') ?? of('ENVIRONMENT_URL')],
  ];
  const known = parts.flatMap(([word, value]) => (value === undefined ? [] : [word + value]));
  return ['Deployment', ...known].join(' ');
}
