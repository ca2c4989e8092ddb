import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createFiguresOfGuards, type GuardFigures } from '../../../src/agent/metrics/guard-figures.ts';
import {
  guardNames,
  judge,
  stopsClaiming,
  type GuardSources,
  type GuardState,
} from '../../../src/agent/metrics/guard-rules.ts';
import { createGuards } from '../../../src/agent/metrics/guards.ts';

afterEach(() => void vi.useRealTimers());

const unknown: GuardFigures = {
  memory: null,
  cpuPressure: null,
  memoryPressure: null,
  diskPressure: null,
  descriptors: null,
  processes: null,
  disk: null,
};
const outbox = (more: Partial<ReturnType<GuardSources['outbox']>>) => ({
  diskBytes: 0,
  memoryBytes: 0,
  memoryFull: false,
  diskError: null,
  ...more,
});
const sources: GuardSources = {
  dataDir: '/',
  memoryLimitBytes: 1000 * 2 ** 20,
  serviceFailingSince: () => null,
  ownNetwork: () => null,
  clockSkewMs: () => null,
  outbox: () => outbox({}),
  outboxCapBytes: 1000 * 2 ** 20,
  now: () => 1_000_000,
};
const state = (more: Partial<GuardState> = {}): GuardState => ({
  ...sources,
  ...unknown,
  lateByMs: 0,
  rssBytes: 2 ** 20,
  ...more,
});
const disk = (freeBytes: number, freeInodes: number | null = null) => ({ disk: { freeBytes, freeInodes } });

const cases: readonly (readonly [Partial<GuardState>, readonly string[]])[] = [
  [{}, []],
  [disk(64 * 2 ** 20), []],
  [disk(64 * 2 ** 20 - 1), ['disk']],
  [disk(2 ** 40, 1000), []],
  [disk(2 ** 40, 999), ['inodes']],
  [disk(0, 0), ['disk', 'inodes']],
  [{ outbox: () => outbox({ diskError: new Error('ENOSPC') }) }, ['disk']],
  [{ outbox: () => outbox({ memoryFull: true }) }, ['outbox']],
  [{ outbox: () => outbox({ diskBytes: 901 * 2 ** 20 }) }, ['outbox']],
  [{ rssBytes: 920 * 2 ** 20 }, []],
  [{ rssBytes: 921 * 2 ** 20 }, ['memory']],
  [{ memory: { usedBytes: 92, limitBytes: 100 } }, []],
  [{ memory: { usedBytes: 93, limitBytes: 100 } }, ['memory']],
  [{ descriptors: { used: 942, limit: 1024 } }, []],
  [{ descriptors: { used: 943, limit: 1024 } }, ['descriptors']],
  [{ processes: { used: 92, limit: 100 } }, []],
  [{ processes: { used: 93, limit: 100 } }, ['processes']],
  [{ cpuPressure: 59, memoryPressure: 19, diskPressure: 19 }, []],
  [{ cpuPressure: 60 }, ['pressure']],
  [{ memoryPressure: 20 }, ['pressure']],
  [{ diskPressure: 20 }, ['pressure']],
  [{ lateByMs: 200 }, []],
  [{ lateByMs: 201 }, ['event-loop']],
  [{ serviceFailingSince: () => 970_000 }, []],
  [{ serviceFailingSince: () => 969_999 }, ['service']],
  [{ ownNetwork: () => ({ summary: 'no link' }) }, ['network']],
  [{ clockSkewMs: () => -5001 }, ['clock']],
  [{ clockSkewMs: () => 5000 }, []],
];

describe('rules', () => {
  test.each(cases)('%#: %j', (more, expected) => {
    expect(judge(state(more)).map(({ name }) => name)).toEqual(expected);
  });

  test('every guard has a case, and a section with its remedy', () => {
    const raised = new Set(cases.flatMap(([, names]) => names));
    expect([...raised].sort()).toEqual([...guardNames].sort());
    const page = readFileSync(join(import.meta.dirname, '../../../docs/guards.md'), 'utf8');
    for (const name of guardNames) {
      const section = page.split(`\n### \`${name}\`\n`)[1]?.split('\n#')[0] ?? '';
      expect(section, name).toMatch(/- Threshold: /);
      expect(section, name).toMatch(
        stopsClaiming.has(name) ? /- Effect: .*takes no more jobs/ : /- Effect: warning/,
      );
      expect(section, name).toMatch(/- Remedy: /);
    }
  });
});

describe('no guard gets stuck', () => {
  // The process that runs the tests holds what other files have loaded as well.
  const roomy = { ...sources, memoryLimitBytes: 2 ** 50 };
  const lapse = () => vi.advanceTimersByTimeAsync(5000);

  test('each check judges anew, and what cannot be measured any more is not raised', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    let figures: GuardFigures = { ...unknown, processes: { used: 100, limit: 100 } };
    const guards = createGuards(roomy, () => Promise.resolve(figures));
    guards.start();
    await lapse();
    expect([guards.stopClaiming(), guards.raised().map(({ name }) => name)]).toEqual([true, ['processes']]);
    figures = unknown;
    await lapse();
    expect([guards.stopClaiming(), guards.raised()]).toEqual([false, []]);
    guards.stop();
  });

  test('a disk that hangs is not measured, and not asked again until it answers', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let asked = 0;
    let answer: (value: GuardFigures['disk']) => void = () => undefined;
    const read = createFiguresOfGuards('/', {
      freeSpaceOf: () => {
        asked += 1;
        return new Promise((resolve) => (answer = resolve));
      },
    });
    for (let i = 0; i < 3; i++) {
      const figures = read();
      await vi.advanceTimersByTimeAsync(2000);
      expect((await figures).disk).toBe(null);
    }
    expect(asked).toBe(1);
    answer({ freeBytes: 1, freeInodes: 2 });
    await vi.advanceTimersByTimeAsync(0);
    const figures = read();
    answer({ freeBytes: 3, freeInodes: 4 });
    expect((await figures).disk).toEqual({ freeBytes: 3, freeInodes: 4 });
  });

  test('descriptors that cannot be counted hold up no other guard', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let asked = 0;
    // As if operations on a disk that hangs held all threads of the pool.
    const read = createFiguresOfGuards('/', {
      freeSpaceOf: () => Promise.resolve({ freeBytes: 1, freeInodes: 2 }),
      descriptorsOf: () => {
        asked += 1;
        return new Promise(() => {});
      },
    });
    for (let i = 0; i < 2; i++) {
      const figures = read();
      await vi.advanceTimersByTimeAsync(2000);
      expect(await figures).toMatchObject({ descriptors: null, disk: { freeBytes: 1 } });
    }
    expect(asked).toBe(1);
  });
});

test('this host can be measured', async () => {
  const figures = await createFiguresOfGuards('/')();
  expect(figures.disk?.freeBytes).toBeGreaterThan(0);
  if (!existsSync('/proc/self/fd')) return console.warn('skipped: not Linux');
  expect(figures.descriptors?.used).toBeGreaterThan(2);
  expect(figures.descriptors?.limit).toBeGreaterThan(figures.descriptors?.used ?? 0);
});
