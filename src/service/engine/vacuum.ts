import type { Log } from '../../log.ts';
import type { Db } from '../db/database.ts';
import { createLoop, type Loop } from './loop.ts';

/**
 * Maintenance that a PostgreSQL server does by itself and the embedded database does not. Without autovacuum, the
 * space of changed and deleted rows is never reused; vacuuming often keeps tables small and takes milliseconds.
 * Without statistics, the planner assumes tables of a few rows and joins thousands row by row. Without checkpoints,
 * the write-ahead log would fill the disk.
 */
const everyMs = 1_000;
/** A table is vacuumed when it has this many dead rows and this share of dead rows. */
const deadRows = 1_000;
const deadShare = 0.2;
/** A table is analysed when this many rows and this share of rows have changed since the last time. */
const changedRows = 500;
const changedShare = 0.2;
/**
 * Bytes of log since the last checkpoint that trigger the next one. Small enough for a checkpoint to take
 * milliseconds.
 */
const logBytes = 4 * 1024 * 1024;

/** Creates the maintenance loop of the embedded database. */
export function createVacuum({ db, log }: { db: Db; log: Log }): Loop {
  /**
   * Finds the tables to vacuum or analyse, including those of the background queues, because any table may change a
   * lot. Partitions of events and results need no statistics: they are read by time and by check.
   */
  async function tablesToMaintain(): Promise<
    { name: string; needsVacuum: boolean; needsAnalyze: boolean }[]
  > {
    return db.query(
      `select * from (
         select t.relid::regclass::text as name, n_dead_tup > $1::float8 + $2::float8 * n_live_tup as "needsVacuum",
           n_mod_since_analyze > $3::float8 + $4::float8 * n_live_tup and not c.relispartition as "needsAnalyze"
         from pg_stat_user_tables t join pg_class c on c.oid = t.relid
       ) as tables where "needsVacuum" or "needsAnalyze" order by name`,
      [deadRows, deadShare, changedRows, changedShare],
    );
  }

  async function logSinceCheckpoint(): Promise<number> {
    const [row] = await db.query<{ bytes: number }>(
      'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) as bytes from pg_control_checkpoint()',
    );
    return row?.bytes ?? 0;
  }

  /** The engine hangs if it cannot create a new log file. On a full disk it needs one that already exists. */
  async function reserveLog(): Promise<void> {
    const files = await db.query(`select 1 from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`);
    if (files.length > 1) return;
    await db.query('select pg_switch_wal()');
    // The file that was in use becomes the next one.
    await db.exec('checkpoint');
  }

  let reserved = false;
  return createLoop({
    name: 'vacuum',
    log,
    work: async () => {
      if (!reserved) await reserveLog();
      reserved = true;
      for (const { name, needsVacuum, needsAnalyze } of await tablesToMaintain()) {
        if (needsVacuum) await db.exec(`vacuum ${name}`);
        if (needsAnalyze) await db.exec(`analyze ${name}`);
      }
      if ((await logSinceCheckpoint()) > logBytes) await db.exec('checkpoint');
      return everyMs;
    },
  });
}
