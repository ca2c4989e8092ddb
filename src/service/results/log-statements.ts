import type { Queryable } from '../db/database.ts';
import { toJsonb } from '../db/jsonb.ts';

/** Statements on what runs tell while they go on. Lines come in parts, so that a long log is never written again whole. */

/** Of each job: older parts go when those after them hold so much. */
export const runLogLimits = { lines: 500, chars: 256 * 1024 } as const;

/** Takes lines of jobs that are there; drops what is more than the limits. */
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

/** Of a part that is more than what is wanted of a whole log. */
const longPartLines = 10;

/**
 * The last lines that are kept of these jobs, oldest first, each as it came: of each parts that have `each` characters, and
 * of all together about `all` of them.
 */
export async function linesOfJobs(
  db: Queryable,
  { jobIds, each, all }: { jobIds: readonly string[]; each: number; all: number },
): Promise<Map<string, string[]>> {
  const byJob = new Map<string, string[]>();
  if (jobIds.length === 0) return byJob;
  const rows = await db.query<{ jobId: string; lines: string[] }>(
    `select job_id as "jobId",
       case when chars > most then lines[greatest(1, line_count - ${longPartLines - 1}):] else lines end as lines
     from (
       select l.*, share.most, sum(chars) over (partition by job_id order by part desc) - chars as later
       from run_logs l, (select least($2::integer, $3::integer / greatest(1, count(distinct job_id))) as most
         from run_logs where job_id = any($1::uuid[])) as share
       where job_id = any($1::uuid[])
     ) as known
     where later < most order by job_id, part`,
    [jobIds, each, all],
  );
  for (const { jobId, lines } of rows) {
    const known = byJob.get(jobId);
    if (known === undefined) byJob.set(jobId, lines);
    else known.push(...lines);
  }
  return byJob;
}

/** Forgets the logs of runs that have ended, in whatever way. */
export async function deleteEndedLogs(db: Queryable): Promise<void> {
  await db.query(
    `delete from run_logs l where not exists (select 1 from jobs j where j.id = l.job_id and j.state <> 'abandoned')`,
  );
}
