import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Outcome } from '../../../src/executors/interface/executor.ts';
import type { TracedHop } from '../../../src/executors/traceroute/response.ts';
import type { JobOf } from '../../../src/protocol/job.ts';
import { jobFields } from '../../helpers/job-fields.ts';
import type { Order } from './trace-child.ts';

/**
 * Networks of namespaces with a known topology: this host, routers r1, r2… in a row, and the target t. Link n has the
 * networks 10.0.n.0/24 and fd00:n::/64; its nearer end is .1 and its farther end .2. Router n is therefore 10.0.n.2.
 */
export type Topology = {
  routers: number;
  /** Shell commands after the links are up. `on NODE 'COMMANDS'` runs them in another namespace. */
  prepare?: string;
  /** A second router next to r2: r1 spreads its load over both by flow. */
  twoWays?: boolean;
};

export type Request = JobOf<'TRACEROUTE'>['request'];

export const targetOf = ({ routers }: Topology, family: 4 | 6 = 4): string =>
  family === 4 ? `10.0.${routers + 1}.2` : `fd00:${routers + 1}::2`;

export const routerOf = (number: number, family: 4 | 6 = 4): string =>
  family === 4 ? `10.0.${number}.2` : `fd00:${number}::2`;

/** A job with the defaults of the service. */
export function traceJob(request: Partial<Request> & { url: string }): JobOf<'TRACEROUTE'> {
  return {
    ...jobFields,
    lane: 'uptime',
    checkType: 'TRACEROUTE',
    request: {
      protocol: 'TCP',
      port: null,
      ipFamily: request.url.includes(':') ? 'IPv6' : 'IPv4',
      maxHops: 30,
      maxUnknownHops: null,
      queries: 3,
      ptrLookup: false,
      timeout: 10,
      assertions: [],
      ...request,
    },
  };
}

/** The outcome of a trace, with the fields of its details that tests read. */
export type Traced = Omit<Outcome, 'details'> & {
  details: {
    traceroute: { hops: TracedHop[] };
    totalHops: number;
    destinationReached: boolean;
    truncationReason: string | null;
    way: string | null;
    loop?: string[];
    packetLoss: number | null;
    finalHopLatency: { avg: number | null };
  };
};

/** Routers answer without the usual limit, because tests send many probes at once. */
const node = `echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
  echo 0 > /proc/sys/net/ipv4/icmp_ratemask; echo 0 > /proc/sys/net/ipv6/icmp/ratelimit`;
const start = String.raw`
set -e
quick='echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up'
eval "$quick"
ended=''
trap 'kill $ended' EXIT
begin() {
  unshare -n sh -ec "$quick; ${node}; echo \$\$ > $DIR/$1; exec sleep 120" & ended="$ended $!"
  until [ -s $DIR/$1 ]; do sleep 0.01; done
}
on() { if [ $1 = h ]; then sh -ec "$2"; else nsenter -t $(cat $DIR/$1) -n sh -ec "$2"; fi; }
# link A B NUMBER
link() {
  ip link add to$3 type veth peer name from$3
  [ $1 = h ] || ip link set to$3 netns $(cat $DIR/$1)
  ip link set from$3 netns $(cat $DIR/$2)
  on $1 "ip addr add 10.0.$3.1/24 dev to$3; ip -6 addr add fd00:$3::1/64 dev to$3 nodad; ip link set to$3 up"
  on $2 "ip addr add 10.0.$3.2/24 dev from$3; ip -6 addr add fd00:$3::2/64 dev from$3 nodad; ip link set from$3 up"
}
# forward NODE LINK: everything unknown leaves by it. back NODE LINK: what is for this host does.
forward() { on $1 "ip route replace default via 10.0.$2.2; ip -6 route replace default via fd00:$2::2"; }
back() { on $1 "ip route replace 10.0.1.0/24 via 10.0.$2.1; ip -6 route replace fd00:1::/64 via fd00:$2::1"; }
`;

function linesOf({ routers, prepare = '', twoWays = false }: Topology): string[] {
  const lines: string[] = [];
  const names = Array.from({ length: routers }, (_, index) => `r${index + 1}`);
  for (const name of [...names, 't']) lines.push(`begin ${name}`);
  for (const [index, name] of [...names, 't'].entries()) {
    lines.push(`link ${index === 0 ? 'h' : `r${index}`} ${name} ${index + 1}`);
    if (index > 0) lines.push(`back ${name} ${index + 1}`);
  }
  lines.push('forward h 1', ...names.map((name, index) => `forward ${name} ${index + 2}`));
  if (twoWays) {
    lines.push(
      'begin other; link r1 other 12; link other r3 13; back other 12; forward other 13',
      // By addresses, protocol, ports, and in IPv6 the flow label. (Policy 1 would use the hash of the sending socket,
      // which packets keep between namespaces.)
      `on r1 'cd /proc/sys/net; for family in ipv4 ipv6; do
          echo 3 > $family/fib_multipath_hash_policy; echo 63 > $family/fib_multipath_hash_fields
        done 2> /dev/null; echo 55 > ipv4/fib_multipath_hash_fields
        ip route replace default nexthop via 10.0.2.2 nexthop via 10.0.12.2
        ip -6 route replace default nexthop via fd00:2::2 nexthop via fd00:12::2'`,
    );
  }
  return [...lines, prepare];
}

type Run = { folder: string; steps: Order[][]; unprivileged?: boolean };

/** Carries out orders in such a network, which vanishes with its last process. */
export async function inTraceLab(
  topology: Topology,
  { folder, steps, unprivileged }: Run,
): Promise<Traced[]> {
  const places = mkdtempSync(join(tmpdir(), 'location-agent-routes-'));
  const user = unprivileged
    ? 'setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set -all --inh-caps -all '
    : '';
  const lines = [start, ...linesOf(topology), `export DIR; ${user}"$0" "$1" "$2"`];
  const child = join(folder, 'test', 'executors', 'traceroute', 'trace-child.js');
  try {
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['-n', 'sh', '-c', lines.join('\n'), process.execPath, child, JSON.stringify(steps)],
      { timeout: 90_000, env: { PATH: process.env['PATH'], DIR: places } },
    );
    return JSON.parse(stdout) as Traced[]; // the child's answers
  } finally {
    rmSync(places, { recursive: true, force: true });
  }
}
