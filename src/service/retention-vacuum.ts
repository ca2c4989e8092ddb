import type { Log } from '../log.ts';
import type { Db } from './db/database.ts';
import { createLoop, type Loop } from './scheduler-loop.ts';

/**
 * What a server does by itself and the embedded database does not. It has no autovacuum: rows that were changed or
 * deleted keep their space until someone gives it back. Tables that change much are kept small, and a small table takes
 * milliseconds. And it makes no checkpoints: its write-ahead log would grow until the disk is full.
 */
const tables = [
  'jobs',
  'checks',
  'check_statuses',
  'alert_states',
  'finished_runs',
  'missed_runs',
  'agents',
  'agent_events',
  'artifacts',
  'session_runs',
  'run_logs',
  'rollups_due',
  'location_samples',
  'queue_waits',
] as const;
const everyMs = 1_000;
/** Growth since the last time that makes it worth while. */
const grownBytes = 256 * 1024;
/** Log since the last checkpoint that makes one worth while: small enough for one to take milliseconds. */
const logBytes = 4 * 1024 * 1024;

export function createVacuum({ db, log }: { db: Db; log: Log }): Loop {
  const sizes = new Map<string, number>();

  async function sizesNow(): Promise<{ name: string; bytes: number }[]> {
    return db.query(
      'select name, pg_relation_size(name::regclass) as bytes from unnest($1::text[]) as wanted (name)',
      [tables],
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
      const grown = (await sizesNow()).filter(
        ({ name, bytes }) => bytes > (sizes.get(name) ?? 0) + grownBytes,
      );
      for (const { name } of grown) await db.exec(`vacuum ${name}`);
      for (const { name, bytes } of grown.length > 0 ? await sizesNow() : []) sizes.set(name, bytes);
      if ((await logSinceCheckpoint()) > logBytes) await db.exec('checkpoint');
      return everyMs;
    },
  });
}
