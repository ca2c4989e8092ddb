import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createBackground, type BackgroundItem } from '../../../src/service/engine/background.ts';
import { markRunning } from '../../../src/service/engine/background-leases.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { silent } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

const queue = { retryLimit: 2, retryDelaySeconds: 0, expireSeconds: 30, concurrency: 4 };
type Item = { text: string };

describe.each(databases)('work in the background on $name', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let replicas: Db[];
    beforeAll(async () => {
      replicas = await database.openReplicas(2);
    });
    afterAll(() => database.close());
    const db = () => replicas[0]!;

    test('an item is handled once, by one of the replicas', async () => {
      const seen: string[] = [];
      const both = replicas.map((replica) => createBackground({ db: replica, log: silent }));
      for (const background of both) {
        background.handle<Item>({ name: 'shared', ...queue }, async ({ text }) => void seen.push(text));
        await background.prepare();
      }
      const texts = Array.from({ length: 12 }, (_, index) => `item ${index}`);
      for (const text of texts) await both[0]!.send(db(), 'shared', { text });
      await Promise.all(both.map((background) => background.tick()));
      await both[1]!.tick();
      expect(seen.sort()).toEqual([...texts].sort());
      await Promise.all(both.map((background) => background.stop()));
    });

    test('an item sent in a transaction arrives after the commit, and never after a rollback', async () => {
      const background = createBackground({ db: db(), log: silent });
      const seen: string[] = [];
      background.handle<Item>({ name: 'in-transaction', ...queue }, async ({ text }) => void seen.push(text));
      await background.prepare();
      const failing = db().tx(async (tx) => {
        await background.send(tx, 'in-transaction', { text: 'rolled back' });
        throw new Error('given up');
      });
      await expect(failing).rejects.toThrow('given up');
      await db().tx((tx) => background.send(tx, 'in-transaction', { text: 'committed' }));
      await background.tick();
      expect(seen).toEqual(['committed']);
      await background.stop();
    });

    test('an error of the database while items are taken is an error, and the items are taken later', async () => {
      const background = createBackground({ db: db(), log: silent });
      const seen: string[] = [];
      background.handle<Item>({ name: 'untaken', ...queue }, async ({ text }) => void seen.push(text));
      await background.prepare();
      await background.send(db(), 'untaken', { text: 'waits' });
      await db().exec('alter table background.job rename column priority to rank');
      try {
        await expect(background.tick()).rejects.toMatchObject({ code: '42703' });
      } finally {
        await db().exec('alter table background.job rename column rank to priority');
      }
      await background.tick();
      expect(seen).toEqual(['waits']);
      await background.stop();
    });

    test('a failed item is retried, and knows its last try', async () => {
      const background = createBackground({ db: db(), log: silent });
      const tries: Pick<BackgroundItem, 'attempt' | 'isLast'>[] = [];
      background.handle<Item>({ name: 'failing', ...queue }, async (_data, { attempt, isLast }) => {
        tries.push({ attempt, isLast });
        throw new Error('no');
      });
      await background.prepare();
      await background.send(db(), 'failing', { text: '' });
      for (let round = 0; round < 5; round++) await background.tick();
      expect(tries).toEqual([
        { attempt: 1, isLast: false },
        { attempt: 2, isLast: false },
        { attempt: 3, isLast: true },
      ]);
      await background.stop();
    });

    test('an item of a replica that died starts again after 15 s, not after its longest time', async () => {
      const [dead, alive] = replicas.map((replica) => createBackground({ db: replica, log: silent }));
      const seen: string[] = [];
      const slow = { ...queue, name: 'abandoned', expireSeconds: 240 };
      for (const background of [dead!, alive!]) {
        background.handle<Item>(slow, async ({ text }, { attempt }) => void seen.push(`${text} ${attempt}`));
        await background.prepare();
      }
      const seconds = { a: 16, b: 1, c: 16 };
      for (const text of Object.keys(seconds)) await dead!.send(db(), 'abandoned', { text });
      // What a killed replica leaves: items in progress whose last mark is old or new. An earlier version sets no marks.
      const ofVersion = async (texts: readonly string[], isMarked: boolean) => {
        const rows = await db().query<{ id: string }>(
          `update background.job set state = 'active', started_on = now()
           where name = 'abandoned' and data->>'text' = any($1::text[]) returning id`,
          [texts],
        );
        if (isMarked)
          await markRunning(
            db(),
            'background',
            rows.map(({ id }) => id),
          );
      };
      await ofVersion(['a', 'b'], true);
      await ofVersion(['c'], false);
      await db().query(
        `update background.job set started_on = now() - make_interval(secs => ($1::jsonb->>(data->>'text'))::integer)
         where name = 'abandoned'`,
        [JSON.stringify(seconds)],
      );
      await alive!.tick();
      expect(seen).toEqual(['a 2']);
      await Promise.all([dead!.stop(), alive!.stop()]);
    });

    test('an item is marked when it is taken, so that a replica that dies at once leaves it to others', async () => {
      const background = createBackground({ db: db(), log: silent });
      let isLeased: unknown;
      background.handle<Item>({ name: 'taken', ...queue }, async (_data, { id }) => {
        isLeased = await db().query('select output from background.job where id = $1', [id]);
      });
      await background.prepare();
      await background.send(db(), 'taken', { text: '' });
      await background.tick();
      expect(isLeased).toEqual([{ output: { leased: true } }]);
      await background.stop();
    });

    test('an item whose replica never learned that it has taken it starts again after 15 s', async () => {
      const [lost, alive] = replicas;
      let isCut = false;
      const cut: Db = {
        ...lost!,
        tx: async <T>(work: (tx: Db) => Promise<T>) => {
          const result = await lost!.tx(work);
          if (isCut) throw new Error('the connection ended after the commit');
          return result;
        },
      };
      const both = [cut, alive!].map((replica) => createBackground({ db: replica, log: silent }));
      const seen: number[] = [];
      for (const background of both) {
        background.handle<Item>(
          { ...queue, name: 'unlearned', expireSeconds: 240 },
          async (_data, { attempt }) => void seen.push(attempt),
        );
        await background.prepare();
      }
      await both[0]!.send(db(), 'unlearned', { text: '' });
      isCut = true;
      await expect(both[0]!.tick()).rejects.toThrow('the connection ended');
      isCut = false;
      await both[1]!.tick();
      expect(seen).toEqual([]);
      await db().query(
        `update background.job set started_on = now() - interval '16 seconds' where name = 'unlearned'`,
      );
      await both[1]!.tick();
      expect(seen).toEqual([2]);
      await Promise.all(both.map((background) => background.stop()));
    });

    test('a running item is marked, so that no other replica starts it', async () => {
      const [first, second] = replicas.map((replica) => createBackground({ db: replica, log: silent }));
      const gate = resolvers();
      let started = 0;
      const held = { ...queue, name: 'marked', expireSeconds: 240 };
      for (const background of [first!, second!]) {
        background.handle<Item>(held, async () => {
          started += 1;
          await gate.promise;
        });
        await background.prepare();
      }
      await first!.send(db(), 'marked', { text: '' });
      const ticking = first!.tick();
      await expect.poll(() => started, { timeout: 5000 }).toBe(1);
      await db().query(
        `update background.job set started_on = now() - interval '16 seconds' where name = 'marked'`,
      );
      // Each tick marks what runs before it looks for abandoned items.
      const marking = first!.tick();
      await expect
        .poll(
          async () =>
            (
              await db().query(
                `select 1 from background.job where name = 'marked' and started_on > now() - interval '10 seconds'`,
              )
            ).length,
        )
        .toBe(1);
      await second!.tick();
      expect(started).toBe(1);
      gate.resolve(undefined);
      await Promise.all([ticking, marking]);
      await Promise.all([first!.stop(), second!.stop()]);
    });

    test('a slow item does not block the others of its queue', async () => {
      const background = createBackground({ db: db(), log: silent });
      const done: string[] = [];
      const gate = resolvers();
      background.handle<Item>({ name: 'slow', ...queue }, async ({ text }) => {
        if (text === 'slow') await gate.promise;
        done.push(text);
        if (done.length === 3) gate.resolve(undefined);
      });
      await background.prepare();
      background.start();
      for (const text of ['slow', 'a', 'b', 'c']) await background.send(db(), 'slow', { text });
      await expect.poll(() => done, { timeout: 5000 }).toHaveLength(4);
      expect(done.at(-1)).toBe('slow');
      await background.stop();
    });

    test('a keyed queue has one waiting item per key; deferred items run later', async () => {
      const background = createBackground({ db: db(), log: silent });
      const seen: string[] = [];
      background.handle<Item>(
        { name: 'keyed', isKeyed: true, ...queue },
        async ({ text }) => void seen.push(text),
      );
      await background.prepare();
      await background.send(db(), 'keyed', { text: 'first' }, { key: 'one' });
      await background.send(db(), 'keyed', { text: 'again' }, { key: 'one' });
      await background.send(db(), 'keyed', { text: 'other' }, { key: 'two' });
      await background.send(db(), 'keyed', { text: 'later' }, { key: 'three', delayMs: 3_600_000 });
      await background.tick();
      expect(seen.sort()).toEqual(['first', 'other']);
      // By the clock that decides what is due, not by the host's.
      const delays = await db().query<{ ms: number }>(
        `select (extract(epoch from start_after - created_on) * 1000)::float8 as ms from background.job
         where name = 'keyed' and state = 'created'`,
      );
      expect(delays).toEqual([{ ms: 3_600_000 }]);
      await background.stop();
    });
  });
});

function resolvers() {
  let resolve!: (value: unknown) => void;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
