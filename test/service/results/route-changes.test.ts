import { describe, expect, test } from 'vitest';
import { minuteMs } from '../../../src/durations.ts';
import { changedHops, followRoutes } from '../../../src/service/results/route-changes.ts';
import { analyticsBench, start } from '../../helpers/service/analytics-bench.ts';
import { databases } from '../../helpers/service/database.ts';
import type { Fields } from '../../helpers/service/service.ts';

/** Changes of route between the runs of a traceroute check. */

const route = (addresses: (string | null | string[])[], reached = true) => ({
  reached,
  hops: addresses.map((one, index) => {
    const [address = null, ...others] = Array.isArray(one) ? one : [one];
    return { hop: index + 1, address, ...(others.length === 0 ? {} : { others }) };
  }),
});

describe('routes', () => {
  test.each([
    ['the same', route(['a', 'b', 't']), route(['a', 'b', 't']), []],
    ['another router', route(['a', 'b', 't']), route(['a', 'c', 't']), [[2, ['b'], ['c']]]],
    ['a hop that is silent now', route(['a', 'b', 't']), route(['a', null, 't']), []],
    ['a hop that was silent', route(['a', null, 't']), route(['a', 'b', 't']), []],
    ['one of several routers', route(['a', ['b', 'c'], 't']), route(['a', ['c', 'd'], 't']), []],
    [
      'a longer route',
      route(['a', 't']),
      route(['a', 'b', 't']),
      [
        [2, ['t'], ['b']],
        [3, [], ['t']],
      ],
    ],
    ['a trace that ended early', route(['a', 'b', 't']), route(['a'], false), []],
    ['no route at all', { hops: 'x' }, route(['a']), []],
  ] as const)('%s', (_what, before, after, expected) => {
    expect(changedHops(before, after).map(({ hop, before: was, after: is }) => [hop, was, is])).toEqual(
      expected,
    );
  });

  test('hostile details cost no more than 64 hops', () => {
    const many = route(Array.from({ length: 5000 }, (_, index) => `a${index}`));
    expect(changedHops(many, route(Array.from({ length: 5000 }, () => 'z')))).toHaveLength(64);
    expect(changedHops({}, { hops: [null, 3, { address: {} }] })).toEqual([]);
  });
});

describe.each(databases)('a changed route ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', () => {
    const bench = analyticsBench(database);

    test('is recorded in the result, and is a mark of the timeline', async () => {
      const checkId = await bench.create('TRACEROUTE');
      const at = (minutes: number) => start - (60 - minutes) * minuteMs;
      const run = (minutes: number, addresses: string[], runLocation = 'eu-west-1') => ({
        at: at(minutes),
        runLocation,
        details: { traceroute: route(addresses) },
      });
      const ids = await bench.store(checkId, 'TRACEROUTE', [
        run(0, ['a', 'b', 't']),
        // Another location has another route.
        run(1, ['x', 't'], 'us-east-1'),
        run(2, ['a', 'c', 't']),
        run(3, ['a', 'c', 't']),
        { at: at(4), status: 'failed' as const, details: { traceroute: { hops: 'none' } } },
        run(5, ['a', 'b', 't']),
      ]);
      const minutes = [0, 1, 2, 3, 4, 5];
      const parts = ids.map((resultId, index) => ({
        resultId,
        startedAt: new Date(at(minutes[index] ?? 0)),
        runLocation: index === 1 ? 'us-east-1' : 'eu-west-1',
        status: 'passed' as const,
      }));
      const runs = [{ accountId: bench.service.account.id, checkId, runId: ids[0] ?? '', parts }];
      await bench.service.db.tx((tx) => followRoutes(tx, runs));
      const changes = await Promise.all(
        ids.map(async (id) => {
          const { body } = await bench.service.call<Fields>('GET', `/v1/check-results/${checkId}/${id}`);
          return (body['details'] as Fields)['routeChange'];
        }),
      );
      const since = (index: number) => ({
        previousResultId: ids[index],
        previousStartedAt: new Date(at(minutes[index] ?? 0)).toISOString(),
      });
      expect(changes).toEqual([
        undefined,
        undefined,
        { ...since(0), hops: [{ hop: 2, before: ['b'], after: ['c'] }] },
        undefined,
        undefined,
        { ...since(3), hops: [{ hop: 2, before: ['c'], after: ['b'] }] },
      ]);
      const { body } = await bench.service.call<{ marks: Fields[] }>('GET', `/v1/checks/${checkId}/timeline`);
      expect(body.marks).toEqual([
        {
          at: new Date(at(2)).toISOString(),
          kind: 'route',
          text: 'Route changed at eu-west-1: hop 2',
          id: ids[2],
        },
        {
          at: new Date(at(5)).toISOString(),
          kind: 'route',
          text: 'Route changed at eu-west-1: hop 2',
          id: ids[5],
        },
      ]);
    });
  });
});
