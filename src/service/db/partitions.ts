import { sqlState, type Db, type Queryable } from './database.ts';
import { dayMs } from '../../durations.ts';

/** Tables that are partitioned by day (UTC), and the days for which they have partitions. */

const tables = ['check_results', 'result_bases', 'finished_jobs'] as const;
type PartitionedTable = (typeof tables)[number];

/** Arbitrary, but the same in every replica. */
const advisoryLock = 4_400_003;
const lockNotAvailable = '55P03';

/**
 * A row's day has no partition yet. The transaction is rolled back, the partition is created, and the transaction
 * runs again.
 */
export class PartitionMissing extends Error {
  readonly days: readonly number[];
  constructor(days: readonly number[]) {
    super(`no partitions for the days ${days.map(suffix).join(', ')}`);
    this.name = 'PartitionMissing';
    this.days = days;
  }
}

export type Partitions = {
  /** Throws PartitionMissing unless each of these times (milliseconds since the epoch) has a partition. */
  check(times: readonly number[]): void;
  /** Runs `work` again after creating the partitions that it needs. */
  withDays<T>(work: () => Promise<T>): Promise<T>;
  /** Creates the partitions of these times. Not within a transaction. */
  make(times: readonly number[]): Promise<void>;
  /** Drops partitions of days that ended before `time` and returns their names. */
  drop(table: PartitionedTable, before: number): Promise<string[]>;
};

/** Creates the partitions of the tables above. It caches which days have them. */
export function createPartitions(db: Db): Partitions {
  /** Start (milliseconds) of the days that are known to have partitions. */
  const known = new Set<number>();

  async function make(times: readonly number[]): Promise<void> {
    const days = [...new Set(times.map(dayOf))].filter((day) => !known.has(day));
    for (const day of days) {
      await db.tx(async (tx) => {
        await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
        for (const table of tables) await makePartition(tx, table, day);
      });
      known.add(day);
    }
  }

  return {
    check: (times) => {
      const missing = [...new Set(times.map(dayOf))].filter((day) => !known.has(day));
      if (missing.length > 0) throw new PartitionMissing(missing);
    },
    withDays: async (work) => {
      for (let tries = 0; ; tries++) {
        try {
          return await work();
        } catch (error) {
          if (tries === 3) throw error;
          if (error instanceof PartitionMissing) await make(error.days);
          // Another replica dropped it, or the database was restored. The row is not at fault: the partitions are
          // looked up again.
          else if (isWithoutPartition(error)) known.clear();
          else throw error;
        }
      }
    },
    make,
    drop: async (table, before) => {
      const names = await partitionsOf(db, table);
      // "check_results_20260304": names sort by day.
      const old = names.filter((name) => name < `${table}_${suffix(dayOf(before))}`);
      const dropped: string[] = [];
      for (const name of old) {
        if (!(await dropPartition(db, name))) continue;
        known.delete(dayOfName(name));
        dropped.push(name);
      }
      return dropped;
    },
  };
}

/** Whether a row found no partition. The error is a check_violation, but names no constraint. */
function isWithoutPartition(error: unknown): boolean {
  if (sqlState(error) !== '23514') return false;
  const { constraint } = error as { constraint?: unknown }; // an object, since it has a SQLSTATE
  return typeof constraint !== 'string' || constraint === '';
}

/** Drops a partition. Returns false if its parent table was in use all the time; a later call may succeed. */
export async function dropPartition(db: Db, name: string): Promise<boolean> {
  try {
    await db.tx(async (tx) => {
      // The drop waits for statements on the parent table, and later statements queue behind it. So it waits for 1 s
      // only.
      await tx.query(`select set_config('lock_timeout', '1000', true)`);
      await tx.exec(`drop table if exists ${name}`);
    });
    return true;
  } catch (error) {
    if (sqlState(error) === lockNotAvailable) return false;
    throw error;
  }
}

/** Start of the UTC day of a time, both in milliseconds since the epoch. */
export function dayOf(time: number): number {
  return Math.floor(time / dayMs) * dayMs;
}

const suffix = (day: number) => new Date(day).toISOString().slice(0, 10).replaceAll('-', '');

function dayOfName(name: string): number {
  const [, year, month, day] = /(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day));
}

async function partitionsOf(db: Queryable, table: PartitionedTable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1',
    [table],
  );
  return rows.map(({ name }) => name).filter((name) => /^[a-z_]+_\d{8}$/.test(name));
}

async function makePartition(tx: Db, table: PartitionedTable, day: number): Promise<void> {
  const name = `${table}_${suffix(day)}`;
  const [found] = await tx.query<{ found: boolean }>('select to_regclass($1) is not null as found', [name]);
  if (found?.found === true) return;
  const from = new Date(day).toISOString();
  const to = new Date(day + dayMs).toISOString();
  // The partition is attached rather than created in place. That takes a weaker lock on the parent, so nobody waits.
  await tx.exec(`create table ${name} (like ${table} including defaults including constraints)`);
  await tx.exec(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
}
