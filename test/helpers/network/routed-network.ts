import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Result } from '../../../src/protocol/result.ts';
import { builtProgram } from '../build.ts';

/**
 * A network of namespaces: this host (10.1.0.1, fd01::1), a router (10.1.0.2, fd01::2), a second one that tells nobody of
 * itself, and a target (10.3.0.2, fd03::2). The first router calls 10.5.0.0/24 unreachable, the second drops what is for
 * 10.4.0.0/24 without a word. It vanishes with the last process in it.
 */

const addon = join(resolve(import.meta.dirname, '..', '..', '..'), 'build', 'native', 'location_agent.node');

/** Root of a machine that lets it make such networks, with the addon built. */
export const canRouteHere = ((): boolean => {
  const links = 'ip link set lo up; ip link add n type veth peer name f; ip rule add iif lo lookup 100';
  const can = existsSync(addon) && spawnSync('unshare', ['-n', '-m', 'sh', '-ec', links]).status === 0;
  if (!can)
    process.stderr.write(
      'skipped here: tests over routers, which need root, network namespaces and the addon\n',
    );
  return can;
})();

/** Routers without the usual rate limit of ICMP errors, because many probes arrive at once here. */
const router = `cd /proc/sys/net; echo 1 > ipv4/ip_forward; echo 1 > ipv6/conf/all/forwarding
  echo 0 > ipv4/icmp_ratemask; echo 0 > ipv6/icmp/ratelimit; cd /`;
const network = String.raw`
set -e
quick='echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up'
eval "$quick"
# The system gives a connection up after one repeated SYN, three seconds.
echo 1 > /proc/sys/net/ipv4/tcp_syn_retries
ended=''
trap 'kill $ended' EXIT
for place in first second target; do
  unshare -n sh -ec "$quick; ${router}; echo \$\$ > $DIR/$place; exec sleep 120" &
  ended="$ended $!"
done
for place in first second target; do
  until [ -s $DIR/$place ]; do sleep 0.01; done
done
first=$(cat $DIR/first) second=$(cat $DIR/second) target=$(cat $DIR/target)
ip link add near1 type veth peer name far1 netns $first
nsenter -t $first -n ip link add near2 type veth peer name far2 netns $second
nsenter -t $second -n ip link add near3 type veth peer name far3 netns $target
end='set -e; address() { ip addr add 10.$2/24 dev $1; ip -6 addr add fd0$3/64 dev $1 nodad; ip link set $1 up; };
  gateway() { ip route add default via 10.$1; ip -6 route add default via fd0$2; };'
eval "$end"
address near1 1.0.1 1::1; gateway 1.0.2 1::2
nsenter -t $first -n sh -c "$end address far1 1.0.2 1::2; address near2 2.0.1 2::1; gateway 2.0.2 2::2;
  ip route add unreachable 10.5.0.0/24"
nsenter -t $second -n sh -c "$end address far2 2.0.2 2::2; address near3 3.0.1 3::1; gateway 2.0.1 2::1;
  ip route add blackhole 10.4.0.0/24
  for family in -4 -6; do
    # What it has to say itself is lost; what it passes on is not.
    ip \$family route add blackhole default table 100
    ip \$family rule add iif lo pref 10 lookup 100
  done"
nsenter -t $target -n sh -c "$end address far3 3.0.2 3::2; gateway 3.0.1 3::1"
`;

export type RoutedRun = {
  /** What `run` takes in its file. */
  check: Record<string, unknown>;
  /** Without the capability NET_RAW. */
  unprivileged?: boolean;
};

export type RoutedResult = {
  result: Result;
  /** As a person reads it. */
  artifacts: { readonly [name: string]: Buffer };
};

/** `location-agent run` for each check, all at once, in such a network. `nameServer` is who answers for names there. */
export async function runRouted<Name extends string>(
  runs: { readonly [N in Name]: RoutedRun },
  { nameServer, targetProgram }: { nameServer: string; targetProgram: string },
): Promise<{ readonly [N in Name]: RoutedResult }> {
  const program = await builtProgram();
  const folder = mkdtempSync(join(tmpdir(), 'location-agent-routed-'));
  try {
    writeFileSync(join(folder, 'resolv.conf'), `nameserver ${nameServer}\noptions timeout:1 attempts:1\n`);
    writeFileSync(join(folder, 'target.cjs'), targetProgram);
    const names = Object.keys(runs) as Name[]; // Object.keys forgets the key type
    const started = names.map((name) => {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'check.json'), JSON.stringify(runs[name].check));
      const less =
        runs[name].unprivileged === true ? 'setpriv --bounding-set=-net_raw --inh-caps=-net_raw ' : '';
      // It ends with 1 where the check failed.
      return `(cd ${folder}/${name} && ${less}"$0" "$1" run check.json --json > result.json 2> errors || true) & runs="$runs $!"`;
    });
    const lines = [
      network,
      'mount --bind $DIR/resolv.conf /etc/resolv.conf',
      `nsenter -t $target -n "$0" ${folder}/target.cjs > ${folder}/listening & ended="$ended $!"`,
      `until [ -s ${folder}/listening ]; do sleep 0.01; done`,
      "runs=''",
      ...started,
      'wait $runs',
    ];
    await promisify(execFile)(
      'unshare',
      ['-n', '-m', 'sh', '-c', lines.join('\n'), process.execPath, program],
      {
        timeout: 120_000,
        env: { PATH: process.env['PATH'], DIR: folder },
      },
    );
    const results = names.map((name) => [name, resultIn(join(folder, name))] as const);
    return Object.fromEntries(results) as { [N in Name]: RoutedResult }; // made of the names
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function resultIn(folder: string): RoutedResult {
  const text = readFileSync(join(folder, 'result.json'), 'utf8');
  if (text === '') throw new Error(`run told nothing: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
  const result = JSON.parse(text) as Result; // of our own program
  const kept = result.artifacts.filter(({ url }) => url !== null);
  return {
    result,
    artifacts: Object.fromEntries(kept.map(({ name, url }) => [name, readFileSync(join(folder, url ?? ''))])),
  };
}
