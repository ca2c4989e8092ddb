import PgBoss from 'pg-boss';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { sqlState, type Db, type Queryable } from '../db/database.ts';
import { adapter, notingErrors } from './background-adapter.ts';
import { markEveryMs, markRunning, restartAbandoned } from './background-leases.ts';
import { createLoop, type Loop } from './loop.ts';

/**
 * Durable work of the service apart from agents' jobs: notifications, rollups, analyses. Any number of replicas share
 * it. If a replica dies, another one restarts its items. A handler may therefore run twice for one item and must
 * tolerate that.
 */
export type Background = {
  /** Registers the handler of a queue; call it before start. If a handler rejects, the item is retried. */
  handle<Data extends object>(queue: QueueOptions, handler: Handler<Data>): void;
  /** Puts an item into a queue. Within a transaction it takes effect at commit. */
  send(tx: Queryable, queue: string, data: object, options?: SendOptions): Promise<void>;
  /** Like send, for many items in one statement. */
  sendAll(tx: Queryable, queue: string, items: readonly object[]): Promise<void>;
  /** Creates the tables and queues that it needs. Nothing can be sent before. */
  prepare(): Promise<void>;
  start(): void;
  /** Resolves when no item is in progress any more. Items that take too long are restarted later. */
  stop(): Promise<void>;
  /** Processes everything that is due now, one item at a time (tests). */
  tick(): Promise<void>;
};

export type QueueOptions = {
  /** Lower-case letters and hyphens. */
  name: string;
  /** Retries after the first try. */
  retryLimit: number;
  retryDelaySeconds: number;
  /** After this time in progress, the item is restarted by any replica. */
  expireSeconds: number;
  /** Items in progress at once in this replica. */
  concurrency: number;
  /** True: items have keys, and at most one item per key waits. Default false. */
  isKeyed?: boolean;
};

export type SendOptions = {
  /**
   * Delays the item by at least this time, measured by the database's clock, which decides what is due. That clock may
   * differ from the service's, which runs steadily when the host's clock jumps.
   */
  delayMs?: number;
  /** In a keyed queue: no item is added while one with the same key waits. */
  key?: string;
};

export type BackgroundItem = {
  id: string;
  /** From 1. */
  attempt: number;
  /** True for the last try. */
  isLast: boolean;
  /** Fires if the item takes too long or the service stops. */
  signal: AbortSignal;
};

export type Handler<Data extends object> = (data: Data, item: BackgroundItem) => Promise<void>;

const schema = 'background';
const idleMs = 500;
/** How long stop waits before it leaves items to other replicas. */
const stopMs = 10_000;

type Queue = QueueOptions & {
  handler: Handler<object>;
  running: Set<Promise<void>>;
  /** Ids of the running items, with the time until which this replica marks them (milliseconds, monotonic). */
  marked: Map<string, number>;
};

/** What the work on an item needs. `stopping` fires when the service stops waiting for items. */
type Parts = { db: Db; boss: PgBoss; log: Log; stopping: AbortSignal };

/** Creates the background queues on the service database. */
export function createBackground({ db, log }: { db: Db; log: Log }): Background {
  const queues = new Map<string, Queue>();
  const stopping = new AbortController();
  const loops: Loop[] = [];
  const boss = new PgBoss({ db: adapter(db), schema, schedule: false, supervise: true });
  // The library retries by itself.
  boss.on('error', (error) => log.warn({ error: error.message }, 'background queue error'));
  const parts: Parts = { db, boss, log, stopping: stopping.signal };

  return {
    handle: (options, handler) => {
      // The handler determines the item type of its queue.
      queues.set(options.name, {
        ...options,
        handler: handler as Handler<object>,
        running: new Set(),
        marked: new Map(),
      });
    },
    send: async (tx, name, data, options = {}) => {
      const { delayMs = 0, key } = options;
      await boss.send(name, data, {
        db: adapter(tx),
        // In seconds, added to the database's time.
        ...(delayMs > 0 ? { startAfter: Math.ceil(delayMs) / 1000 } : {}),
        ...(key === undefined ? {} : { singletonKey: key }),
      });
    },
    sendAll: async (tx, name, items) => {
      if (items.length === 0) return;
      await boss.insert(
        items.map((data) => ({ name, data })),
        { db: adapter(tx) },
      );
    },
    prepare: async () => {
      // The library locks neither its schema nor its queues during creation, so replicas that start together would
      // fail.
      await exclusively(db, async () => {
        await boss.start();
        for (const queue of queues.values()) await prepareQueue(parts, queue);
      });
      if (db.kind === 'embedded') await restartInterrupted(parts);
    },
    start: () => {
      const begins = createLoop({
        name: 'background',
        log,
        work: async () => ((await beginDue(parts, [...queues.values()])) > 0 ? 20 : idleMs),
      });
      const leases = createLoop({
        name: 'background leases',
        log,
        work: async () => {
          await followLeases(parts, queues);
          return markEveryMs;
        },
      });
      loops.push(begins, leases);
      for (const loop of loops) loop.start();
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      const running = [...queues.values()].flatMap((queue) => [...queue.running]);
      const timer = setTimeout(() => stopping.abort(), stopMs);
      await Promise.all(running);
      clearTimeout(timer);
      await boss.stop({ graceful: false, close: false, wait: true });
    },
    tick: async () => {
      await followLeases(parts, queues);
      for (const queue of queues.values()) {
        while ((await begin(parts, queue)) > 0 || queue.running.size > 0) await Promise.all(queue.running);
      }
    },
  };
}

