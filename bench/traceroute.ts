/**
 * CPU of a TRACEROUTE check over 14 routers (15 hops, three probes each) in network namespaces, compared with
 * traceroute(8), which makes the same trace. Both wait for the same routers, and the kernel's work for the packets is in
 * both figures. Needs root, and Debian's traceroute for the comparison.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createNetwork } from '../src/executors/system-network.ts';
import { executeTraceroute } from '../src/executors/traceroute.ts';
import { withoutScripts } from '../src/executors/without-scripts.ts';
import type { JobOf } from '../src/protocol/job.ts';
import type { TraceProtocol } from '../src/protocol/traceroute.ts';
import { machine, report } from './lib/processes.ts';

const routers = 14;
const traces = 100;
const target = `10.0.${routers + 1}.2`;
const inside = '--inside';

/** This host, the routers and the target in a row. Link n has the network 10.0.n.0/24. */
const topology = `
set -e
ip link set lo up
node='ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward; echo 0 > /proc/sys/net/ipv4/icmp_ratemask'
folder=$(mktemp -d); ended=''
trap 'kill $ended; rm -r $folder' EXIT
for n in $(seq 1 ${routers + 1}); do
  unshare -n sh -ec "$node; echo \\$\\$ > $folder/$n; exec sleep 300" & ended="$ended $!"
  until [ -s $folder/$n ]; do sleep 0.01; done
done
on() { if [ $1 = 0 ]; then sh -ec "$2"; else nsenter -t $(cat $folder/$1) -n sh -ec "$2"; fi; }
for n in $(seq 1 ${routers + 1}); do
  before=$((n - 1))
  ip link add to$n type veth peer name from$n
  [ $before = 0 ] || ip link set to$n netns $(cat $folder/$before)
  ip link set from$n netns $(cat $folder/$n)
  on $before "ip addr add 10.0.$n.1/24 dev to$n; ip link set to$n up; ip route add default via 10.0.$n.2"
  on $n "ip addr add 10.0.$n.2/24 dev from$n; ip link set from$n up"
  [ $n = 1 ] || on $n "ip route add 10.0.1.0/24 via 10.0.$n.1"
done
"$0" "$1" ${inside}
`;

const id = '00000000-0000-4000-8000-000000000000';
const jobOf = (protocol: TraceProtocol): JobOf<'TRACEROUTE'> => ({
  jobId: id,
  runId: id,
  sequenceId: id,
  checkId: id,
  checkName: 'bench',
  lane: 'uptime',
  runLocation: 'bench',
  runSource: 'SCHEDULER',
  dueAt: '2026-01-01T00:00:00.000Z',
  attempt: 1,
  firstAttemptAt: null,
  leaseToken: id,
  leaseExpiresAt: '2026-01-01T00:01:00.000Z',
  deadline: '2026-01-01T00:01:00.000Z',
  shouldFail: false,
  degradedResponseTime: null,
  maxResponseTime: null,
  retryStrategy: null,
  environmentVariables: [],
  proxyUrl: null,
  checkType: 'TRACEROUTE',
  request: {
    url: target,
    protocol,
    port: protocol === 'ICMP' ? null : 33_434,
    ipFamily: 'IPv4',
    maxHops: 30,
    maxUnknownHops: null,
    queries: 3,
    ptrLookup: false,
    timeout: 30,
    assertions: [],
  },
});

/** Milliseconds of processor time for one trace. */
async function ours(protocol: TraceProtocol): Promise<number> {
  const network = createNetwork({ useOsDnsResolver: false });
  const trace = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++) {
      const { signal } = new AbortController();
      const context = { ...withoutScripts, signal, network, log: () => undefined, now: Date.now };
      const { base, details } = await executeTraceroute(jobOf(protocol), context);
      if (!base.ok || details['totalHops'] !== routers + 1)
        throw new Error(JSON.stringify({ base, details }));
    }
  };
  // Agents run for weeks: everything is compiled before it counts, which takes hundreds of traces.
  await Promise.all(Array.from({ length: 8 }, () => trace(75)));
  const before = process.cpuUsage();
  await trace(traces);
  const { user, system } = process.cpuUsage(before);
  network.close();
  return (user + system) / 1000 / traces;
}

const options: { readonly [P in TraceProtocol]: string } = { TCP: '-T -p 33434', UDP: '', ICMP: '-I' };

/** The same for traceroute(8); null if it is not installed. */
function peer(protocol: TraceProtocol): number | null {
  const once = `traceroute -n -q 3 ${options[protocol]} ${target}`;
  const script = `${once} | grep -q ' ${target} ' || exit 1; for n in $(seq ${traces}); do ${once} > /dev/null; done; times`;
  const { stdout, status } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  if (status !== 0) return null;
  const children = stdout.trim().split('\n').at(-1) ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => Number(m) * 60 + Number(s));
  // The first one, whose answer is looked at, counts too.
  return (seconds.reduce((sum, one) => sum + one, 0) * 1000) / (traces + 1);
}

async function measure(): Promise<void> {
  const rows: { protocol: TraceProtocol; own: number; other: number | null }[] = [];
  for (const protocol of ['UDP', 'TCP', 'ICMP'] as const) {
    rows.push({ protocol, own: await ours(protocol), other: peer(protocol) });
  }
  console.log(`trace of ${routers + 1} hops with 3 probes each, ${traces} traces, ${machine}`);
  for (const { protocol, own, other } of rows) {
    const times = `${own.toFixed(2).padStart(8)} ms CPU   traceroute(8) ${other?.toFixed(2) ?? '-'} ms CPU`;
    console.log(`${protocol.padEnd(6)}${times}`);
  }
  const worst = rows.reduce((a, b) => (ratioOf(b) > ratioOf(a) ? b : a));
  report({
    name: 'traceroute',
    unit: `ms CPU per trace by ${worst.protocol}`,
    ours: worst.own,
    peer: worst.other,
    limit: null,
    ratio: worst.other === null ? null : worst.own / worst.other,
  });
  if (ratioOf(worst) > 1) process.exitCode = 1;
}

const ratioOf = ({ own, other }: { own: number; other: number | null }): number =>
  other === null ? 0 : own / other;

if (process.argv.includes(inside)) await measure();
else {
  const self = fileURLToPath(import.meta.url);
  const { status } = spawnSync('unshare', ['-n', 'sh', '-c', topology, process.execPath, self], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
