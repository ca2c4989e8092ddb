import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Db, Queryable } from '../db/database.ts';

/** Gives the space of results that have moved back to the disk. */

/** Statements on results of the day wait for both times together, at most. */
const lockMs = 1_000;
const holdMs = 5_000;

/**
 * Gives the space of a day back, if results have moved now or if it failed the last time. Then its next look tries again: a
 * server has vacuumed the table by itself until then.
 */
export async function giveBackSpace(
  { db, log }: { db: Db; log: Log },
  { day, moved }: { day: Date; moved: number },
): Promise<void> {
  if (moved === 0 && !(await holdsSpace(db, day))) return;
  let isHeld = false;
  try {
    await shrinkDay(db, day);
  } catch (error) {
    isHeld = true;
    log.warn({ day, error: toError(error).message }, 'the space of moved results was not given back');
  }
  await db.query('update result_file_days set holds_space = $2 where day = $1', [day, isHeld]);
}

async function holdsSpace(db: Queryable, day: Date): Promise<boolean> {
  const rows = await db.query('select 1 from result_file_days where day = $1 and holds_space', [day]);
  return rows.length > 0;
}

/**
 * Rewrites the table of a day. Nobody can use it meanwhile, so it is vacuumed first: the index then has only the rows that are
 * left, and the table is read by the index. Fails if it takes too long, or if statements use the table all the time.
 */
async function shrinkDay(db: Db, day: Date): Promise<void> {
  const name = `check_results_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;
  const [key] = await db.query<{ name: string }>(
    `select indexrelid::regclass::text as name from pg_index where indrelid = to_regclass($1) and indisprimary`,
    [name],
  );
  if (key === undefined) return;
  // Without truncation, which would lock the table too.
  await db.exec(`vacuum (truncate false) ${name}`);
  await db.tx(async (tx) => {
    await tx.query(
      `select set_config('lock_timeout', '${lockMs}', true), set_config('statement_timeout', '${holdMs}', true),
         set_config('enable_sort', 'off', true)`,
    );
    await tx.exec(`cluster ${name} using ${key.name}`);
  });
}
