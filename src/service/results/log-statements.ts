import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on live logs of running jobs. Lines arrive in parts, so that a long log is never rewritten as a whole. */

/** Limits per job. Older parts are deleted when the newer ones reach them. */
export const runLogLimits = { lines: 500, chars: 256 * 1024 } as const;

/** Appends lines to the logs of existing jobs and drops parts beyond the limits. */
export async function appendRunLogs(
  db: Queryable,
  logs: readonly { jobId: string; lines: readonly string[] }[],
): Promise<void> {
  if (logs.length === 0) return;
  const parts = logs.map(({ jobId, lines }) => ({
    job: jobId,
    lines,
    chars: lines.reduce((sum, line) => sum + line.length + 1, 0),
  }));
  await db.query(
    `insert into run_logs (job_id, lines, line_count, chars)
     select item.job, item.lines, cardinality(item.lines), item.chars
     from jsonb_to_recordset($1::jsonb) as item (job uuid, lines text[], chars integer)`,
    [toJsonb(parts)],
  );
  await db.query(
    `delete from run_logs l using (
       select job_id, part, sum(line_count) over later as lines, sum(chars) over later as chars
       from run_logs where job_id = any($1::uuid[])
       window later as (partition by job_id order by part desc rows between unbounded preceding and 1 preceding)
     ) as known
     where l.job_id = known.job_id and l.part = known.part and (known.lines >= $2 or known.chars >= $3)`,
    [logs.map(({ jobId }) => jobId), runLogLimits.lines, runLogLimits.chars],
  );
}

/** Lines returned of a part that alone exceeds the share of its job. */
const longPartLines = 10;

/**
 * The last stored lines of these jobs, oldest first, in their original form. Each job gets about `each` characters at
 * most, and all jobs together about `all`.
 */
export async function linesOfJobs(
  db: Queryable,
  { jobIds, each, all }: { jobIds: readonly string[]; each: number; all: number },
): Promise<Map<string, string[]>> {
  const byJob = new Map<string, string[]>();
  if (jobIds.length === 0) return byJob;
  const rows = await db.query<{ jobId: string; lines: string[] }>(
    `select job_id as "jobId",
       case when chars > quota then lines[greatest(1, line_count - ${longPartLines - 1}):] else lines end as lines
     from (
       select l.*, share.quota, sum(chars) over (partition by job_id order by part desc) - chars as later
       from run_logs l, (select least($2::integer, $3::integer / greatest(1, count(distinct job_id))) as quota
         from run_logs where job_id = any($1::uuid[])) as share
       where job_id = any($1::uuid[])
     ) as known
     where later < quota order by job_id, part`,
    [jobIds, each, all],
  );
  for (const { jobId, lines } of rows) {
    const known = byJob.get(jobId);
    if (known === undefined) byJob.set(jobId, lines);
    else known.push(...lines);
  }
  return byJob;
}

/** Deletes the logs of finished runs, whatever their status. */
export async function deleteEndedLogs(db: Queryable): Promise<void> {
  await db.query(
    `delete from run_logs l where not exists (select 1 from jobs j where j.id = l.job_id and j.state <> 'abandoned')`,
  );
}
