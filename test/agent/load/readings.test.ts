import { expect, test } from 'vitest';
import { cgroupFolders } from '../../../src/agent/load/cgroup.ts';
import { fieldOf, numberOf, pressureOf, throttlingOf, waitedMsOf } from '../../../src/agent/load/readings.ts';

/** Files of the kernel as they are on hosts of several kinds, and what the agent reads from them. */

test('the wait for a core is the second number of schedstat, in nanoseconds', () => {
  expect(waitedMsOf('247352027 4697528585 185\n')).toBeCloseTo(4697.528585);
  expect(waitedMsOf('0 0 0\n')).toBe(0);
  for (const text of ['', '12', 'a b c', '-1 -2 -3']) expect(waitedMsOf(text)).toBe(null);
});

test('throttling is read from cgroups of both versions', () => {
  const one = 'nr_periods 56\nnr_throttled 55\nthrottled_time 5563981029\nnr_bursts 0\nburst_time 0\n';
  const two =
    'usage_usec 1000\nuser_usec 1\nsystem_usec 2\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250500\n';
  expect(throttlingOf(one)).toEqual({ times: 55, throttledMs: 5563.981029 });
  expect(throttlingOf(two)).toEqual({ times: 4, throttledMs: 250.5 });
  // The root of version 2 has no quota.
  expect(throttlingOf('usage_usec 1000\nuser_usec 1\nsystem_usec 2\n')).toBe(null);
  expect(throttlingOf('')).toBe(null);
});

test('pressure has one or two lines', () => {
  const some = 'some avg10=14.06 avg60=11.36 avg300=9.37 total=71114021\n';
  expect(pressureOf(some)).toEqual({ some: { percent: 14.06, totalMs: 71114.021 }, full: null });
  expect(pressureOf(`${some}full avg10=0.50 avg60=0.00 avg300=0.00 total=2000\n`)).toEqual({
    some: { percent: 14.06, totalMs: 71114.021 },
    full: { percent: 0.5, totalMs: 2 },
  });
  for (const text of ['', 'full avg10=0.50 avg60=0.00 avg300=0.00 total=2000\n']) {
    expect(pressureOf(text)).toBe(null);
  }
});

test('numbers and fields of cgroup files', () => {
  expect([numberOf('123\n'), numberOf('max\n'), numberOf(''), numberOf('-1')]).toEqual([
    123,
    null,
    null,
    null,
  ]);
  const stat = 'anon 100\nfile 300\ninactive_file 200\ntotal_inactive_file 250\n';
  expect([fieldOf(stat, 'inactive_file'), fieldOf(stat, 'file'), fieldOf(stat, 'slab')]).toEqual([
    200,
    300,
    null,
  ]);
});

const mountsOfOne = [
  '31 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755',
  '32 31 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct',
  '33 31 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
  '34 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
].join('\n');

test('cgroups of version 1: a hierarchy for each controller, with the folders above', () => {
  const memberships = '9:memory:/\n2:cpu,cpuacct:/kubepods/pod1/c2\n0::/\n';
  expect(cgroupFolders('cpu', { memberships, mounts: mountsOfOne })).toEqual({
    version: 1,
    folders: [
      '/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c2',
      '/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1',
      '/sys/fs/cgroup/cpu,cpuacct/kubepods',
      '/sys/fs/cgroup/cpu,cpuacct',
    ],
  });
  expect(cgroupFolders('memory', { memberships, mounts: mountsOfOne })?.folders).toEqual([
    '/sys/fs/cgroup/memory',
  ]);
});

test('a container of version 1 sees its own part as the root', () => {
  const mounts =
    '700 690 0:27 /docker/abc /sys/fs/cgroup/cpu ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct';
  expect(cgroupFolders('cpu', { memberships: '4:cpu,cpuacct:/docker/abc\n', mounts })).toEqual({
    version: 1,
    folders: ['/sys/fs/cgroup/cpu'],
  });
});

test('cgroups of version 2: one hierarchy', () => {
  const mounts = '25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';
  expect(cgroupFolders('pids', { memberships: '0::/system.slice/agent.service\n', mounts })?.folders).toEqual(
    ['/sys/fs/cgroup/system.slice/agent.service', '/sys/fs/cgroup/system.slice', '/sys/fs/cgroup'],
  );
  expect(cgroupFolders('cpu', { memberships: '0::/\n', mounts })).toEqual({
    version: 2,
    folders: ['/sys/fs/cgroup'],
  });
});

test('a host without cgroups has no folders', () => {
  expect(cgroupFolders('cpu', { memberships: '', mounts: '' })).toBe(null);
  expect(cgroupFolders('cpu', { memberships: '0::/\n', mounts: '1 2 0:1 / / rw - ext4 /dev/vda rw' })).toBe(
    null,
  );
});
