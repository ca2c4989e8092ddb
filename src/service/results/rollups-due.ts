import { hourMs, minuteMs } from '../../durations.ts';
import type { Queryable } from '../db/database.ts';
import { clockSkewMs } from '../engine/clock-skew.ts';

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
 * Marks that this replica has written and that are certainly still there: rollups are computed minutes after their hour has
 * ended (`graceMs` in analytics/rollup-work.ts). Only for results that come within seconds.
 */
export type HourMarks = {
  /** The marks that have to be written with these results. */
  missing: (due: readonly HourDue[]) => HourDue[];
  /** Call it after the transaction, with what `missing` has returned. */
  areStored: (due: readonly HourDue[]) => void;
};

/** They are written again after this time, because a database that was set back has lost them. */
const againMs = 10 * minuteMs;
const mostChecks = 200_000;

export function createHourMarks(now: () => number): HourMarks {
  const marked = new Map<string, { hour: number; at: number }>();
  let latest = 0;
  const hourOf = ({ startedAt }: HourDue) => Math.floor(startedAt.getTime() / hourMs);
  return {
    missing: (due) => {
      const at = now();
      // While the clock was ahead, rollups of hours that have not ended may have been computed, and their marks deleted.
      if (at < latest - clockSkewMs) marked.clear();
      latest = at;
      return due.flatMap((one) => {
        const hour = hourOf(one);
        const known = marked.get(one.checkId);
        if (known?.hour === hour && at - known.at < againMs && at < (hour + 1) * hourMs) return [];
        // What the database had lost in the last minutes of an hour is written when the next one begins.
        const isOfHourBefore = known?.hour === hour - 1 && at - hour * hourMs < againMs;
        return isOfHourBefore
          ? [{ checkId: one.checkId, startedAt: new Date(known.hour * hourMs) }, one]
          : [one];
      });
    },
    areStored: (due) => {
      const at = now();
      for (const one of due) {
        if (!marked.has(one.checkId) && marked.size >= mostChecks) marked.clear();
        marked.set(one.checkId, { hour: hourOf(one), at });
      }
    },
  };
}
