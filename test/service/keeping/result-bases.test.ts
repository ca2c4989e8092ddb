import { beforeEach, describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/protocol/assignments.ts';
import { makeRollupPartition, rollUp } from '../../../src/service/analytics/rollup-statements.ts';
import { findAlertResults } from '../../../src/service/alerting/result-statements.ts';
import type { Background } from '../../../src/service/engine/background.ts';
import { differenceOf } from '../../../src/service/results/difference.ts';
import { findResult, listResults } from '../../../src/service/results/statements.ts';
import { createAlertReplica, idleBackground } from '../../helpers/service/alert-runs.ts';
import { addCheck, createClock } from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';
import { keepingBench, keptResult, type KeepingAgent } from './keeping-bench.ts';

/** What uneventful runs repeat is stored once, and every answer is as if it were not. */

const start = '2026-03-04T05:06:07.000Z';
const minute = 60_000;
const first = Date.parse('2026-03-04T05:07:06.000Z');

const header = 'a policy that the server sends with each answer '.repeat(4);
const bodyOf = (index: number, headers: object = {}, details: object = {}) => ({
  assertions: [
    {
      source: 'STATUS_CODE',
      property: '',
      comparison: 'EQUALS',
      target: '200',
      regex: null,
      actual: '200',
      error: null,
    },
  ],
  timings: { dns: 1.5, connect: 2, total: 10 + index },
  details: {
    request: { method: 'GET', url: 'https://shop.example.com/' },
    response: {
      status: 200,
      href: 'https://shop.example.com/',
      headers: { 'content-security-policy': header, date: `${index} March`, ...headers },
    },
    ...details,
  },
  artifacts: [],
  log: [],
});

describe('what differs between two bodies', () => {
  it('has changed values, added ones and those that are always kept', () => {
    const base = { a: 1, b: [1, { c: 2 }], timings: { total: 1 }, d: { e: null, f: { g: 'x' } } };
    const body = {
      a: 1,
      b: [1, { c: 3 }],
      timings: { total: 1 },
      d: { e: null, f: { g: 'x', h: null } },
      i: {},
    };
    expect({ ...(differenceOf(base, body) as object) }).toEqual({
      b: [1, { c: 3 }],
      timings: { total: 1 },
      d: { f: { h: null } },
      i: {},
    });
  });

  it('takes any name of a field', () => {
    const difference = differenceOf({}, JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}'));
    expect(JSON.stringify(difference)).toBe('{"__proto__":{"a":1},"constructor":2}');
  });

  it('does not exist if something is missing', () => {
    expect(differenceOf({ a: { b: 1, c: 2 } }, { a: { b: 1 } })).toBeUndefined();
    expect(differenceOf([], {})).toBeUndefined();
  });
});

describe.each(databases)('repeated parts of results: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    const clock = createClock(start);
    const { current } = keepingBench(database, clock, start);
    let background: Background | null = null;
    beforeEach(() => current().db.query('delete from result_bases'));

    async function calmCheck(): Promise<{ agent: KeepingAgent; check: Assignment }> {
      const { db, accountId } = current();
      const common = { accountId, privateLocations: ['office'], now: clock.now() };
      const id = await addCheck(db, { ...common, definition: { useGlobalAlertSettings: false } });
      const agent = await current().connect();
      await agent.renewHeld();
      await current().handOut();
      await agent.renewHeld();
      const check = agent.held.get(id);
      if (check === undefined) throw new Error('not held');
      clock.set(first + 1_000);
      await agent.report(keptResult(check, first, bodyOf(0)));
      background ??= await idleBackground(db);
      await createAlertReplica(db, { background, clock }).follow();
      return { agent, check };
    }

    async function report(agent: KeepingAgent, check: Assignment, at: number, body: object): Promise<void> {
      clock.set(at + 1_000);
      expect(await agent.report(keptResult(check, at, { ...body }))).toMatchObject([{ outcome: 'stored' }]);
    }

    const stored = (checkId: string) =>
      current().db.query<{ id: string; at: Date; based: boolean; bytes: number }>(
        `select id, started_at as at, base_id is not null as based, pg_column_size(body) as bytes
         from check_results where check_id = $1 order by started_at`,
        [checkId],
      );
    const bases = () => current().db.query('select id from result_bases');

    /** All bodies of a check as lists and single results have them, oldest first. */
    async function answers(checkId: string): Promise<unknown[]> {
      const { db, accountId } = current();
      const none = { runLocation: null, checkType: null, hasFailures: null, status: null, resultType: null };
      const page = { sequenceId: null, from: null, to: null, limit: 100, offset: 0 };
      const listed = await listResults(db, { accountId, checkId, ...none, ...page });
      for (const { id, startedAt, body } of listed) {
        const found = await findResult(db, { accountId, checkId, id, startedAt });
        expect(JSON.stringify(found?.body)).toBe(JSON.stringify(body));
      }
      return listed.map(({ body }) => body).reverse();
    }

    it('are stored once, from the second uneventful run on', async () => {
      const { agent, check } = await calmCheck();
      const bodies = [0, 1, 2, 3, 4].map((index) =>
        bodyOf(index, index === 3 ? { 'x-more': null, date: 'nul \u0000' } : {}),
      );
      for (const [index, body] of bodies.entries()) {
        if (index > 0) await report(agent, check, first + index * minute, body);
      }
      const rows = await stored(check.checkId);
      expect(rows.map(({ based }) => based)).toEqual([false, false, true, true, true]);
      expect(rows[4]?.bytes).toBeLessThan((rows[1]?.bytes ?? 0) / 3);
      expect(await bases()).toHaveLength(1);
      const expected = JSON.parse(JSON.stringify(bodies).replaceAll('\\u0000', '\ufffd')) as unknown[];
      expect(await answers(check.checkId)).toEqual(expected);
    });

    it('are found by statements that read parts of a body', async () => {
      const { agent, check } = await calmCheck();
      const { db, accountId } = current();
      for (let index = 1; index < 5; index++) {
        await report(agent, check, first + index * minute, bodyOf(index));
      }
      const last = (await stored(check.checkId)).at(-1);
      if (last === undefined) throw new Error('nothing stored');
      expect(last.based).toBe(true);
      const alerts = await findAlertResults(db, { accountIds: [accountId], ids: [last.id] });
      expect(alerts.get(last.id)?.statusCode).toBe(200);
      const hour = new Date('2026-03-04T05:00:00.000Z');
      await makeRollupPartition(db, hour);
      await rollUp(db, { checkType: 'URL', checkIds: [check.checkId], hour });
      const rows = await db.query(
        `select count, sum from check_rollups where check_id = $1 and metric = 'tcp'`,
        [check.checkId],
      );
      expect(rows).toEqual([{ count: 5, sum: 10 }]);
    });

    it('are whole in results with little in common, until these have a base of their own', async () => {
      const { agent, check } = await calmCheck();
      const other = (index: number) => ({ ...bodyOf(index), details: { text: `${header}${header}` } });
      const bodies = [bodyOf(1), bodyOf(2), ...[3, 4, 5, 6, 7].map(other)];
      for (const [index, body] of bodies.entries()) {
        await report(agent, check, first + (index + 1) * minute, body);
      }
      const rows = await stored(check.checkId);
      expect(rows.map(({ based }) => based)).toEqual([false, false, true, false, false, false, true, true]);
      expect(await bases()).toHaveLength(2);
      expect(await answers(check.checkId)).toEqual(JSON.parse(JSON.stringify([bodyOf(0), ...bodies])));
    });

    it('begin anew with each day, so that a day can be dropped', async () => {
      const { agent, check } = await calmCheck();
      for (let index = 1; index < 4; index++) {
        await report(agent, check, first + index * minute, bodyOf(index));
      }
      const midnight = first + 19 * 60 * minute;
      for (let index = 0; index < 3; index++) {
        await report(agent, check, midnight + index * minute, bodyOf(index));
      }
      const rows = await stored(check.checkId);
      expect(rows.map(({ based }) => based)).toEqual([false, false, true, true, false, true, true]);
      await current().db.query('delete from result_bases where started_at < $1', [new Date(midnight)]);
      expect((await answers(check.checkId)).slice(-3)).toEqual(
        [0, 1, 2].map((index) => JSON.parse(JSON.stringify(bodyOf(index))) as unknown),
      );
    });
  });
});
