import { minuteMs } from '../../../src/durations.ts';
import { afterAll, beforeAll } from 'vitest';
import type { CheckType } from '../../../src/protocol/check-types.ts';
import { createRollupLoop, handleRollups } from '../../../src/service/analytics/rollup-work.ts';
import { createBackground } from '../../../src/service/engine/background.ts';
import type { NamedFiles } from '../../../src/service/artifacts/named-files.ts';
import { withFiledResults } from '../../../src/service/db/query-results.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { moveOldResults } from '../../../src/service/result-files/move-results.ts';
import { createFiledResults } from '../../../src/service/result-files/read-results.ts';
import { addCheck, createClock, silent } from '../../helpers/service/agent-service.ts';
import type { TestDatabase } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns, type Run } from '../../helpers/service/stored-results.ts';
import { stores, type OpenStore, type TestStore } from './stores.ts';

/** The service's clock, in milliseconds. */
export const start = Date.parse('2026-03-15T12:34:56.000Z');
/** The first moment of a day whose results move. */
export const oldDay = Date.parse('2026-03-12T00:00:00.000Z');

/** Runs that passed, one a minute. */
export const minutes = (count: number, from = oldDay): Run[] =>
  Array.from({ length: count }, (_, n) => ({ at: from + n * minuteMs }));

const never = new AbortController().signal;

/** A service whose old results can be moved to files. Registers the hooks that start and stop it. */
export function filesBench(database: TestDatabase, { open }: TestStore = stores[0]) {
  const clock = createClock(start);
  let plain: Db;
  let service: TestService;
  let opened: OpenStore;
  let files: NamedFiles;

  beforeAll(async () => {
    plain = await database.open();
    opened = await open();
    files = opened.store.results;
    const db = withFiledResults(plain, createFiledResults({ files, now: clock.now, log: silent }));
    service = await startTestService(db, { now: clock.now });
  });
  afterAll(async () => {
    await service.close();
    await database.close();
    await opened.close();
  });

  return {
    clock,
    get service() {
      return service;
    },
    /** The database, whose statements see the table only. */
    get plain() {
      return plain;
    },
    get files() {
      return files;
    },
    create: (checkType: CheckType) =>
      addCheck(service.db, { accountId: service.account.id, checkType, now: start }),
    store: (checkId: string, runs: readonly Run[]) =>
      storeRuns(service.db, { accountId: service.account.id, checkId }, runs),
    move: (options: { db?: Db; files?: NamedFiles; afterDays?: number } = {}) =>
      moveOldResults({ db: plain, files, now: clock.now, log: silent, afterDays: 1, ...options }, never),
    /** Computes the rollups that are due. */
    rollUp: async () => {
      const { db } = service;
      const background = createBackground({ db, log: silent });
      handleRollups({ db, background, now: clock.now, log: silent });
      await background.prepare();
      await createRollupLoop({ db, background, now: clock.now, log: silent }).tick();
      await background.tick();
      await background.stop();
    },
    /** Lets days be looked at again at once. */
    lookAgain: () => plain.query('delete from result_file_days'),
    inTable: async (checkId: string): Promise<number> => {
      const [row] = await plain.query<{ count: number }>(
        'select count(*)::float8 as count from check_results where check_id = $1',
        [checkId],
      );
      return row?.count ?? 0;
    },
    inFiles: async (checkId: string): Promise<number> => {
      const [row] = await plain.query<{ count: number }>(
        'select coalesce(sum(rows), 0)::float8 as count from result_file_checks where check_id = $1',
        [checkId],
      );
      return row?.count ?? 0;
    },
    unreadable: async (): Promise<number> =>
      (await plain.query('select 1 from result_files where unreadable_since is not null')).length,
    filePaths: async (): Promise<string[]> => {
      const paths: string[] = [];
      for await (const { path } of files.list()) paths.push(path);
      return paths.sort();
    },
    /** Status, headers that count, and the body byte by byte. */
    answer: async (path: string): Promise<string> => {
      const response = await fetch(service.url + path, {
        headers: { authorization: `Bearer ${service.account.key}` },
      });
      return `${response.status} ${response.headers.get('content-range')} ${await response.text()}`;
    },
  };
}
