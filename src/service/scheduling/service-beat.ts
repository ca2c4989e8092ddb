import type { Log } from '../../log.ts';
import type { Db, Queryable } from '../db/database.ts';
import { clockSkewSql } from '../engine/clock-skew.ts';
import { createLoop, type Loop } from '../engine/loop.ts';

/**
 * When the service was last away: no replica could write to the database, because none was running, or because the
 * database was down, paused, full, read-only or out of connections. During that time no agent could renew a lease,
 * claim a run or report a result. All replicas share the record, so one that has just started knows it too. A jump of
 * the service's clock counts as well: by that clock, nobody did anything meanwhile.
 */
export type Away = { from: number; to: number };

/**
 * A longer time without a beat counts as away. Replicas beat once a second. An agent renews its leases every 5 s and
 * they last 30 s, so after a shorter time every living agent still renews in time.
 */
export const awayAfterMs = 10_000;
const everyMs = 1_000;

/** Records that the service works at `now`, and returns when it was last away; null = never. */
async function writeBeat(db: Queryable, now: number): Promise<Away | null> {
  const away = `$1::timestamptz - b.at > interval '${awayAfterMs} milliseconds'`;
  const rows = await db.query<{ from: Date | null; to: Date | null }>(
    // A replica's clock may be behind; only a time that a wrong clock has written is set back.
    `insert into service_beat as b (at) values ($1) on conflict (id) do update set
       away_from = case when ${away} then b.at else b.away_from end,
       away_to = case when ${away} then $1 else b.away_to end,
       at = case when b.at > $1::timestamptz + ${clockSkewSql} then $1 else greatest(b.at, $1) end
     returning away_from as "from", away_to as "to"`,
    [new Date(now)],
  );
  return awayOf(rows[0]);
}

function awayOf(row: { from: Date | null; to: Date | null } | undefined): Away | null {
  const { from, to } = row ?? {};
  return from instanceof Date && to instanceof Date ? { from: from.getTime(), to: to.getTime() } : null;
}

/**
 * Beats, and returns the moment of the beat and when the service was last away. A statement that a paused database has
 * delayed carries the time before the pause, so the service beats until an answer is prompt: the pause itself is then
 * recorded. Rejects while the database cannot write.
 */
export async function beat(db: Db, now: () => number): Promise<{ at: number; away: Away | null }> {
  for (;;) {
    const at = now();
    const away = await writeBeat(db, at);
    if (now() - at <= awayAfterMs / 2) return { at, away };
  }
}

/** Like beat, but writes only if no replica has beaten lately. */
export async function findAway(db: Db, now: () => number): Promise<{ at: number; away: Away | null }> {
  const at = now();
  const [row] = await db.query<{ at: Date; from: Date | null; to: Date | null }>(
    'select at, away_from as "from", away_to as "to" from service_beat',
  );
  const isFresh = (ageMs: number) => ageMs <= awayAfterMs / 2;
  if (row !== undefined && isFresh(at - row.at.getTime()) && isFresh(now() - at)) {
    return { at, away: awayOf(row) };
  }
  return beat(db, now);
}

/**
 * Creates the loop that beats once a second. It does nothing else, because work that takes long would look as if the
 * service were away.
 */
export function createBeat({ db, now, log }: { db: Db; now: () => number; log: Log }): Loop {
  return createLoop({
    name: 'beat',
    log,
    work: async () => {
      await beat(db, now);
      return everyMs;
    },
  });
}
