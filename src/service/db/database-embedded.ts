import { PGlite, type Transaction } from '@electric-sql/pglite';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { FatalError, toError } from '../../errors.ts';
import { remedyForFolder } from '../../config/folder-remedy.ts';
import { checkChannel, databaseUnusable, valueParsers, type DatabaseOptions, type Db } from './database.ts';
import { lockDatabase } from './database-lock.ts';
import { createSpaceCheck } from './disk-space.ts';
import { codeOf } from '../../system-errors.ts';
import {
  closePrepared,
  nothingPrepared,
  runStatement,
  type Lasting,
  type Prepared,
} from './embedded-statement.ts';
import { createFrequentStatements } from './frequent-statements.ts';

/**
 * jit=off: compiling a query costs more than running one here. shared_buffers is small because the system's file
 * cache holds the rest.
 */
const settings = ['-c', 'jit=off', '-c', 'timezone=UTC', '-c', 'shared_buffers=64MB'];

/**
 * Like makeCluster, but safe to kill at any moment: `folder` never holds half a database, which could not be opened.
 */
async function makeClusterAtomically(folder: string): Promise<void> {
  if ((await readdir(folder)).length > 0) {
    const text = `SERVICE_DATA_DIR: ${folder} contains files that are not a database: move them away`;
    throw databaseUnusable(text, new Error('there is no PG_VERSION'));
  }
  const fresh = `${folder}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  await makeCluster(fresh);
  await rename(fresh, folder);
}

/**
 * Creates an empty database in a separate thread. The program that does so takes 400 MB, which the process would
 * otherwise keep for a long time.
 */
async function makeCluster(folder: string): Promise<void> {
  const library = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const worker = new Worker(
    `const { workerData } = require('node:worker_threads');
     const { PGlite } = require(workerData.library);
     PGlite.create({ dataDir: workerData.folder }).then((engine) => engine.close());`,
    { eval: true, workerData: { library, folder } },
  );
  await new Promise<void>((resolve, reject) => {
    worker.once('error', reject).once('exit', () => resolve());
  });
}

/**
 * Opens the database in `dataDir`/database and creates it on first use. Throws FatalError: DATABASE_IN_USE, or
 * CONFIGURATION if its disk is full.
 */
export async function openEmbeddedDatabase(
  options: Pick<DatabaseOptions, 'dataDir' | 'onStatement' | 'onBroken'>,
): Promise<Db> {
  const inMemory = options.dataDir === 'memory://';
  const unlock = inMemory
    ? async () => undefined
    : await lockDatabase(options.dataDir).catch((error: unknown) => {
        // File system errors have a code; "database in use" is an error class of its own.
        const code = codeOf(error);
        if (error instanceof FatalError || code === undefined) throw error;
        const text = `SERVICE_DATA_DIR: cannot write in ${options.dataDir} (${code}): ${remedyForFolder(code, options.dataDir)}`;
        throw databaseUnusable(text, error);
      });
  try {
    const folder = join(options.dataDir, 'database');
    if (!inMemory) await mkdir(folder, { recursive: true, mode: 0o700 });
    const checkSpace = inMemory ? () => undefined : createSpaceCheck(options.dataDir);
    try {
      checkSpace();
    } catch (error) {
      throw databaseUnusable(`SERVICE_DATA_DIR: ${toError(error).message}`, error);
    }
    if (!inMemory && !existsSync(join(folder, 'PG_VERSION'))) await makeClusterAtomically(folder);
    const engine = await PGlite.create({
      dataDir: inMemory ? 'memory://' : folder,
      parsers: { ...valueParsers },
      startParams: [...PGlite.defaultStartParams, ...settings],
    });
    const { onStatement: observe, onBroken = () => undefined } = options;
    return embeddedDb(engine, { unlock, checkSpace, observe, onBroken });
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** True if the engine has exited or reports that it cannot continue. Every further statement would fail. */
function hasBrokenDown(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { name, severity } = error as { name?: unknown; severity?: unknown }; // any object may have these
  return name === 'RuntimeError' || name === 'ExitStatus' || severity === 'PANIC' || severity === 'FATAL';
}

function embeddedDb(
  engine: PGlite,
  {
    unlock,
    checkSpace,
    observe,
    onBroken,
  }: {
    unlock: () => Promise<void>;
    checkSpace: () => void;
    observe: DatabaseOptions['onStatement'];
    onBroken: (error: Error) => void;
  },
): Db {
  const lasting: Lasting = { frequent: createFrequentStatements(), known: new Set(), plans: 0 };
  let closing: Promise<void> | null = null;
  let isBroken = false;
  // The engine runs one statement at a time. A statement begins when it is called or when the previous one has
  // finished.
  let previousEnd = 0;
  async function timed<T>(sql: string, run: () => Promise<T>): Promise<T> {
    checkSpace();
    const called = performance.now();
    try {
      return await run();
    } catch (error) {
      if (!isBroken && hasBrokenDown(error)) {
        isBroken = true;
        onBroken(toError(error));
      }
      throw error;
    } finally {
      const end = performance.now();
      observe?.({ sql, milliseconds: end - Math.max(called, previousEnd) });
      previousEnd = end;
    }
  }

  /** `hold` lets nothing else run: outside of a transaction also no transaction, inside of one no other statement of it. */
  function statements(
    target: PGlite | Transaction,
    { hold, prepared }: { hold: <T>(run: () => Promise<T>) => Promise<T>; prepared: Prepared | null },
  ): Pick<Db, 'query' | 'exec' | 'notify'> {
    const query = async <Row>(sql: string, params: readonly unknown[] = []): Promise<Row[]> =>
      timed(sql, () => hold(() => runStatement<Row>(engine, { sql, params, prepared, lasting })));
    return {
      query,
      exec: async (sql) => void (await timed(sql, () => target.exec(sql))),
      notify: async (channel, payload) => void (await query('select pg_notify($1, $2)', [channel, payload])),
    };
  }

  function within(transaction: Transaction, prepared: Prepared): Db {
    const db: Db = {
      kind: 'embedded',
      ...statements(transaction, {
        prepared,
        hold: async (run) => {
          if (transaction.closed) throw new Error('the transaction is over');
          return engine.runExclusive(run);
        },
      }),
      tx: (fn) => fn(db),
      listen: () => Promise.reject(new Error('listen is not for transactions')),
      close: () => Promise.reject(new Error('close is not for transactions')),
    };
    return db;
  }

  return {
    kind: 'embedded',
    ...statements(engine, {
      prepared: null,
      hold: async (run) => {
        await engine._checkReady();
        return engine._runExclusiveTransaction(() => engine.runExclusive(run));
      },
    }),
    tx: (fn) =>
      engine.transaction(async (transaction) => {
        const prepared = nothingPrepared();
        try {
          return await fn(within(transaction, prepared));
        } finally {
          await engine.runExclusive(() => closePrepared(engine, prepared));
        }
      }),
    listen: async (channel, fn) => {
      const stop = await engine.listen(checkChannel(channel), fn);
      return async () => {
        if (!engine.closed && closing === null) await stop();
      };
    },
    close: () => (closing ??= engine.close().finally(unlock)),
  };
}
