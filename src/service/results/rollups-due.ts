import { hourMs, minuteMs } from '../../durations.ts';
import type { Queryable } from '../db/database.ts';

/** The hour of a result, whose rollup is outdated by it. */
export type HourDue = { checkId: string; startedAt: Date };

/** Marks the rollups of these checks and hours as outdated, in the transaction that follows from the results. */
export async function noteRollupsDue(tx: Queryable, due: readonly HourDue[]): Promise<void> {
  if (due.length === 0) return;
  await tx.query(
    `insert into rollups_due (hour, check_id)
     select distinct date_trunc('hour', at, 'UTC'), check_id from unnest($1::uuid[], $2::timestamptz[]) as item (check_id, at)
     order by 1, 2 on conflict do nothing`,
    [due.map(({ checkId }) => checkId), due.map(({ startedAt }) => startedAt)],
  );
}

/**
 * Marks that this replica has written and that are certainly still there: a rollup is computed minutes after its hour has
 * ended. Only for results that come at once.
 */
export type HourMarks = {
  /** Those whose hours have to be marked. */
  missing: (due: readonly HourDue[], now: number) => HourDue[];
  /** Call it after the transaction, with what `missing` has returned and the same time. */
  areStored: (due: readonly HourDue[], now: number) => void;
};

/** They are written again after this time, because a database that was set back has lost them. */
const againMs = 10 * minuteMs;
const mostChecks = 200_000;

export function createHourMarks(): HourMarks {
  const marked = new Map<string, { hour: number; at: number }>();
  let latest = 0;
  const hourOf = ({ startedAt }: HourDue) => Math.floor(startedAt.getTime() / hourMs);
  return {
    missing: (due, now) => {
      // By a clock that was ahead, hours had ended that have not.
      if (now < latest) marked.clear();
      latest = now;
      return due.filter((one) => {
        const known = marked.get(one.checkId);
        return known === undefined || known.hour !== hourOf(one) || now - known.at >= againMs;
      });
    },
    areStored: (due, now) => {
      if (marked.size + due.length > mostChecks) marked.clear();
      for (const one of due) marked.set(one.checkId, { hour: hourOf(one), at: now });
    },
  };
}
