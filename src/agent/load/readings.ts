/** Parsers for what Linux says about waiting and limits. All are pure; they return null for text of another form. */

/**
 * Milliseconds that a thread has waited for a core since its start, from `/proc/PID/schedstat`
 * (Documentation/scheduler/sched-stats.rst). The time during which its cgroup was throttled is included.
 */
export function waitedMsOf(schedstat: string): number | null {
  const waited = /^\d+ (\d+) \d+/.exec(schedstat)?.[1];
  return waited === undefined ? null : Number(waited) / 1e6;
}

/** What the quota of a cgroup has cost so far. */
export type Throttling = { times: number; throttledMs: number };

/** `cpu.stat` of a cgroup: v2 has `throttled_usec`, v1 `throttled_time` in nanoseconds. */
export function throttlingOf(cpuStat: string): Throttling | null {
  const times = /^nr_throttled (\d+)$/m.exec(cpuStat)?.[1];
  const micro = /^throttled_usec (\d+)$/m.exec(cpuStat)?.[1];
  const nano = /^throttled_time (\d+)$/m.exec(cpuStat)?.[1];
  if (times === undefined || (micro === undefined && nano === undefined)) return null;
  const throttledMs = micro === undefined ? Number(nano) / 1e6 : Number(micro) / 1e3;
  return { times: Number(times), throttledMs };
}

/** One line of a pressure file: percent of the last 10 s, and milliseconds in all. */
export type PressureLine = { percent: number; totalMs: number };
/** `some`: at least one task waited. `full`: all tasks waited at once; null where the kernel has no such line. */
export type Pressure = { some: PressureLine; full: PressureLine | null };

/** A pressure file (Documentation/accounting/psi.rst): of the host, or `*.pressure` of a cgroup v2. */
export function pressureOf(text: string): Pressure | null {
  const line = (name: string): PressureLine | null => {
    const found = new RegExp(`^${name} avg10=(\\d+\\.\\d+) .*total=(\\d+)$`, 'm').exec(text);
    return found === null ? null : { percent: Number(found[1]), totalMs: Number(found[2]) / 1e3 };
  };
  const some = line('some');
  return some === null ? null : { some, full: line('full') };
}

/** The number in a file of a cgroup that holds one; null for `max`, which means that there is no limit. */
export function numberOf(text: string): number | null {
  const digits = /^(\d+)\s*$/.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** One field of a file of lines `name value`, such as `memory.stat`. */
export function fieldOf(text: string, name: string): number | null {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? null : numberOf(line.slice(name.length + 1));
}
