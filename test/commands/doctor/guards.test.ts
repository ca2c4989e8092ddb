import { expect, test } from 'vitest';
import type { GuardFigures } from '../../../src/agent/metrics/guard-figures.ts';
import { guardFinding, guardRows } from '../../../src/commands/doctor/guards.ts';

/** The guards in the report of doctor: value, threshold, remedy. */

const none: GuardFigures = {
  memory: null,
  cpuPressure: null,
  memoryPressure: null,
  diskPressure: null,
  descriptors: null,
  processes: null,
  disk: null,
};
const found = (figures: Partial<GuardFigures>) =>
  Object.entries(guardRows({ ...none, ...figures })).map(([name, row]) => {
    const { status, message, remedy } = guardFinding(row);
    return [name, status, message, remedy];
  });

test('a guard that would be raised is a problem with its remedy; pressure may pass, so it is a note', () => {
  expect(
    found({
      memory: { usedBytes: 95 * 1024 ** 2, limitBytes: 100 * 1024 ** 2 },
      cpuPressure: 70,
      diskPressure: 3,
      descriptors: { used: 10, limit: 1000 },
      disk: { freeBytes: 10 * 1024 ** 2, freeInodes: null },
    }),
  ).toEqual([
    ['disk', 'problem', '10 MB free; raised at: less than 64 MB', 'free some disk space for AGENT_DATA_DIR'],
    ['inodes', 'note', 'cannot be measured on this host', null],
    [
      'memory',
      'problem',
      '95 MB of 100 MB used in the cgroup; raised at: more than 92%',
      'lower UPTIME_CONCURRENCY and JOB_CONCURRENCY, or give the container more memory',
    ],
    ['descriptors', 'ok', '10 of 1000 in use; raised at: more than 92%', null],
    ['processes', 'note', 'cannot be measured on this host', null],
    [
      'pressure',
      'note',
      'work waited 70% for cores, 3% for the disk; raised at: 60% for cores, 20% for memory or the disk',
      'give the agent more cores, memory or a faster disk, or fewer slots',
    ],
  ]);
});
