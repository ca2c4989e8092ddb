import { expect, test } from 'vitest';
import { lineSplitter } from '../../src/commands/line-splitter.ts';
import { readableLine } from '../../src/log-line.ts';

test('a log line becomes readable, other text is unchanged', () => {
  const line = JSON.stringify({
    level: 'INFO',
    time: '2026-05-06T07:08:09.123Z',
    port: 80,
    path: '/a b',
    error: { message: 'no way', stack: '…' },
    msg: 'ready',
  });
  expect(readableLine(line, 'agent')).toBe(
    '07:08:09 INFO  agent    ready port=80 path="/a b" error="no way"',
  );
  expect(readableLine('(node:1) Warning: x', 'agent')).toBe('         -     agent    (node:1) Warning: x');
});

test('lines are split correctly, however they are chunked', () => {
  const lines: string[] = [];
  const split = lineSplitter((line) => lines.push(line));
  for (const chunk of ['a', 'b\n', '\nc\nd', '\n']) split(chunk);
  expect(lines).toEqual(['ab', 'c', 'd']);
  split('x'.repeat(70_000));
  expect(lines[3]).toHaveLength(70_000);
});
