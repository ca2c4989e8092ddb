import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createEventHub } from '../../../src/service/events/hub.ts';
import { createStream } from '../../../src/service/events/stream.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import type { Db } from '../../../src/service/db/database.ts';
import { addCheck, addLocation } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { startTestService, type TestService } from '../../helpers/service/service.ts';
import { storeRuns } from '../../helpers/service/stored-results.ts';

/** Who may keep a stream, and what the hub itself looks for. */

const patient = { timeout: 10_000, interval: 20 };

describe.each(databases)('streams of events ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    let db: Db;
    let near: TestService;
    let far: TestService;
    beforeAll(async () => {
      const [first, second] = await database.openReplicas(2);
      if (first === undefined || second === undefined) throw new Error('not opened');
      db = first;
      near = await startTestService(first);
      far = await startTestService(second);
    });
    afterAll(async () => {
      await near.close();
      await far.close();
      await database.close();
    });

    /** Opens a stream at the other replica; `over` resolves when it ends. */
    async function openStream(headers: Record<string, string>) {
      const answer = await fetch(`${far.url}/v1/events`, { headers });
      expect(answer.status).toBe(200);
      let isOver = false;
      const over = answer.text().then(() => (isOver = true));
      return { over, isOver: () => isOver };
    }
    async function makeKey() {
      const { body } = await near.call<{ id: string; rawKey: string }>('POST', '/v1/api-keys', {
        body: { name: 'stream' },
      });
      return body;
    }
    async function signIn(apiKey: string): Promise<Record<string, string>> {
      const { headers } = await near.call('POST', '/v1/sign-in', {
        key: null,
        body: { apiKey },
        headers: { 'sec-fetch-site': 'same-origin' },
      });
      return { cookie: headers.get('set-cookie')?.split(';')[0] ?? '' };
    }

    test('a stream ends with its session, from whatever replica, and others of the key stay', async () => {
      const key = await makeKey();
      const cookie = await signIn(key.rawKey);
      const own = await openStream(cookie);
      const sibling = await openStream(await signIn(key.rawKey));
      const byKey = await openStream({ authorization: `Bearer ${key.rawKey}` });
      const { status } = await near.call('POST', '/v1/sign-out', {
        key: null,
        headers: { ...cookie, 'sec-fetch-site': 'same-origin' },
      });
      expect(status).toBe(204);
      await own.over;
      expect([sibling.isOver(), byKey.isOver()]).toEqual([false, false]);
      await near.call('DELETE', `/v1/api-keys/${key.id}`);
      await sibling.over;
      await byKey.over;
    });

    /** A hub whose clock runs fast, and a stream that keeps what it gets. */
    async function fastHub(settleMs = 1_000) {
      const hub = createEventHub({
        db: near.db,
        now: Date.now,
        warn: (error) => errors.push(error),
        times: { beatMs: 20, settleMs },
      });
      const errors: string[] = [];
      async function open(access: { apiKeyId: string; sessionId: string | null }) {
        let text = '';
        let isOver = false;
        const writes: { at: number; part: string }[] = [];
        const sink = {
          writableLength: 0,
          write: (part: string) => {
            writes.push({ at: performance.now(), part });
            text += part;
          },
          end: () => (isOver = true),
          destroy: () => undefined,
        };
        const accountId = near.account.id;
        await hub.admit(access.apiKeyId);
        hub.add(createStream(sink, { accountId, ...access, checkId: null, clock: () => 0 }), null);
        return { text: () => text, isOver: () => isOver, writes };
      }
      return {
        open,
        close: async () => {
          hub.stop();
          await hub.close();
          expect(errors).toEqual([]);
        },
      };
    }

    test('streams of expired keys and of sessions without a trigger end at the next look', async () => {
      const { id: apiKeyId } = await makeKey();
      const hub = await fastHub();
      const gone = await hub.open({ apiKeyId, sessionId: uuidv7() });
      const own = await hub.open({ apiKeyId, sessionId: null });
      await vi.waitFor(() => expect(gone.isOver()).toBe(true), patient);
      expect(own.isOver()).toBe(false);
      await db.query(`update api_keys set expires_at = now() - interval '1 second' where id = $1`, [
        apiKeyId,
      ]);
      await vi.waitFor(() => expect(own.isOver()).toBe(true), patient);
      await hub.close();
    });

    test('the events of a second are one write, so that many runs do not wake a page for each', async () => {
      const { id: apiKeyId } = await makeKey();
      const checkId = await addCheck(db, { accountId: near.account.id, now: Date.now() });
      const hub = await fastHub();
      const stream = await hub.open({ apiKeyId, sessionId: null });
      await vi.waitFor(() => expect(stream.text()).toContain(': still here'), patient);
      const begin = performance.now();
      for (let run = 0; run < 15; run += 1) {
        await storeRuns(db, { accountId: near.account.id, checkId, noted: false }, [{ at: Date.now() }]);
        await delay(100);
      }
      const passed = performance.now() - begin;
      await vi.waitFor(() => expect(stream.text().split('event: run')).toHaveLength(16), patient);
      const writes = stream.writes.filter(({ part }) => part.includes('event:'));
      expect(writes.length).toBeLessThanOrEqual(Math.ceil(passed / 1_000) + 1);
      for (const [at, { at: time }] of writes.entries())
        if (at > 0) expect(time - (writes[at - 1]?.at ?? 0)).toBeGreaterThan(990);
      await hub.close();
    });

    test('agents that come and go are events of their location, also of a new one', async () => {
      const { id: apiKeyId } = await makeKey();
      const hub = await fastHub();
      const stream = await hub.open({ apiKeyId, sessionId: null });
      // The agents have been counted once when the first sign of life is there.
      await vi.waitFor(() => expect(stream.text()).toContain(': still here'), patient);
      const slug = `office-${uuidv7().slice(-6)}`;
      await db.tx(async (tx) => {
        const { id } = await addLocation(tx, { accountId: near.account.id, slug });
        await tx.query(
          `insert into agents (id, location_id, instance_id, version, host, check_types, runtimes, lanes, last_seen_at)
           values ($1, $2, 'i', '1.0.0', '{}', '{URL}', '{}', '{}', now())`,
          [uuidv7(), id],
        );
      });
      const event = (agentCount: number) =>
        `event: location\ndata: ${JSON.stringify({ slugName: slug, agentCount })}\n`;
      await vi.waitFor(() => expect(stream.text()).toContain(event(1)), patient);
      await db.query(`update agents set last_seen_at = now() - interval '1 hour'`);
      await vi.waitFor(() => expect(stream.text()).toContain(event(0)), patient);
      expect(stream.text().split('event: location')).toHaveLength(3);
      await hub.close();
    });

    test.skipIf(database.name === 'embedded')(
      'a transaction from before the first stream that commits later is followed by a reset',
      async () => {
        await db.query('delete from event_readers');
        const { id: apiKeyId } = await makeKey();
        const hub = await fastHub(0);
        const gate = new EventEmitter();
        const isWritten = once(gate, 'written');
        const changing = db.tx(async (tx) => {
          await addCheck(tx, { accountId: near.account.id, now: Date.now() });
          gate.emit('written');
          await once(gate, 'commit');
        });
        await isWritten;
        const stream = await hub.open({ apiKeyId, sessionId: null });
        await vi.waitFor(() => expect(stream.text()).toContain(': still here'), patient);
        expect(stream.text()).not.toContain('event:');
        gate.emit('commit');
        await changing;
        await vi.waitFor(() => expect(stream.text()).toContain('"LATE_CHANGES"'), patient);
        await hub.close();
      },
    );
  });
});
