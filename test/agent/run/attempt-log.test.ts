import { expect, it } from 'vitest';
import { createAttemptLog } from '../../../src/agent/run/attempt-log.ts';
import type { LogEntry } from '../../../src/protocol/result.ts';

const entry = (msg: string): LogEntry => ({ time: 7, level: 'info', msg });

it('keeps all lines where there is room', () => {
  const log = createAttemptLog({ first: 2, last: 2, characters: 100 }, undefined);
  for (const msg of ['a', 'b', 'c', 'd']) log.add(entry(msg));
  expect(log.entries()).toEqual(['a', 'b', 'c', 'd'].map(entry));
});

it('keeps the first and last lines, and the number of omitted ones', () => {
  const heard: string[] = [];
  const log = createAttemptLog({ first: 2, last: 2, characters: 100 }, ({ msg }) => heard.push(msg));
  for (let n = 0; n < 100; n++) log.add(entry(`${n}`));
  expect(log.entries().map(({ msg }) => msg)).toEqual(['0', '1', '… 96 lines omitted', '98', '99']);
  // Live viewers of the run get more lines, up to a limit.
  expect(heard).toHaveLength(40);
});

it('bounds the length of all lines together', () => {
  const log = createAttemptLog({ first: 100, last: 100, characters: 10 }, undefined);
  for (let n = 0; n < 50; n++) log.add(entry('12345'));
  log.add(entry('last'));
  expect(log.entries().map(({ msg }) => msg)).toEqual([
    '12345',
    '12345',
    '… 47 lines omitted',
    '12345',
    'last',
  ]);
});
