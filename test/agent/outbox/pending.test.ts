import { expect, test } from 'vitest';
import { PendingResults, type Pending } from '../../../src/agent/outbox/pending.ts';

/** Results in memory, while the disk takes none. */

const entry = (text: string): Pending => ({
  payload: Buffer.from(text),
  time: 0,
  isCalm: false,
  settle: null,
});
const texts = (entries: readonly Pending[]) => entries.map(({ payload }) => payload.toString());

test('above the limit, the oldest are returned; those that are being sent stay until it is known how that ended', () => {
  const pending = new PendingResults({ bytes: 1_000, results: 3 });
  for (const text of 'abc') expect(pending.add(entry(text))).toEqual([]);
  expect(texts(pending.add(entry('d')))).toEqual(['a']);
  const sent = pending.peek(2, 1_000);
  expect(texts(sent)).toEqual(['b', 'c']);
  expect(texts(pending.add(entry('e')))).toEqual(['d']);
  expect(texts(pending.add(entry('f')))).toEqual(['e']);
  // The first one was taken.
  pending.remove(new Set(sent.slice(0, 1)));
  expect(pending.add(entry('g'))).toEqual([]);
  expect(texts(pending.add(entry('h')))).toEqual(['c']);
  expect(texts(pending.putBack(['x', 'y'].map(entry)))).toEqual(['x', 'y']);
  expect(texts(pending.takeGroup(1_000))).toEqual(['f', 'g', 'h']);
  expect([pending.bytes, pending.count]).toEqual([0, 0]);
});
