import { dayMs } from '../../durations.ts';
import type { ServiceDay } from './check-statements.ts';
import { worst, type State } from './states.ts';

/** What a service was on each of the past days, and its uptime: pure rules. */

export const shownDays = 90;

/** Null = the service did not exist on that day. */
export type DayState = State | null;

export type Trouble = { readonly state: State; readonly from: number; readonly to: number };

/** Below this share of runs that did not fail, a day was one of an outage. */
const outageShare = 0.95;

const checksState = ({ runs, up }: ServiceDay): State => {
  if (up >= runs) return 'operational';
  return up / runs < outageShare ? 'major' : 'minor';
};

type Known = {
  readonly createdAt: Date;
  readonly troubles: readonly Trouble[];
  /** Of its checks; empty = it has none, or they have not run. */
  readonly runs: readonly ServiceDay[];
  readonly now: number;
};

/** The first day of which something is known: of the service itself, or of a check that is older. */
const firstDay = ({ createdAt, runs, troubles }: Known): number =>
  Math.floor(
    Math.min(
      createdAt.getTime(),
      ...runs.map(({ day }) => day.getTime()),
      ...troubles.map(({ from }) => from),
    ) / dayMs,
  );

/** The worst state of each day (UTC), today last. */
export function daysOf(known: Known): DayState[] {
  const { troubles, runs, now } = known;
  const today = Math.floor(now / dayMs);
  const exists = firstDay(known);
  const days = Array.from({ length: shownDays }, (_, index): DayState =>
    today - shownDays + 1 + index < exists ? null : 'operational',
  );
  const add = (day: number, state: State) => {
    const index = day - today + shownDays - 1;
    const former = days[index];
    if (former !== undefined) days[index] = worst([former ?? 'operational', state]);
  };
  for (const { state, from, to } of troubles) {
    const last = Math.min(today, Math.floor(to / dayMs));
    for (let day = Math.max(today - shownDays + 1, Math.floor(from / dayMs)); day <= last; day += 1)
      add(day, state);
  }
  for (const one of runs) add(Math.floor(one.day.getTime() / dayMs), checksState(one));
  return days;
}

/**
 * Percent of the shown days in which the service was up: by the runs of its checks; without runs, by the time outside of
 * incidents of the severities MAJOR and CRITICAL. Null = nothing is known yet. Never rounded up.
 */
export function uptimeOf(known: Known): number | null {
  const { troubles, runs, now } = known;
  const total = runs.reduce((sum, one) => sum + one.runs, 0);
  if (total > 0) return floored(runs.reduce((sum, { up }) => sum + up, 0) / total);
  const begin = Math.max(firstMoment(known), (Math.floor(now / dayMs) - shownDays + 1) * dayMs);
  if (now <= begin) return null;
  const outages = troubles
    .filter(({ state }) => state === 'major' || state === 'critical')
    .map(({ from, to }) => ({ from: Math.max(begin, from), to: Math.min(now, to) }))
    .filter(({ from, to }) => to > from)
    .sort((a, b) => a.from - b.from);
  let down = 0;
  let counted = begin;
  for (const { from, to } of outages) {
    down += Math.max(0, to - Math.max(from, counted));
    counted = Math.max(counted, to);
  }
  return floored(1 - down / (now - begin));
}

const firstMoment = ({ createdAt, troubles }: Known): number =>
  Math.min(createdAt.getTime(), ...troubles.map(({ from }) => from));

const floored = (share: number): number => Math.floor(share * 10_000 + 1e-7) / 100;
