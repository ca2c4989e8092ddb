import { createFiguresOfGuards, type GuardFigures } from '../../agent/metrics/guard-figures.ts';
import { guardNames, guardThresholds, type GuardName } from '../../agent/metrics/guard-rules.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';

/**
 * Probes: all guards of the agent. Those that can be measured without one have their value and threshold; the others name
 * the place that shows them.
 */

type Verdict = Omit<Finding, 'name'>;
type Row = {
  value: string | null;
  threshold: string;
  isRaised: boolean;
  /** It may be over in a moment, so that it is no problem of the installation. */
  isTransient?: true;
  remedy: string;
};

const megabytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MB`;
const percent = (value: number) => `${Math.round(value)}%`;
const { freeBytes, freeInodes, part, cpuPressure, standstill } = guardThresholds;
const most = percent(part * 100);

/** Guards that a running agent alone can measure, or that have a line of their own. */
const elsewhere: { readonly [N in GuardName]?: string } = {
  'event-loop': 'measured by a running agent only; GET /health shows it while it is raised',
  outbox: 'measured by a running agent only; GET /health shows it while it is raised',
  service: 'see the line "service"',
  network: 'see the line "own network"',
  clock: 'see the line "clock"',
};

/** A guard for each of the figures; `null` as a value = it cannot be measured here. Pure. */
export function guardRows(figures: GuardFigures): { readonly [N in GuardName]?: Row } {
  const { disk, memory, descriptors, processes } = figures;
  const usage = (used: { used: number; limit: number } | null) => ({
    value: used === null ? null : `${used.used} of ${used.limit} in use`,
    threshold: `more than ${most}`,
    isRaised: used !== null && used.used > used.limit * part,
  });
  const pressures = [
    { what: 'cores', value: figures.cpuPressure, limit: cpuPressure },
    { what: 'memory', value: figures.memoryPressure, limit: standstill },
    { what: 'the disk', value: figures.diskPressure, limit: standstill },
  ].flatMap(({ value, ...rest }) => (value === null ? [] : [{ ...rest, value }]));
  return {
    disk: {
      value: disk === null ? null : `${megabytes(disk.freeBytes)} free`,
      threshold: `less than ${megabytes(freeBytes)}`,
      isRaised: disk !== null && disk.freeBytes < freeBytes,
      remedy: 'free some disk space for AGENT_DATA_DIR',
    },
    inodes: {
      value: disk === null || disk.freeInodes === null ? null : `${disk.freeInodes} more files fit`,
      threshold: `fewer than ${freeInodes}`,
      isRaised: disk !== null && disk.freeInodes !== null && disk.freeInodes < freeInodes,
      remedy: 'delete files on the volume of AGENT_DATA_DIR, or use another one',
    },
    memory: {
      value:
        memory === null
          ? null
          : `${megabytes(memory.usedBytes)} of ${megabytes(memory.limitBytes)} used in the cgroup`,
      threshold: `more than ${most}`,
      isRaised: memory !== null && memory.usedBytes > memory.limitBytes * part,
      remedy: 'lower UPTIME_CONCURRENCY and JOB_CONCURRENCY, or give the container more memory',
    },
    descriptors: { ...usage(descriptors), remedy: 'raise the limit (ulimit -n, LimitNOFILE)' },
    processes: { ...usage(processes), remedy: 'raise the process limit of the container (pids.max)' },
    pressure: {
      value:
        pressures.length === 0
          ? null
          : `work waited ${pressures.map(({ what, value }) => `${percent(value)} for ${what}`).join(', ')}`,
      threshold: `${percent(cpuPressure)} for cores, ${percent(standstill)} for memory or the disk`,
      isRaised: pressures.some(({ value, limit }) => value >= limit),
      isTransient: true,
      remedy: 'give the agent more cores, memory or a faster disk, or fewer slots',
    },
  };
}

/** The finding for one guard. */
export function guardFinding({ value, threshold, isRaised, isTransient, remedy }: Row): Verdict {
  if (value === null) return note('cannot be measured on this host');
  const message = `${value}; raised at: ${threshold}`;
  if (!isRaised) return ok(message);
  return isTransient === true ? note(message, remedy) : problem(message, remedy);
}

export function guardProbes({ dataDir }: { dataDir: string }): Probe[] {
  const figures = createFiguresOfGuards(dataDir);
  let measured: Promise<GuardFigures> | null = null;
  return guardNames.map((name) => ({
    name: `guard ${name}`,
    run: async () => {
      const place = elsewhere[name];
      if (place !== undefined) return note(place);
      const row = guardRows(await (measured ??= figures()))[name];
      return row === undefined ? note('cannot be measured on this host') : guardFinding(row);
    },
  }));
}
