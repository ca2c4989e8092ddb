import type { GuardFigures } from './guard-figures.ts';

/** A problem of the agent itself that affects its work; shown in health and metrics. The message names the remedy. */
export type Guard = { name: GuardName; message: string };
export const guardNames = [
  'disk',
  'memory',
  'event-loop',
  'service',
  'clock',
  'outbox',
  'network',
  'pressure',
  'descriptors',
  'processes',
  'inodes',
] as const;
export type GuardName = (typeof guardNames)[number];

/**
 * Guards that stop claiming, because the agent could not run or report more jobs. The others are warnings only: without
 * a disk, results wait in memory and are sent from there.
 */
export const stopsClaiming: ReadonlySet<GuardName> = new Set<GuardName>([
  'memory',
  'outbox',
  'descriptors',
  'processes',
]);

/** The values that the guards check, besides those that are measured. */
export type GuardSources = {
  dataDir: string;
  memoryLimitBytes: number;
  serviceFailingSince: () => number | null;
  /** What is wrong with this host's own network; null = nothing is known to be. */
  ownNetwork: () => { summary: string } | null;
  clockSkewMs: () => number | null;
  /** `memoryFull`: the memory for results that cannot be written to disk leaves no room for more runs. */
  outbox: () => { diskBytes: number; memoryBytes: number; memoryFull: boolean; diskError: Error | null };
  outboxCapBytes: number;
  now: () => number;
};

export type GuardState = GuardSources & GuardFigures & { lateByMs: number; rssBytes: number };

/** What raises the guards. */
export const guardThresholds = {
  freeBytes: 64 * 1024 * 1024,
  freeInodes: 1000,
  /** Used part of a limit. */
  part: 0.92,
  /** Percent of the last 10 s. Measured times are wrong, or all work stands still. */
  cpuPressure: 60,
  standstill: 20,
} as const;
const {
  freeBytes: minFreeBytes,
  freeInodes: minFreeInodes,
  part: maxPart,
  cpuPressure: maxCpuPressure,
  standstill: maxStandstill,
} = guardThresholds;
const lateMs = 200;
const serviceAwayMs = 30_000;
const skewMs = 5000;

/** The guards that are raised now. It depends on this moment only, so that no guard outlives its cause. */
export function judge(state: GuardState): Guard[] {
  return [...ofResults(state), ...ofHost(state), ...ofTime(state)];
}

function ofResults(state: GuardState): Guard[] {
  const guards: Guard[] = [];
  const raise = (name: GuardName, message: string) => guards.push({ name, message });
  const outbox = state.outbox();
  const { disk } = state;
  if (outbox.diskError !== null) {
    raise(
      'disk',
      `results cannot be written to disk (${outbox.diskError.message}); they wait in memory and are sent from there`,
    );
  } else if (disk !== null && disk.freeBytes < minFreeBytes) {
    raise('disk', `${megabytes(disk.freeBytes)} MB are free for results; free some disk space`);
  }
  if (disk !== null && disk.freeInodes !== null && disk.freeInodes < minFreeInodes) {
    raise(
      'inodes',
      `${disk.freeInodes} more files fit on the disk of AGENT_DATA_DIR; delete files there or use another volume`,
    );
  }
  if (outbox.memoryFull) {
    raise(
      'outbox',
      `${megabytes(outbox.memoryBytes)} MB of results wait in memory, because neither the disk nor the service takes them; the agent takes no more jobs`,
    );
  } else if (outbox.diskBytes > state.outboxCapBytes * 0.9) {
    raise(
      'outbox',
      `${megabytes(outbox.diskBytes)} MB of results wait for the service; the agent takes no more jobs`,
    );
  }
  return guards;
}

function ofHost(state: GuardState): Guard[] {
  const guards: Guard[] = [];
  const raise = (name: GuardName, message: string) => guards.push({ name, message });
  const { memory, descriptors, processes } = state;
  const fewer = 'the agent takes no more jobs; lower UPTIME_CONCURRENCY and JOB_CONCURRENCY, or';
  if (state.rssBytes > state.memoryLimitBytes * maxPart) {
    raise(
      'memory',
      `the agent uses ${megabytes(state.rssBytes)} of ${megabytes(state.memoryLimitBytes)} MB; ${fewer} give it more memory`,
    );
  } else if (memory !== null && memory.usedBytes > memory.limitBytes * maxPart) {
    raise(
      'memory',
      `the agent and its processes use ${megabytes(memory.usedBytes)} of ${megabytes(memory.limitBytes)} MB; ${fewer} give it more memory`,
    );
  }
  if (descriptors !== null && descriptors.used > descriptors.limit * maxPart) {
    raise(
      'descriptors',
      `${descriptors.used} of ${descriptors.limit} file descriptors are open; ${fewer} raise the limit (ulimit -n)`,
    );
  }
  if (processes !== null && processes.used > processes.limit * maxPart) {
    raise(
      'processes',
      `${processes.used} of ${processes.limit} processes and threads run; ${fewer} raise the limit (pids.max)`,
    );
  }
  const more = 'see docs/guards.md';
  const pressure = [
    part('cores', state.cpuPressure, maxCpuPressure),
    part('memory', state.memoryPressure, maxStandstill),
    part('the disk', state.diskPressure, maxStandstill),
  ].filter((text) => text !== null);
  if (pressure.length > 0) raise('pressure', `work waits for ${pressure.join(', ')}; ${more}`);
  return guards;
}

function part(name: string, percent: number | null, most: number): string | null {
  return percent !== null && percent >= most ? `${name} for ${Math.round(percent)}% of the time` : null;
}

function ofTime(state: GuardState): Guard[] {
  const guards: Guard[] = [];
  const raise = (name: GuardName, message: string) => guards.push({ name, message });
  if (state.lateByMs > lateMs)
    raise('event-loop', `the event loop is delayed by ${Math.round(state.lateByMs)} ms; see docs/guards.md`);
  const failingSince = state.serviceFailingSince();
  if (failingSince !== null && state.now() - failingSince > serviceAwayMs) {
    const seconds = Math.round((state.now() - failingSince) / 1000);
    raise('service', `the service has not been reached for ${seconds} s; doctor shows why`);
  }
  const trouble = state.ownNetwork();
  if (trouble !== null) {
    raise(
      'network',
      `the network of this host is at fault: ${trouble.summary}; results are errored (docs/own-network.md)`,
    );
  }
  const skew = state.clockSkewMs();
  if (skew !== null && Math.abs(skew) > skewMs) {
    raise(
      'clock',
      `the clock is ${Math.abs(skew)} ms ${skew > 0 ? 'ahead of' : 'behind'} the service's; run NTP on both`,
    );
  }
  return guards;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}
