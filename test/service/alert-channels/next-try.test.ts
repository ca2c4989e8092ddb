import { expect, test } from 'vitest';
import {
  nextTry,
  type NextTry,
  type OpenNotification,
} from '../../../src/service/alert-channels/next-try.ts';

/** The order of the notifications of one check to one channel. */

const open = (id: string, fields: Partial<OpenNotification> = {}): OpenNotification => ({
  id,
  attempts: 0,
  isTried: false,
  isLost: false,
  ...fields,
});
const failed = { attempts: 1 };
const running = { isTried: true };

test.each<[what: string, sequence: OpenNotification[], id: string, next: NextTry]>([
  ['alone', [open('a')], 'a', { kind: 'try', drops: [] }],
  ['a retry, alone', [open('a', failed)], 'a', { kind: 'try', drops: [] }],
  ['delivered meanwhile', [open('b')], 'a', { kind: 'finished' }],
  ['being tried by another replica', [open('a', running)], 'a', { kind: 'wait' }],
  ['behind one that was never tried', [open('a'), open('b')], 'b', { kind: 'wait' }],
  ['before a newer one, never tried', [open('a'), open('b')], 'a', { kind: 'try', drops: [] }],
  ['behind one whose try runs', [open('a', running), open('b')], 'b', { kind: 'wait' }],
  ['behind a retry that runs', [open('a', { ...failed, ...running }), open('b')], 'b', { kind: 'wait' }],
  ['behind one whose try failed', [open('a', failed), open('b')], 'b', { kind: 'try', drops: ['a'] }],
  ['a retry before a newer one', [open('a', failed), open('b')], 'a', { kind: 'superseded' }],
  [
    'a reminder that failed, before a recovery that failed too',
    [open('a', failed), open('b', failed)],
    'a',
    { kind: 'superseded' },
  ],
  [
    'the newest of three',
    [open('a', failed), open('b', failed), open('c')],
    'c',
    { kind: 'try', drops: ['a', 'b'] },
  ],
  ['the newest of three, the second new', [open('a', failed), open('b'), open('c')], 'c', { kind: 'wait' }],
  ['the second of three', [open('a', failed), open('b'), open('c')], 'b', { kind: 'try', drops: ['a'] }],
  [
    'behind one that its queue has lost',
    [open('a', { isLost: true }), open('b')],
    'b',
    { kind: 'try', drops: ['a'] },
  ],
])('%s', (_what, sequence, id, next) => {
  expect(nextTry(sequence, id)).toEqual(next);
});

test('in every state at most one try runs, no notification follows a newer one, and something goes on', () => {
  // All sequences of up to four notifications in each of four states.
  const states = [{}, failed, running, { isLost: true }];
  const sequences = (length: number): OpenNotification[][] =>
    length === 0
      ? [[]]
      : sequences(length - 1).flatMap((rest) => states.map((state) => [...rest, open(`${length}`, state)]));
  for (const sequence of [1, 2, 3, 4].flatMap(sequences)) {
    const next = sequence.map(({ id }) => nextTry(sequence, id));
    for (const { id } of sequence) {
      const first = nextTry(sequence, id);
      if (first.kind !== 'try') continue;
      const { drops } = first;
      const left = sequence
        .filter((each) => !drops.includes(each.id))
        .map((each) => (each.id === id ? { ...each, ...running } : each));
      // While its try runs, no other begins.
      expect(left.map((each) => nextTry(left, each.id).kind)).not.toContain('try');
      // Once it is delivered, no older one is left that could follow it.
      expect(drops).toEqual(sequence.slice(0, Number(id) - 1).map((each) => each.id));
    }
    // Something always goes on: a try begins, runs, or one is dropped.
    expect(sequence.some(({ isTried }) => isTried) || next.some(({ kind }) => kind !== 'wait')).toBe(true);
  }
});
