import type { Log } from '../../log.ts';
import type { Db } from '../db/database.ts';
import { createLoop, type Loop } from './loop.ts';

/**
 * What a server does by itself and the embedded database does not. It has no autovacuum: rows that were changed or
 * deleted keep their space until someone gives it back. Tables that change much are kept small, and a small table takes
 * milliseconds. Nor does it look at what is in them: without figures of a table the planner takes it for a few rows, and joins
 * thousands row by row. And it makes no checkpoints: its write-ahead log would grow until the disk is full.
 */
const everyMs = 1_000;
/** Rows without use that make it worth while: so many, and this share of the table. */
const deadRows = 1_000;
const deadShare = 0.2;
/** Rows changed since the table was looked at that make it worth while again, and this share of the table. */
const changedRows = 500;
const changedShare = 0.2;
/** Log since the last checkpoint that makes one worth while: small enough for one to take milliseconds. */
const logBytes = 4 * 1024 * 1024;

export function createVacuum({ db, log }: { db: Db; log: Log }): Loop {
  /**
   * Of all tables, those of the background work too: any may come to be changed much. Partitions of events and results need no
   * figures: they are read by time and by check.
   */
  async function worthWhile(): Promise<{ name: string; ofSpace: boolean; ofFigures: boolean }[]> {
    return db.query(
      `select * from (
         select t.relid::regclass::text as name, n_dead_tup > $1::float8 + $2::float8 * n_live_tup as "ofSpace",
           n_mod_since_analyze > $3::float8 + $4::float8 * n_live_tup and not c.relispartition as "ofFigures"
         from pg_stat_user_tables t join pg_class c on c.oid = t.relid
       ) as tables where "ofSpace" or "ofFigures" order by name`,
      [deadRows, deadShare, changedRows, changedShare],
    );
  }

  async function logSinceCheckpoint(): Promise<number> {
    const [row] = await db.query<{ bytes: number }>(
      'select pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) as bytes from pg_control_checkpoint()',
    );
    return row?.bytes ?? 0;
  }

  /** The engine hangs when it can't write a new file of its log: on a full disk it needs one that is there already. */
  async function reserveLog(): Promise<void> {
    const files = await db.query(`select 1 from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'`);
    if (files.length > 1) return;
    await db.query('select pg_switch_wal()');
    // The file that was in use until now becomes the next one.
    await db.exec('checkpoint');
  }

  let reserved = false;
  return createLoop({
    name: 'vacuum',
    log,
    work: async () => {
      if (!reserved) await reserveLog();
      reserved = true;
      for (const { name, ofSpace, ofFigures } of await worthWhile()) {
        if (ofSpace) await db.exec(`vacuum ${name}`);
        if (ofFigures) await db.exec(`analyze ${name}`);
      }
      if ((await logSinceCheckpoint()) > logBytes) await db.exec('checkpoint');
      return everyMs;
    },
  });
}
