/**
 * CPU of a one-ping ICMP check on loopback, 32 in flight: the executor with a report without assertions, and a single echo over the
 * shared socket. Compared with fping on the same targets. The limit is for the whole agent, so these figures must be far below it.
 */
import { spawnSync } from 'node:child_process';
import type { ExecutionContext } from '../src/executors/interface/executor.ts';
import { createIcmpExecutor } from '../src/executors/icmp.ts';
import { createNetwork } from '../src/executors/system-network.ts';
import { withoutScripts } from '../src/executors/without-scripts.ts';
import type { JobOf } from '../src/protocol/job.ts';
import { machine, percentile, report } from './lib/processes.ts';

const inFlight = 32;
const rounds = 600;
const probes = inFlight * rounds;
const limitMs = 0.186;
const network = createNetwork({ useOsDnsResolver: false });
const socket = await network.icmp(4);
const execute = createIcmpExecutor();
const id = '00000000-0000-4000-8000-000000000000';

function jobOf(hostname: string): JobOf<'ICMP'> {
  return {
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
    checkType: 'ICMP',
    request: { hostname, ipFamily: 'IPv4', pingCount: 1, assertions: [] },
    degradedPacketLossThreshold: 10,
    maxPacketLossThreshold: 20,
  };
}

/** One check after another at each target, each with its own signal, as in the agent. */
type Target = { address: string; job: JobOf<'ICMP'>; context: ExecutionContext };
const targets: Target[] = Array.from({ length: inFlight }, (_, index) => {
  const address = `127.0.1.${index + 1}`;
  const { signal } = new AbortController();
  return {
    address,
    job: jobOf(address),
    context: { ...withoutScripts, signal, network, log: () => undefined, now: Date.now },
  };
});

type Figures = { cpuMs: number; p50: number; p99: number; lost: number };

/** `probe` returns the round-trip time in milliseconds, or null when there was no reply. */
async function measure(probe: (target: Target) => Promise<number | null>, count: number): Promise<Figures> {
  const rtts: number[] = [];
  let lost = 0;
  const before = process.cpuUsage();
  await Promise.all(
    targets.map(async (target) => {
      for (let i = 0; i < count; i++) {
        const rtt = await probe(target);
        if (rtt === null) lost++;
        else rtts.push(rtt);
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return {
    cpuMs: (user + system) / 1000 / (count * inFlight),
    p50: percentile(rtts, 0.5),
    p99: percentile(rtts, 0.99),
    lost,
  };
}

const echo = async ({ address, context }: Target): Promise<number | null> => {
  const options = { payloadBytes: 56, timeoutMs: 2000, signal: context.signal };
  return (await socket.echo(address, options))?.rttMs ?? null;
};
const check = async ({ job, context }: Target): Promise<number | null> => {
  const outcome = await execute(job, context);
  return outcome.base.ok ? outcome.responseTime : null;
};

/** CPU per echo of fping; null if fping is not installed. The shell's `times` prints the CPU time of its children. */
function fping(): number | null {
  if (spawnSync('fping', ['-v']).status !== 0 && process.getuid?.() === 0) {
    console.log('installing fping');
    spawnSync('sh', ['-c', 'apt-get -q update && apt-get -q -y install --no-install-recommends fping']);
  }
  const script = `fping -q -b 56 -i 0.01 -p 1 -c ${rounds} ${targets.map(({ address }) => address).join(' ')} >/dev/null 2>&1; times`;
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  const children = stdout.trim().split('\n').at(-1) ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => Number(m) * 60 + Number(s));
  const cpuMs = (seconds.reduce((sum, one) => sum + one, 0) * 1000) / probes;
  return seconds.length === 2 && cpuMs > 0.001 ? cpuMs : null;
}

await measure(check, rounds / 4); // warm-up, so that everything is compiled
const perEcho = await measure(echo, rounds);
const perCheck = await measure(check, rounds);
const peer = fping();
network.close();
const row = (name: string, figures: Figures) =>
  `${name.padEnd(24)}${figures.cpuMs.toFixed(4).padStart(10)} ms CPU   rtt p50 ${figures.p50.toFixed(3)} p99 ${figures.p99.toFixed(3)} ms   lost ${figures.lost}`;
console.log(`ICMP over one ${socket.way} socket, ${probes} probes, ${inFlight} in flight, ${machine}`);
console.log(row('executor, one ping', perCheck));
console.log(row('echo only', perEcho));
console.log(`${'fping, one echo'.padEnd(24)}${(peer?.toFixed(4) ?? '-').padStart(10)} ms CPU`);
console.log(`${'limit, whole agent'.padEnd(24)}${limitMs.toFixed(4).padStart(10)} ms CPU`);
report({
  name: 'icmp',
  unit: 'ms CPU per one-ping check',
  ours: perCheck.cpuMs,
  peer,
  limit: limitMs,
  ratio: perCheck.cpuMs / limitMs,
});
if (perCheck.cpuMs > limitMs || perCheck.lost > 0) process.exitCode = 1;
