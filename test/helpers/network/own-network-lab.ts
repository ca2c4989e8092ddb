import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Result } from '../../../src/protocol/result.ts';
import { builtProgram } from '../build.ts';

/**
 * A network of namespaces whose parts can be broken: the agent (10.71.1.1 on near, 10.71.5.1 on side), its gateway
 * (10.71.1.2), the networks `first` (10.71.2.0/24) and `second` (10.71.3.0/24) behind the gateway, and `side`
 * (10.71.5.0/24) on the agent's other interface. IPv6 is the same with fd71:N:: instead of 10.71.N. Targets accept TCP
 * on port 8080 and are at .2 and .3 of each network; 10.71.3.53 is the agent's resolver.
 */

const places = ['agent', 'gateway', 'first', 'second', 'side'] as const;
export type Place = (typeof places)[number];

/** Root on a machine with network namespaces. */
export const canBuildLab = ((): boolean => {
  const can =
    existsSync('/proc/self/ns/net') &&
    spawnSync('unshare', ['-n', '-m', 'sh', '-ec', 'ip link add n type veth peer name f']).status === 0;
  if (!can)
    process.stderr.write(
      'skipped here: tests of the own network, which need root, ip and network namespaces\n',
    );
  return can;
})();

/** The agent's own code for one job after another, in one process: its memory lasts, as in the daemon. */
const runner = String.raw`
import { createInterface } from 'node:readline';
const dist = process.argv[2];
const load = (name) => import(dist + '/' + name);
const [{ createRunParts }, { runJob }, { createLanes }, { createLocalLeases }, { createMetrics }, { parseRunBody },
  { jobScrubbers }, { createScrubber }, { temporaryWorkDirs }, { readAgentSettings }] = await Promise.all([
  load('agent/running-tools.js'), load('agent/run/run-job.js'), load('agent/run/lanes.js'),
  load('agent/run/local-leases.js'), load('agent/metrics/counters.js'), load('commands/run/file.js'),
  load('agent/scrubbing/own-secrets.js'), load('secrets/scrubber/scrubber.js'), load('commands/run/work-dirs.js'),
  load('config.js')]);
const metrics = createMetrics();
const results = new Map();
const { parts, ownNetworkTrouble } = await createRunParts({
  version: 'test', settings: { ...readAgentSettings(process.env), networkEvidence: false }, service: null,
  types: { loaded: ['URL', 'TCP', 'DNS', 'ICMP'], warm: [] }, scripts: null, workDirs: temporaryWorkDirs(),
  keepArtifacts: async () => [], lanes: createLanes({ uptime: 50 }), leases: createLocalLeases(), metrics,
  scrubberOf: jobScrubbers([], createScrubber([])),
  deliver: async (json) => { const result = JSON.parse(json); results.set(result.jobId, [...(results.get(result.jobId) ?? []), result]); },
  resultBytes: () => 1e6, clockSkewMs: () => 0, fault: (error) => console.error(error), now: Date.now,
});
console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, check } = JSON.parse(line);
  if (check === undefined) {
    console.log(JSON.stringify({ id, examinations: metrics.ownNetworkExaminations, spoiled: metrics.ownNetworkResults, trouble: ownNetworkTrouble() }));
    continue;
  }
  const { proxyUrl = null, ...body } = check;
  const parsed = parseRunBody(body, Date.now());
  if (parsed.errors) { console.log(JSON.stringify({ id, errors: parsed.errors })); continue; }
  const job = { ...parsed.job, proxyUrl };
  runJob(job, parts).then(() => console.log(JSON.stringify({ id, results: results.get(job.jobId) })));
}
`;

/** Accepts connections on 8080, answers HTTP, and answers DNS queries (A 10.71.2.2) on port 53 of its resolver address. */
const target = String.raw`
const server = require('http').createServer((request, response) => response.end('ok'));
server.listen(8080, '::', () => console.log('listening'));
const dns = require('dgram').createSocket('udp4');
dns.on('error', () => {}).on('message', (query, { address, port }) => {
  let end = 12;
  while (query[end] !== 0) end += query[end] + 1;
  const type = query.readUInt16BE(end + 1);
  const question = query.subarray(12, end + 5);
  const header = Buffer.from([query[0], query[1], 0x81, 0x80, 0, 1, 0, type === 1 ? 1 : 0, 0, 0, 0, 0]);
  const answer = type === 1 ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 10, 71, 2, 2]) : Buffer.alloc(0);
  dns.send(Buffer.concat([header, question, answer]), port, address);
});
dns.bind(53, process.argv[2] ?? '127.0.0.1');
`;

/** Without duplicate address detection, and with connections that give up after three seconds. */
const quick = `for c in all default; do echo 0 > /proc/sys/net/ipv6/conf/$c/accept_dad; done
  echo 1 > /proc/sys/net/ipv4/tcp_syn_retries; ip link set lo up`;

export type Lab = {
  /** Runs a shell command in a place. Throws if it fails. */
  sh: (place: Place, command: string) => void;
  /** Builds everything anew as it was at the start. */
  mend: () => void;
  /** Results of a check's attempts, as the agent delivers them. */
  attempts: (check: Record<string, unknown>) => Promise<Result[]>;
  /** The final result. */
  run: (check: Record<string, unknown>) => Promise<Result>;
  counts: () => Promise<{ examinations: number; spoiled: number; trouble: { summary: string } | null }>;
  /** Starts a new agent in the same network. */
  restart: (env?: Record<string, string>) => Promise<void>;
  close: () => void;
};

