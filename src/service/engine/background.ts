import PgBoss from 'pg-boss';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { sqlState, type Db, type Queryable } from '../db/database.ts';
import { createLoop, type Loop } from './loop.ts';

/**
 * Durable work of the service besides agents' jobs: notifications, rollups, analyses. Any number of replicas share it; what a
 * replica has begun when it dies is begun again by another. So a handler may run twice for one item and must bear that.
 */
export type Background = {
  /** Before start: what is done with items of a queue. A handler that rejects is tried again. */
  handle<Data extends object>(queue: QueueOptions, handler: Handler<Data>): void;
  /** Puts an item into a queue; within a transaction with its commit. */
  send(tx: Queryable, queue: string, data: object, options?: SendOptions): Promise<void>;
  /** As send, many at once: one statement. */
  sendAll(tx: Queryable, queue: string, items: readonly object[]): Promise<void>;
  /** Makes what it needs in the database; nothing can be sent before. */
  prepare(): Promise<void>;
  start(): void;
  /** Resolves when no item is under way any more; those that take too long are begun again later. */
  stop(): Promise<void>;
  /** Does once all that is due now, item by item (tests). */
  tick(): Promise<void>;
};

export type QueueOptions = {
  /** Lower-case letters and hyphens. */
  name: string;
  /** Tries after the first. */
  retryLimit: number;
  retryDelaySeconds: number;
  /** An item that has been under way for longer is another replica's. */
  expireSeconds: number;
  /** Items under way at once in this replica. */
  concurrency: number;
  /** Items have keys, and of those with the same one only one waits. Default false. */
  isKeyed?: boolean;
};

export type SendOptions = {
  startAfter?: Date;
  /** In a keyed queue: while an item of that key waits, another one is not added. */
  key?: string;
};

export type BackgroundItem = {
  id: string;
  /** From 1. */
  attempt: number;
  /** No further try will come. */
  isLast: boolean;
  /** Fires when the item takes too long or the service stops. */
  signal: AbortSignal;
};

export type Handler<Data extends object> = (data: Data, item: BackgroundItem) => Promise<void>;

const schema = 'background';
const idleMs = 500;
/** What stop waits for before it leaves items to others. */
const stopMs = 10_000;

type Queue = QueueOptions & { handler: Handler<object>; running: Set<Promise<void>> };

export function createBackground({ db, log }: { db: Db; log: Log }): Background {
  const queues = new Map<string, Queue>();
  const ending = new AbortController();
  const loops: Loop[] = [];
  const boss = new PgBoss({ db: adapter(db), schema, schedule: false, supervise: true });
  // It tries again by itself.
  boss.on('error', (error) => log.warn({ error: error.message }, 'background work'));

  async function run(queue: Queue, job: PgBoss.JobWithMetadata<object>): Promise<void> {
    // Held by its timer: a timeout's signal that only a combined one refers to may be collected before it fires.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('it took too long')), queue.expireSeconds * 1000);
    const item: BackgroundItem = {
      id: job.id,
      attempt: job.retryCount + 1,
      isLast: job.retryCount >= job.retryLimit,
      signal: AbortSignal.any([late.signal, ending.signal]),
    };
    try {
      await queue.handler(job.data, item);
    } catch (error) {
      const { message } = toError(error);
      if (item.isLast)
        log.error({ queue: queue.name, item: job.id, error: message }, 'background work failed');
      await boss.fail(queue.name, job.id, { message });
      return;
    } finally {
      clearTimeout(timer);
    }
    await boss.complete(queue.name, job.id);
  }

  /** Begins what there are free places for; how many items. */
  async function begin(queue: Queue): Promise<number> {
    const free = queue.concurrency - queue.running.size;
    if (free <= 0) return 0;
    const jobs = await boss.fetch<object>(queue.name, { batchSize: free, includeMetadata: true });
    for (const job of jobs) {
      const running: Promise<void> = run(queue, job)
        // Neither done nor failed: it expires, and is begun again.
        .catch((error: unknown) =>
          log.warn({ queue: queue.name, error: toError(error).message }, 'background work'),
        )
        .finally(() => queue.running.delete(running));
      queue.running.add(running);
    }
    return jobs.length;
  }

  async function prepareQueue({ isKeyed, ...queue }: Queue): Promise<void> {
    const { name, retryLimit, retryDelaySeconds, expireSeconds } = queue;
    const options = { name, retryLimit, retryDelay: retryDelaySeconds, expireInSeconds: expireSeconds };
    // The policy of a queue that exists is kept.
    const policy = isKeyed === true ? 'short' : 'standard';
    for (let tries = 1; ; tries++) {
      try {
        if ((await boss.getQueue(name)) === null) await boss.createQueue(name, { ...options, policy });
        else await boss.updateQueue(name, options);
        return;
      } catch (error) {
        // Its tables are changed while other replicas work on them.
        if (tries === 5 || sqlState(error) !== '40P01') throw error;
      }
    }
  }

  /** Nobody else uses this database: what was under way when its process ended is begun again now, not when it expires. */
  async function takeUpAgain(): Promise<void> {
    await db.query(
      `update ${schema}.job set started_on = now() - expire_in - interval '1 second' where state = 'active'`,
    );
    await boss.maintain();
  }

  return {
    handle: (options, handler) => {
      // The handler names the type of what is sent to its queue.
      queues.set(options.name, { ...options, handler: handler as Handler<object>, running: new Set() });
    },
    send: async (tx, name, data, options = {}) => {
      const { startAfter, key } = options;
      await boss.send(name, data, {
        db: adapter(tx),
        ...(startAfter === undefined ? {} : { startAfter }),
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
      // The library's own lock covers neither its schema nor its queues: replicas that start together would fail.
      await alone(db, async () => {
        await boss.start();
        for (const queue of queues.values()) await prepareQueue(queue);
      });
      if (db.kind === 'embedded') await takeUpAgain();
    },
    start: () => {
      for (const queue of queues.values()) {
        const loop = createLoop({
          name: `background ${queue.name}`,
          log,
          work: async () => ((await begin(queue)) > 0 ? 20 : idleMs),
        });
        loops.push(loop);
        loop.start();
      }
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
      const running = [...queues.values()].flatMap((queue) => [...queue.running]);
      const timer = setTimeout(() => ending.abort(), stopMs);
      await Promise.all(running);
      clearTimeout(timer);
      await boss.stop({ graceful: false, close: false, wait: true });
    },
    tick: async () => {
      for (const queue of queues.values()) {
        while ((await begin(queue)) > 0 || queue.running.size > 0) await Promise.all(queue.running);
      }
    },
  };
}

/** Any number: it only has to be the same in every replica. */
const advisoryLock = 4_400_007;

/** Work that only one replica does at a time; the embedded database has only one. */
async function alone<T>(db: Db, work: () => Promise<T>): Promise<T> {
  if (db.kind === 'embedded') return work();
  return db.tx(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
    return work();
  });
}

/** Our database as the queue's library sees it. */
function adapter(db: Queryable & Partial<Pick<Db, 'tx'>>): PgBoss.Db {
  return {
    executeSql: async (text, values) => {
      const script = /^\s*BEGIN;([^]*)COMMIT;\s*$/.exec(text)?.[1];
      if (script === undefined || db.tx === undefined) return { rows: await db.query(text, values) };
      // A script with its own transaction: in ours, which is rolled back on the same connection when it fails.
      await db.tx((tx) => tx.exec(script));
      return { rows: [] };
    },
  };
}
