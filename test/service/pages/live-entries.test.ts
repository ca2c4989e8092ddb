import { expect, test } from 'vitest';
import { afterEvents } from '../../../src/service/pages/browser/home/live-entries.ts';
import type { Entry, Overview } from '../../../src/service/pages/browser/home/types.ts';

/** Live events applied to the list of checks. Objects that stay the same are not drawn again. */

const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
const bar = { from: at(0), passed: 1, degraded: 0, failed: 0, errored: 0, missed: 0 };
const entry = (id: string): Entry => ({
  id,
  name: id,
  checkType: 'URL',
  muted: false,
  tags: [],
  groupId: null,
  groupName: null,
  state: 'passing',
  reason: null,
  bars: [bar],
  availability: 100,
  p95: 10,
  lastRunAt: at(1),
  nextRunAt: null,
  waits: null,
});
const totals = { all: 3, muted: 0, failing: 0, errored: 0, degraded: 0, waiting: 0, passing: 3, paused: 0 };
const list: Overview = {
  totals,
  tags: [],
  groups: [],
  length: 3,
  entries: [entry('a'), entry('b'), entry('c')],
};
const run = (checkId: string, startedAt: string) => ({ type: 'run', checkId, startedAt, status: 'failed' });

test('only the entry of a run is another object', () => {
  const after = afterEvents(list, [run('b', at(2)), run('b', at(3)), run('x', at(2))]);
  expect(after.entries.map((one, place) => one === list.entries[place])).toEqual([true, false, true]);
  expect(after.entries[1]).toMatchObject({ lastRunAt: at(3), bars: [{ passed: 1, failed: 2 }] });
});

test('events of checks that are not loaded change nothing', () => {
  expect(afterEvents(list, [run('x', at(2)), { type: 'state', checkId: 'x', state: 'failing' }])).toBe(list);
});

test('a change of a state moves its check in the totals', () => {
  const after = afterEvents(list, [{ type: 'state', checkId: 'c', state: 'failing' }, run('c', at(2))]);
  expect(after.totals).toEqual({ ...totals, passing: 2, failing: 1 });
  expect(after.entries[2]).toMatchObject({ state: 'failing', lastRunAt: at(2) });
  expect(after.entries[0]).toBe(list.entries[0]);
});