/** Builds the network and starts the agent in it. Everything vanishes with `close`. */
export async function createLab(): Promise<Lab> {
  const program = await builtProgram();
  const folder = mkdtempSync(join(tmpdir(), 'location-agent-lab-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const runnerFile = file('runner.mjs', runner);
  const targetFile = file('target.cjs', target);
  const resolvConf = file('resolv.conf', 'nameserver 10.71.3.53\noptions timeout:1 attempts:1\n');
  const children: ChildProcess[] = [];
  const pids = {} as Record<Place, number>; // filled below
  for (const place of places) {
    const child = spawn('unshare', ['-n', 'sh', '-ec', `${quick}; echo ready; exec sleep 600`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    pids[place] = child.pid ?? 0;
    await new Promise((resolve) => child.stdout?.once('data', resolve));
  }
  const sh = (place: Place, command: string) => {
    const done = spawnSync('nsenter', ['-t', String(pids[place]), '-n', 'sh', '-ec', command], {
      encoding: 'utf8',
    });
    if (done.status !== 0) throw new Error(`${place}: ${command}: ${done.stderr}`);
  };
  const both = (device: string, network: number, host: number) =>
    `ip addr replace 10.71.${network}.${host}/24 dev ${device}; ip -6 addr replace fd71:${network}::${host}/64 dev ${device} nodad; ip link set ${device} up`;
  const link = (from: Place, device: string, to: Place, peer: string) =>
    sh(from, `ip link add ${device} type veth peer name ${peer} netns ${pids[to]}`);
  const networks = { first: 2, second: 3, side: 5 } as const;

  const mend = () => {
    sh(
      'agent',
      'ip link del near 2>/dev/null || true; ip link del side 2>/dev/null || true; ip route flush type blackhole',
    );
    sh(
      'gateway',
      'for d in first second; do ip link del $d 2>/dev/null || true; done; ip route flush type blackhole',
    );
    link('agent', 'near', 'gateway', 'near');
    link('gateway', 'first', 'first', 'uplink');
    link('gateway', 'second', 'second', 'uplink');
    link('agent', 'side', 'side', 'uplink');
    sh(
      'gateway',
      `echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
      ${both('near', 1, 2)}; ${both('first', 2, 1)}; ${both('second', 3, 1)}`,
    );
    sh(
      'agent',
      `${both('near', 1, 1)}; ${both('side', 5, 1)}
      ip route replace default via 10.71.1.2; ip -6 route replace default via fd71:1::2`,
    );
    for (const place of ['first', 'second'] as const) {
      const n = networks[place];
      sh(
        place,
        `${both('uplink', n, 2)}; ${both('uplink', n, 3)}
        ip route replace default via 10.71.${n}.1; ip -6 route replace default via fd71:${n}::1`,
      );
    }
    sh('second', 'ip addr replace 10.71.3.53/24 dev uplink');
    sh('side', `${both('uplink', 5, 2)}; ${both('uplink', 5, 3)}`);
  };
  mend();
  for (const place of ['first', 'second', 'side'] as const) {
    const address = place === 'second' ? ['10.71.3.53'] : [];
    const child = spawn(
      'nsenter',
      ['-t', String(pids[place]), '-n', process.execPath, targetFile, ...address],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    children.push(child);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
  }

  let agent: ChildProcess | null = null;
  let lines: Interface | null = null;
  const waiting = new Map<number, (answer: Record<string, unknown>) => void>();
  let next = 0;
  const ask = (request: object) =>
    new Promise<Record<string, unknown>>((resolve) => {
      next += 1;
      waiting.set(next, resolve);
      agent?.stdin?.write(`${JSON.stringify({ id: next, ...request })}\n`);
    });
  const restart = async (env: Record<string, string> = {}) => {
    agent?.kill('SIGKILL');
    lines?.close();
    const inside = `mount --bind ${resolvConf} /etc/resolv.conf; mount -t sysfs none /sys; exec "$0" ${runnerFile} ${dirname(program)}`;
    const started = spawn(
      'nsenter',
      ['-t', String(pids.agent), '-n', 'unshare', '-m', 'sh', '-ec', inside, process.execPath],
      { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: process.env['PATH'], ...env } },
    );
    agent = started;
    lines = createInterface({ input: started.stdout });
    await new Promise<void>((resolve) => {
      lines?.on('line', (line) => {
        const answer = JSON.parse(line) as Record<string, unknown>; // of our own runner
        if (answer['ready'] === true) resolve();
        const id = Number(answer['id']);
        waiting.get(id)?.(answer);
        waiting.delete(id);
      });
    });
  };
  await restart();
  const attempts = async (check: Record<string, unknown>): Promise<Result[]> => {
    const { results, errors } = await ask({ check });
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return results as Result[]; // of our own runner
  };
  return {
    sh,
    mend,
    restart,
    attempts,
    run: async (check) => {
      const last = (await attempts(check)).at(-1);
      if (last === undefined) throw new Error('no result');
      return last;
    },
    counts: async () => (await ask({})) as Awaited<ReturnType<Lab['counts']>>,
    close: () => {
      agent?.kill('SIGKILL');
      for (const child of children) child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
