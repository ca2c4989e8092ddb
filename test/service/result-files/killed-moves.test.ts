import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { dayMs, minuteMs } from '../../../src/durations.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { openDatabase } from '../../../src/service/db/open-database.ts';
import { apiOf, killAll, readyLine, startProgram, until, type Program } from '../../e2e/program.ts';
import { builtProgram } from '../../helpers/build.ts';
import { databases, servicePlace, type ServicePlace } from '../../helpers/service/database.ts';
import { addCheck } from '../../helpers/service/agent-service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** The compiled service, killed at each step of a move of results to files: nothing is lost, and nothing is there twice. */

const apiKey = 'sk_a_key_of_this_test';
const perDay = 130;
const daysAgo = [5, 4, 3];

type Scene = {
  env: Record<string, string>;
  checkIds: string[];
  /** Ids of all results of the checks. */
  ids: string[];
  openDb: () => Promise<Db>;
  files: () => string[];
};

let place: ServicePlace | null = null;
afterEach(async () => {
  killAll();
  await place?.remove();
  place = null;
});

/** A service that has old results of two checks, all in its database. */
async function scene(): Promise<Scene> {
  place = await servicePlace();
  const { env: own } = place;
  const env = {
    ...own,
    SERVICE_PORT: '0',
    SERVICE_API_KEY: apiKey,
    LOG_LEVEL: 'ERROR',
    SERVICE_RESULT_FILES_AFTER_DAYS: '1',
  };
  const openDb = () =>
    openDatabase({
      databaseUrl: own['DATABASE_URL'] === undefined ? null : new Secret(own['DATABASE_URL']),
      dataDir: own.SERVICE_DATA_DIR,
    });
  const first = await start({ ...env, SERVICE_RESULT_FILES_AFTER_DAYS: '0' });
  await stop(first.program);
  const db = await openDb();
  const [account] = await db.query<{ id: string }>('select id from accounts');
  const accountId = account?.id ?? '';
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const checkIds: string[] = [];
  const ids: string[] = [];
  for (let check = 0; check < 2; check++) {
    const checkId = await addCheck(db, { accountId, activated: false, now: Date.now() });
    checkIds.push(checkId);
    for (const ago of daysAgo) {
      const day = today - ago * dayMs;
      const runs = Array.from({ length: perDay }, (_, n) => ({ at: day + n * minuteMs }));
      ids.push(...(await storeRuns(db, { accountId, checkId }, runs)));
    }
  }
  await db.close();
  const files = () =>
    readdirSync(own.SERVICE_DATA_DIR, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^results\/.*\.parquet$/.test(name),
    );
  return { env, checkIds, ids: ids.sort(), openDb, files };
}

async function start(env: Record<string, string>): Promise<{ program: Program; url: string }> {
  const program = startProgram(await builtProgram(), ['service'], env);
  const { serviceUrl } = await readyLine(program, 120_000);
  return { program, url: serviceUrl };
}
async function stop(program: Program, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  program.kill(signal);
  await program.exited;
}

/** All results that the service lists, in order. */
async function listed(url: string, checkIds: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  type Page = { entries: { id: string }[]; nextId: string | null };
  for (const checkId of checkIds) {
    for (let nextId: string | null = ''; nextId !== null;) {
      const after: string = nextId === '' ? '' : `&nextId=${nextId}`;
      const path = `/v2/check-results/${checkId}?limit=100${after}`;
      const { status, body } = await apiOf(url, apiKey)<Page>('GET', path);
      expect([path, status]).toEqual([path, 200]);
      ids.push(...body.entries.map(({ id }) => id));
      ({ nextId } = body);
    }
  }
  return ids.sort();
}

/** Ten minutes later, another replica may take the days of one that was killed. */
const letDaysGo = (db: Db) => db.query('delete from result_file_days');
const inTable = async (db: Db, { checkIds }: Scene) =>
  (await db.query('select 1 from check_results where check_id = any($1::uuid[])', [checkIds])).length;
const named = async (db: Db) => (await db.query('select 1 from result_files')).length;

const server = databases.find(({ name }) => name === 'server');

describe.skipIf(server?.unavailable !== null)('on a PostgreSQL server', () => {
  /** Waits in a statement for a lock, so that the service can be killed there. */
  const waits = async (db: Db, statement: string) =>
    (
      await db.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like $1`,
        [`%${statement}%`],
      )
    ).length > 0;

  /** Holds a lock while `work` runs. */
  async function holding(db: Db, lock: string, params: unknown[], work: () => Promise<void>): Promise<void> {
    await db.tx(async (tx) => {
      await tx.query(lock, params);
      await work();
    });
  }

  test('each step of a move may be the last of the process', { timeout: 400_000 }, async () => {
    const known = await scene();
    const [db, locks] = [await known.openDb(), await known.openDb()];
    const kill = async (lock: string, params: unknown[], isThere: () => Promise<boolean> | boolean) => {
      await letDaysGo(db);
      await holding(locks, lock, params, async () => {
        const { program, url } = await start(known.env);
        await until(isThere, `the step of ${lock}`, 120_000);
        expect(await listed(url, known.checkIds)).toEqual(known.ids);
        await stop(program, 'SIGKILL');
      });
    };
    // The file is written; the rows are not deleted yet.
    await kill(
      'select 1 from check_results where check_id = any($1::uuid[]) for update',
      [known.checkIds],
      async () => known.files().length === 1 && (await waits(db, 'delete from check_results')),
    );
    expect([await inTable(db, known), await named(db)]).toEqual([known.ids.length, 0]);
    // The rows are deleted, the file is not named, and nothing is committed.
    await kill('lock table result_files in share mode', [], () => waits(db, 'insert into result_files'));
    expect([await inTable(db, known), await named(db)]).toEqual([known.ids.length, 0]);
    // Committed; the rest of the day and the other days are not.
    await kill('select 1', [], async () => (await named(db)) > 0);
    expect(await inTable(db, known)).toBeLessThan(known.ids.length);

    await letDaysGo(db);
    const { program, url } = await start(known.env);
    expect(await listed(url, known.checkIds)).toEqual(known.ids);
    await until(async () => (await inTable(db, known)) === 0, 'all moves', 120_000);
    expect(await listed(url, known.checkIds)).toEqual(known.ids);
    // What broke off has left files that nothing names.
    expect(known.files().length).toBeGreaterThan(await named(db));
    await stop(program);
    await db.close();
    await locks.close();
  });
});
