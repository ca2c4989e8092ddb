import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createSmallDisk } from '../helpers/small-disk.ts';
import { postgresBinaries, startPostgres, type Postgres } from '../helpers/service/postgres.ts';
import type { Delivery, Job, LoggedNotification, StoredResult } from './facts.ts';
import { sleep, until } from './programs.ts';

/** A real PostgreSQL server that faults befall, and the oracle's own record of jobs in it. */

export type Holder = { checkId: string; agentId: string; locationId: string; isHeld: boolean };

export type ChaosDatabase = {
  url: string;
  postgres: Postgres;
  query: <T extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]) => Promise<T[]>;
  /** Triggers keep each job, each run to follow and each notification that there ever was; call it when the service has made its tables. */
  record: () => Promise<void>;
  jobs: () => Promise<Job[]>;
  /** Each time that a job was handed out. */
  deliveries: () => Promise<Delivery[]>;
  /** Which agents hold or have held which checks. */
  holders: () => Promise<Holder[]>;
  results: () => Promise<StoredResult[]>;
  /** The log of notifications, in the order in which they were raised. */
  logged: () => Promise<LoggedNotification[]>;
  /** The place of each result in the order in which the service followed them. */
  followed: () => Promise<Map<string, number>>;
  stuckJobs: () => Promise<number>;
  /** SIGKILL for the whole server. */
  kill: () => void;
  /** Starts a killed server, or restarts a running one. */
  restart: () => Promise<void>;
  /** SIGSTOP or SIGCONT for all its processes. */
  signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
  /** Fills its disk, or frees it. Only with `diskMb`. */
  fillDisk: () => void;
  freeDisk: () => void;
  stop: () => Promise<void>;
};

const nobody = 65_534;

