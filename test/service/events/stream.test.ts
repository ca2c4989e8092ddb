import { expect, test } from 'vitest';
import { createRing } from '../../../src/service/events/ring.ts';
import { createStream, maxPerSecond } from '../../../src/service/events/stream.ts';

/** What a stream writes, and when it leaves events out. */

function bench(checkId: string | null = null) {
  const ring = createRing(100);
  const written: string[] = [];
  let time = 0;
  let isDestroyed = false;
  const sink = {
    writableLength: 0,
    write: (text: string) => written.push(text),
    end: () => undefined,
    destroy: () => (isDestroyed = true),
  };
  const stream = createStream(sink, {
    accountId: 'a',
    apiKeyId: 'k',
    sessionId: null,
    checkId,
    clock: () => time,
  });
  const deliver = (count: number, check = 'c') =>
    stream.deliver(
      Array.from({ length: count }, () => ring.add({ account: 'a', kind: 'run', data: { checkId: check } })),
      ring.newest(),
    );
  const taken = () =>
    written.splice(0).flatMap((text) => [...text.matchAll(/event: (\w+)/g)].map(([, event]) => event));
  return {
    ring,
    sink,
    stream,
    deliver,
    taken,
    text: () => written.splice(0).join(''),
    advance: (ms: number) => (time += ms),
    isDestroyed: () => isDestroyed,
  };
}

test('more than 200 events a second are one reset, then one every five seconds, and one at the end', () => {
  const { deliver, taken, text, advance, stream } = bench();
  deliver(maxPerSecond);
  expect(taken()).toHaveLength(maxPerSecond);
  deliver(1);
  expect(text()).toMatch(/^id: \w+-201\nevent: reset\ndata: \{"reason":"MANY_CHANGES","events":1\}\n\n$/);
  for (let second = 0; second < 4; second++) {
    advance(1000);
    deliver(1000);
    expect(taken()).toEqual([]);
  }
  advance(1000);
  deliver(1000);
  expect(taken()).toEqual(['reset']);
  deliver(10);
  advance(1000);
  deliver(5);
  expect([taken(), stream.isBusy()]).toEqual([[], true]);
  advance(1000);
  deliver(0);
  expect([taken(), stream.isBusy()]).toEqual([['reset'], false]);
  deliver(3);
  expect(taken()).toEqual(['run', 'run', 'run']);
});

test('events of other checks do not count for the limit', () => {
  const { deliver, taken } = bench('mine');
  deliver(1000, 'other');
  deliver(1, 'mine');
  expect(taken()).toEqual(['run']);
});

test('a reader that leaves too much unread is cut off', () => {
  const { deliver, sink, isDestroyed, taken } = bench();
  sink.writableLength = 300 * 1024;
  deliver(1);
  expect([isDestroyed(), taken()]).toEqual([true, []]);
});

test('the ring knows its last events, and no id of another ring or of before it was cleared', () => {
  const { ring } = bench();
  const add = () => ring.add({ account: 'a', kind: 'run', data: {} });
  const start = ring.newest();
  add();
  const first = ring.newest();
  for (let count = 0; count < 50; count++) add();
  expect([ring.after(start)?.length, ring.after(first)?.length, ring.after(ring.newest())]).toEqual([
    51,
    50,
    [],
  ]);
  expect(ring.after(`${first}9999`)).toBeNull();
  expect(ring.after('anything')).toBeNull();
  expect(createRing(10).after(first)).toBeNull();
  for (let count = 0; count < 500; count++) add();
  expect(ring.after(first)).toBeNull();
  const last = ring.newest();
  ring.clear();
  expect(ring.after(last)).toBeNull();
});
