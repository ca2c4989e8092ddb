import { cgroupFolders } from '../../../src/agent/load/cgroup.ts';
import { throttlingOf, waitedMsOf } from '../../../src/agent/load/readings.ts';
import { parseNeighbours } from '../../../src/agent/own-network/host.ts';
import { parseIpv4Routes, parseIpv6Routes } from '../../../src/agent/own-network/routes.ts';
import { parseHosts } from '../../../src/executors/resolve/hosts-file.ts';
import { parseResolvConf } from '../../../src/executors/resolve/resolv-conf.ts';
import { candidateNames } from '../../../src/executors/resolve/stub.ts';

/** Files of the system: resolv.conf, hosts, and those below /proc and /sys. Readers take any text. */

export const name = 'system-files';

/** Throws if a reader throws, or returns a number that is none. */
export function run(data: Buffer): void {
  const text = data.toString('latin1');
  const conf = parseResolvConf(text, 'host.office.test');
  if (!Number.isInteger(conf.ndots)) throw new Error(`ndots is ${conf.ndots}`);
  candidateNames('shop', conf);
  parseHosts(text);
  parseIpv4Routes(text);
  parseIpv6Routes(text);
  parseNeighbours(text);
  for (const value of [waitedMsOf(text), throttlingOf(text)?.throttledMs ?? null]) {
    if (value !== null && !Number.isFinite(value)) throw new Error(`a time is ${value}`);
  }
  const half = Math.floor(text.length / 2);
  for (const controller of ['cpu', 'memory', 'pids'] as const) {
    cgroupFolders(controller, { memberships: text.slice(0, half), mounts: text.slice(half) });
  }
}

export const seeds = (): string[] => [
  'nameserver 10.0.0.2\nnameserver fe80::1%eth0\nsearch a.test b.test\noptions ndots:2 timeout:1 attempts:3 rotate use-vc edns0\n',
  '127.0.0.1 localhost\n::1 ip6-localhost # comment\n10.0.0.1\tshop.test shop\n',
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\neth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n',
  '00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n',
  'IP address       HW type     Flags       HW address            Mask     Device\n172.17.0.1       0x1         0x2         02:42:0a:00:00:01     *        eth0\n',
  '12345678 4567890 123\n',
  'usage_usec 1\nnr_periods 10\nnr_throttled 3\nthrottled_usec 123456\nthrottled_time 99\n',
  '0::/system.slice/agent\n36 35 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n',
  '4:memory:/docker/x\n36 35 0:30 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n',
];

export const dictionary = [
  'nameserver ',
  'search ',
  'options ',
  'ndots:',
  '\n',
  '\t',
  ' - ',
  '..',
  '/',
  ':',
  '%',
];