/** Starts the server; with `diskMb` its data is on a disk of that size (needs the right to mount). `settings` are more of its own. */
export async function startDatabase({
  diskMb,
  settings: more = [],
}: { diskMb?: number; settings?: readonly string[] } = {}): Promise<ChaosDatabase> {
  const binaries = await postgresBinaries();
  if (binaries === null) throw new Error('this needs PostgreSQL: apt-get install postgresql');
  const disk = diskMb === undefined ? null : createSmallDisk(diskMb);
  const settings = [
    'max_wal_size=64MB',
    'min_wal_size=32MB',
    'wal_keep_size=0',
    'shared_buffers=64MB',
    ...more,
  ];
  const postgres = await startPostgres(
    binaries,
    settings,
    disk === null
      ? undefined
      : (dataDir) => {
          disk.mount(dataDir, { uid: nobody, gid: nobody });
          const args = [
            '-D',
            dataDir,
            '-U',
            'postgres',
            '-A',
            'trust',
            '-E',
            'UTF8',
            '--locale=C',
            '--no-sync',
          ];
          execFileSync(join(binaries, 'initdb'), args, {
            uid: nobody,
            gid: nobody,
            cwd: '/',
            stdio: 'ignore',
          });
        },
  );
  const url = postgres.url('postgres');

  async function query<T extends pg.QueryResultRow>(
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<T[]> {
    // A connection of its own each time: faults end them.
    const client = new pg.Client({ connectionString: url, application_name: 'oracle' });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<T>(sql, [...values])).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  const processes = (): number[] => {
    const all = new Map<number, number>();
    for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        all.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
      } catch {
        // gone meanwhile
      }
    }
    return [
      postgres.pid(),
      ...[...all].filter(([, parent]) => parent === postgres.pid()).map(([pid]) => pid),
    ];
  };
  const signalAll = (name: NodeJS.Signals) => {
    for (const pid of processes()) {
      try {
        process.kill(pid, name);
      } catch {
        // gone meanwhile
      }
    }
  };

  return {
    url,
    postgres,
    query,
    record: async () => {
      await query(`
        create table if not exists oracle_jobs (id uuid primary key, check_id uuid, due_at timestamptz, session_id uuid);
        create table if not exists oracle_deliveries (token uuid, job_id uuid, check_id uuid, agent_id uuid, at timestamptz,
          primary key (token, job_id));
        create or replace function oracle_note() returns trigger language plpgsql as $$ begin
          insert into oracle_jobs values (new.id, new.check_id, new.due_at, new.session_id) on conflict do nothing;
          if new.lease_token is not null then
            insert into oracle_deliveries values (new.lease_token, new.id, new.check_id, new.agent_id, clock_timestamp())
            on conflict do nothing;
          elsif tg_op = 'UPDATE' and old.lease_token is not null and not old.lease_token = any(new.past_tokens) then
            delete from oracle_deliveries where token = old.lease_token and job_id = new.id;
          end if;
          return null; end $$;
        drop trigger if exists oracle on jobs;
        create trigger oracle after insert or update of lease_token on jobs for each row execute function oracle_note();
        create table if not exists oracle_followed (place bigint primary key, result_id uuid);
        create or replace function oracle_follow() returns trigger language plpgsql as $$ begin
          insert into oracle_followed values (new.id, new.result_id); return null; end $$;
        drop trigger if exists oracle on finished_runs;
        create trigger oracle after insert on finished_runs for each row execute function oracle_follow();
        create table if not exists oracle_notifications (place bigint generated always as identity, id uuid primary key);
        create or replace function oracle_raise() returns trigger language plpgsql as $$ begin
          insert into oracle_notifications (id) values (new.id); return null; end $$;
        drop trigger if exists oracle on alert_notifications;
        create trigger oracle after insert on alert_notifications for each row execute function oracle_raise();
        insert into oracle_jobs select id, check_id, due_at, session_id from jobs on conflict do nothing`);
    },
    jobs: async () =>
      (
        await query<{ id: string; check_id: string; due_at: Date }>(
          // The moment of a run that an agent made itself is the time in the id of its job.
          `select id, check_id, due_at from oracle_jobs
           union select distinct job_id, check_id,
             to_timestamp(('x' || left(replace(job_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
           from check_results where job_id not in (select id from oracle_jobs) and lease_token in (select id from agents)`,
        )
      ).map((row) => ({ id: row.id, checkId: row.check_id, dueAt: row.due_at.getTime() })),
    deliveries: async () =>
      (
        await query<{ token: string; job_id: string; check_id: string; agent_id: string; at: Date }>(
          'select token, job_id, check_id, agent_id, at from oracle_deliveries',
        )
      ).map((row) => ({
        jobId: row.job_id,
        checkId: row.check_id,
        token: row.token,
        agentId: row.agent_id,
        at: row.at.getTime(),
      })),
    holders: async () =>
      (
        await query<{ check_id: string; agent_id: string; location_id: string; is_held: boolean }>(
          'select check_id, agent_id, location_id, dropped_at is null as is_held from kept_checks',
        )
      ).map((row) => ({
        checkId: row.check_id,
        agentId: row.agent_id,
        locationId: row.location_id,
        isHeld: row.is_held,
      })),
    results: async () =>
      (
        await query<{
          id: string;
          check_id: string;
          job_id: string | null;
          lease_token: string | null;
          result_type: 'FINAL' | 'ATTEMPT';
          status: string;
          started_at: Date;
          stopped_at: Date;
          stored_at: Date;
          is_quiet: boolean;
          reason: StoredResult['reason'];
          details: { count: number; from: string; to: string; reason: string } | null;
          ping: string | null;
          other_from: string | null;
          other_to: string | null;
        }>(
          `select id, check_id, job_id, lease_token, result_type, status, started_at, stopped_at, stored_at,
             result_type = 'FINAL' and lease_token in (select id from agents)
               and not exists (select 1 from finished_jobs f where f.job_id = check_results.job_id) as is_quiet,
             reason, body->'details' as details, body->'details'->>'userAgent' as ping,
             substring((body->'log')::text from 'the other attempt began at ([0-9TZ:.-]+)') as other_from,
             substring((body->'log')::text from 'the other attempt began at [0-9TZ:.-]+ and ended at ([0-9TZ:.-]+)') as other_to
           from check_results`,
        )
      ).map((row) => ({
        id: row.id,
        checkId: row.check_id,
        jobId: row.job_id,
        token: row.lease_token,
        resultType: row.result_type,
        status: row.status,
        startedAt: row.started_at.getTime(),
        stoppedAt: row.stopped_at.getTime(),
        storedAt: row.stored_at.getTime(),
        isQuiet: row.is_quiet,
        reason: row.reason,
        other:
          row.other_from === null || row.other_to === null
            ? null
            : { from: Date.parse(row.other_from), to: Date.parse(row.other_to) },
        ping: row.ping,
        missed:
          row.status === 'missed' && row.job_id === null && row.details !== null
            ? {
                count: row.details.count,
                from: Date.parse(row.details.from),
                to: Date.parse(row.details.to),
                reason: row.details.reason,
              }
            : null,
      })),
    logged: async () =>
      (
        await query<{
          check_id: string;
          alert_type: string;
          created_at: Date;
          is_superseded: boolean;
          is_limited: boolean;
        }>(
          `select n.check_id, n.alert_type, n.created_at,
             coalesce(n.result like '%a newer alert of the same check replaced it%', false) as is_superseded,
             coalesce(n.result ~ '^this channel has had \\d+ notifications', false) as is_limited
           from alert_notifications n join oracle_notifications o on o.id = n.id
           where n.check_id is not null order by o.place`,
        )
      ).map((row) => ({
        checkId: row.check_id,
        type: row.alert_type,
        createdAt: row.created_at.getTime(),
        isSuperseded: row.is_superseded,
        isLimited: row.is_limited,
      })),
    followed: async () =>
      new Map(
        (
          await query<{ result_id: string; place: string }>('select result_id, place from oracle_followed')
        ).map((row) => [row.result_id, Number(row.place)]),
      ),
    stuckJobs: async () =>
      Number(
        (
          await query<{ count: string }>(
            `select count(*) from jobs where state = 'leased' and lease_expires_at < now() - interval '60 s'`,
          )
        )[0]?.count ?? 0,
      ),
    kill: () => signalAll('SIGKILL'),
    restart: async () => {
      await until(async () => {
        try {
          await postgres.restart();
          return true;
        } catch {
          // The processes of the killed server have not all gone yet.
          await sleep(200);
          return false;
        }
      }, 'PostgreSQL to start again');
    },
    signal: signalAll,
    fillDisk: () => {
      if (disk === null) throw new Error('fillDisk needs diskMb');
      disk.fill();
    },
    freeDisk: () => disk?.free(),
    stop: async () => {
      signalAll('SIGCONT');
      await postgres.stop(() => disk?.unmount());
    },
  };
}