/** Marks the items that run here, and restarts those of replicas that died. */
async function followLeases({ db, log }: Parts, queues: ReadonlyMap<string, Queue>): Promise<void> {
  const time = performance.now();
  const all = [...queues.values()].flatMap(({ marked }) => [...marked]);
  await markRunning(
    db,
    schema,
    all.filter(([, until]) => time < until).map(([id]) => id),
  );
  const restarted = await restartAbandoned(db, schema, [...queues.keys()]);
  if (restarted > 0) log.warn({ items: restarted }, 'background work of a replica that died starts again');
}

async function run(
  { boss, log, stopping }: Parts,
  queue: Queue,
  job: PgBoss.JobWithMetadata<object>,
): Promise<void> {
  // A plain AbortController, held by its timer. A timeout signal that only a combined signal refers to may be
  // garbage-collected before it fires.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('it took too long')), queue.expireSeconds * 1000);
  const item: BackgroundItem = {
    id: job.id,
    attempt: job.retryCount + 1,
    isLast: job.retryCount >= job.retryLimit,
    signal: AbortSignal.any([late.signal, stopping]),
  };
  try {
    await queue.handler(job.data, item);
  } catch (error) {
    const { message } = toError(error);
    if (item.isLast) log.error({ queue: queue.name, item: job.id, error: message }, 'background work failed');
    await boss.fail(queue.name, job.id, { message });
    return;
  } finally {
    clearTimeout(timer);
  }
  await boss.complete(queue.name, job.id);
}

/** Starts items of all queues; returns how many. One statement finds the queues that have some: most of the time, none has. */
async function beginDue(parts: Parts, queues: readonly Queue[]): Promise<number> {
  const open = queues.filter(({ concurrency, running }) => running.size < concurrency);
  if (open.length === 0) return 0;
  const rows = await parts.db.query<{ name: string }>(
    // Each queue has a part of the table of its own, and only its first item is looked for: hence the limit.
    `select q.name from unnest($1::text[]) as q (name)
     where (select 1 from ${schema}.job j where j.name = q.name and j.state < 'active' and j.start_after < now() limit 1) is not null`,
    [open.map(({ name }) => name)],
  );
  const due = new Set(rows.map(({ name }) => name));
  let begun = 0;
  for (const queue of open) if (due.has(queue.name)) begun += await begin(parts, queue);
  return begun;
}

/** Starts items of a queue while there are free places; returns how many. */
async function begin(parts: Parts, queue: Queue): Promise<number> {
  const { boss, db, log } = parts;
  const free = queue.concurrency - queue.running.size;
  if (free <= 0) return 0;
  // Together, because the answer of the database may be lost: only what is marked is restarted soon.
  const jobs = await db.tx(async (tx) => {
    const noted = notingErrors(adapter(tx));
    const options = { batchSize: free, includeMetadata: true as const, db: noted };
    const taken = await boss.fetch<object>(queue.name, options);
    noted.rethrow();
    await markRunning(
      tx,
      schema,
      taken.map(({ id }) => id),
    );
    return taken;
  });
  for (const job of jobs) {
    queue.marked.set(job.id, performance.now() + queue.expireSeconds * 1000);
    const running: Promise<void> = run(parts, queue, job)
      // Neither completed nor failed: the item expires and is restarted.
      .catch((error: unknown) =>
        log.warn({ queue: queue.name, error: toError(error).message }, 'background queue error'),
      )
      .finally(() => {
        queue.running.delete(running);
        queue.marked.delete(job.id);
      });
    queue.running.add(running);
  }
  return jobs.length;
}

async function prepareQueue({ boss }: Parts, { isKeyed, ...queue }: Queue): Promise<void> {
  const { name, retryLimit, retryDelaySeconds, expireSeconds } = queue;
  const options = { name, retryLimit, retryDelay: retryDelaySeconds, expireInSeconds: expireSeconds };
  // An existing queue keeps its policy.
  const policy = isKeyed === true ? 'short' : 'standard';
  for (let tries = 1; ; tries++) {
    try {
      if ((await boss.getQueue(name)) === null) await boss.createQueue(name, { ...options, policy });
      else await boss.updateQueue(name, options);
      return;
    } catch (error) {
      // The library changes its tables while other replicas use them.
      if (tries === 5 || sqlState(error) !== '40P01') throw error;
    }
  }
}

/**
 * Nobody else uses this database. Items that were in progress when the process exited restart now instead of when
 * they expire.
 */
async function restartInterrupted({ boss, db }: Parts): Promise<void> {
  await db.query(
    `update ${schema}.job set started_on = now() - expire_in - interval '1 second' where state = 'active'`,
  );
  await boss.maintain();
}

/** Arbitrary, but the same in every replica. */
const advisoryLock = 4_400_007;

/** Runs `work` in one replica at a time. The embedded database has only one. */
async function exclusively<T>(db: Db, work: () => Promise<T>): Promise<T> {
  if (db.kind === 'embedded') return work();
  return db.tx(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
    return work();
  });
}
