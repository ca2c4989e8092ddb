import { expect, test } from 'vitest';
import { createLiveLog } from '../../../src/agent/run/live-log.ts';

/** Lines of a run's log that wait for a renewal: in order, scrubbed, never more than a bound. */

const plain = (line: string) => line;
const all = 1024 * 1024;

test('lines are scrubbed, in order and sent once', () => {
  const log = createLiveLog((line) => line.replaceAll('very-secret', '*********'));
  log.add('one');
  log.add('the word is very-secret');
  expect(log.take(all).lines).toEqual(['one', 'the word is *********']);
  expect(log.take(all).lines).toEqual([]);
});

test('a call carries a limited number of lines and characters; the rest is in the next call', () => {
  const log = createLiveLog(plain);
  for (let n = 0; n < 250; n += 1) log.add(`${n}`);
  expect(log.take(all).lines).toEqual(Array.from({ length: 200 }, (_, n) => `${n}`));
  expect(log.take(5).lines).toEqual(['200']);
  expect(log.take(all).lines).toHaveLength(49);
});

test('a line that is too long is cut', () => {
  const log = createLiveLog(plain);
  log.add('x'.repeat(100_000));
  const [line = ''] = log.take(all).lines;
  expect(line).toHaveLength(8192);
  expect(line.endsWith('x…')).toBe(true);
});

test('lines of a failed call are sent again, in order', () => {
  const log = createLiveLog(plain);
  log.add('one');
  log.add('two');
  const { putBack } = log.take(all);
  log.add('three');
  putBack();
  expect(log.take(all).lines).toEqual(['one', 'two', 'three']);
});

test('while no line can be sent, the oldest are dropped and counted', () => {
  const log = createLiveLog(plain);
  for (let call = 0; call < 10; call += 1) {
    for (let n = 0; n < 300; n += 1) log.add(`${call}/${n}`);
    log.take(all).putBack();
  }
  const { lines, putBack } = log.take(all);
  expect(lines).toHaveLength(200);
  expect(lines.slice(0, 2)).toEqual(['… 2000 lines omitted', '6/200']);
  putBack();
  // As many as were let in; the ends of a gap grow together.
  expect(log.take(all).lines.slice(0, 2)).toEqual(['… 2000 lines omitted', '6/200']);
});

test('beyond a limit, lines are counted and not scrubbed', () => {
  let scrubbed = 0;
  const log = createLiveLog((line) => {
    scrubbed += 1;
    return line;
  });
  for (let n = 0; n < 1_000_000; n += 1) log.add(`${n}`);
  expect(scrubbed).toBe(300);
  expect(log.take(all).lines).toHaveLength(200);
  log.add('after the flood');
  expect(log.take(all).lines.slice(-3)).toEqual(['299', '… 999700 lines omitted', 'after the flood']);
});

test('long lines are bounded by their length together', () => {
  const log = createLiveLog(plain);
  for (let call = 0; call < 50; call += 1) {
    for (let n = 0; n < 10; n += 1) log.add('y'.repeat(8000));
    log.take(all).putBack();
  }
  let characters = 0;
  for (let { lines } = log.take(all); lines.length > 0; { lines } = log.take(all)) {
    characters += lines.reduce((sum, line) => sum + line.length, 0);
  }
  expect(characters).toBeLessThan(520 * 1024 + 100);
});
