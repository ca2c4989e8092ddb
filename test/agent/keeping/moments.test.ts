import { expect, test } from 'vitest';
import { createMoments } from '../../../src/agent/keeping/moments.ts';
import type { Session } from '../../../src/agent/link/session.ts';

/** The service's clock, as held checks use it before the first hello. */

const start = 1_790_000_040_000;

function bench() {
  let skewMs: number | null = null;
  const session = { clockSkewMs: () => skewMs } as Session; // nothing else is used
  return {
    moments: createMoments({ session, now: () => start }),
    hello: (value: number) => (skewMs = value),
  };
}

test('what an earlier process has measured counts until the first hello', () => {
  const { moments, hello } = bench();
  expect(moments.now()).toBe(start);
  moments.restore({ skewMs: -600_000, heardAt: start });
  expect(moments.now()).toBe(start + 600_000);
  hello(5);
  expect(moments.now()).toBe(start - 5);
});

test('a clock that was set meanwhile is recognised if time had gone back', () => {
  const { moments } = bench();
  moments.restore({ skewMs: 600_000, heardAt: start - 600_000 });
  expect(moments.now()).toBe(start - 600_000);
  moments.restore({ skewMs: 600_000, heardAt: start - 599_999 });
  expect(moments.now()).toBe(start);
  // An earlier release has not kept it.
  moments.restore({ skewMs: null, heardAt: start });
  expect(moments.now()).toBe(start);
});
