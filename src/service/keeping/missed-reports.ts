import { dayMs } from '../../durations.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { ReasonCode } from '../../protocol/reasons.ts';
import { lastDue, nextDue, type Schedule } from '../../protocol/schedule.ts';
import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { clockSkewMs } from '../engine/clock-skew.ts';
import { recordGaps, type Stretch } from '../scheduling/gaps.ts';
import type { HandedOut } from './handed-out-schedule.ts';

/** Reports of agents that they have not made runs of checks that they hold or held. */

/** The check, when it was taken from the agent, and what was handed out to it last. */
type MissedKeeper = Omit<Stretch, 'stepMs' | 'from' | 'to' | 'code'> &
  Schedule & { droppedAt: Date | null; handedOut: HandedOut & { owedFrom: Date } };

export type MissedReport = {
  /** undefined = the agent has never held it. */
  keeper: MissedKeeper | undefined;
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
  /** Number of moments, as the agent has sent it. */
  count: unknown;
  code: string | undefined;
};

/** Codes of runs that a holder did not make. */
const missedCodes: readonly ReasonCode[] = ['NO_AGENT', 'NOT_CLAIMED'];
/** No check runs more often. */
const shortestStepMs = 1_000;

/**
 * Records the runs that these reports call missed. A former holder owes those until the check was taken from it: its
 * successor may have begun after them. The later ones are its successor's. Moments before the time that results are kept
 * for are left out. Returns for each report whether it is recorded.
 */
export async function recordReports(
  tx: Db,
  options: { reports: readonly MissedReport[]; now: number; partitions: Partitions; resultDays: number },
): Promise<('stored' | 'superseded' | { reason: string })[]> {
  const { reports, now, partitions, resultDays } = options;
  const earliest = now - (resultDays - 1) * dayMs;
  const stretches: Stretch[] = [];
  const verdicts = reports.map((report) => {
    const { keeper } = report;
    if (keeper === undefined) return { reason: 'the agent has never held this check' };
    const lost = keeper.droppedAt?.getTime() ?? Infinity;
    const parts = rangesOf(report, keeper, now).flatMap((range) => partOf(range, earliest, lost) ?? []);
    const code = missedCodes.find((known) => known === report.code) ?? 'NO_AGENT';
    for (const part of parts) {
      const stretch = { ...keeper, ...part, code };
      if (!stretches.some((known) => contains(known, stretch))) stretches.push(stretch);
    }
    return parts.length === 0 ? 'superseded' : 'stored';
  });
  await recordGaps(tx, { stretches, now, partitions });
  return verdicts;
}

type Range = Pick<Stretch, 'from' | 'to' | 'stepMs'>;

/**
 * The moments that a report names, evenly spaced; none = they are not, or they are too many. They are those of the schedule that
 * the check had then. By its present one, the first may be the moment of a run that was to be made at once.
 */
function rangesOf({ from, to, count }: MissedReport, keeper: MissedKeeper, now: number): Range[] {
  if (typeof count !== 'number' || !Number.isInteger(count) || !(to >= from && to <= now + clockSkewMs))
    return [];
  if (count < 1 || count > protocolLimits.missedMoments) return [];
  const stepMs = keeper.intervalSeconds * 1000;
  if (count === 1) return from === to ? dueParts({ from, to, stepMs }, keeper) : [];
  const ownStepMs = (to - from) / (count - 1);
  const next = nextDue(keeper, from);
  // Later than the first moment that was handed out, evenly spaced ones are rather those of a former schedule.
  const mayBeAtOnce = from <= keeper.handedOut.owedFrom.getTime() || ownStepMs % shortestStepMs !== 0;
  const isAtOnce = mayBeAtOnce && lastDue(keeper, from) !== from && lastDue(keeper, to) === to;
  if (isAtOnce && (to - next) / stepMs === count - 2)
    return [{ from, to: from, stepMs }, ...dueParts({ from: next, to, stepMs }, keeper)];
  if (!Number.isInteger(ownStepMs) || ownStepMs < shortestStepMs) return [];
  return dueParts({ from, to, stepMs: ownStepMs }, keeper);
}

/**
 * The moments at which the check was due. An agent that has not read an edit of the schedule reports moments of the former one, and
 * from the first moment of the next one they are nobody's.
 */
function dueParts(range: Range, keeper: MissedKeeper): Range[] {
  const { from, to, stepMs } = range;
  const { intervalSeconds, offsetSeconds, owedFrom } = keeper.handedOut;
  if (intervalSeconds === null || offsetSeconds === null) return [range];
  // A check that was to run at once was first due between two moments.
  const first = owedFrom.getTime();
  const handedOut = { intervalSeconds, offsetSeconds };
  if (to <= first || (stepMs === intervalSeconds * 1000 && lastDue(handedOut, to) === to)) return [range];
  const before = { ...range, to: from + Math.floor((first - from) / stepMs) * stepMs };
  const after = { ...range, from: Math.max(from, before.to + stepMs) };
  // A replica of an earlier release hands out the present schedule without noting it.
  return [before, ...[handedOut, keeper].map((schedule) => common(after, schedule))].filter(
    (part) => part.from <= part.to,
  );
}

/** The moments of a range that a schedule has, too. */
function common({ from, to, stepMs }: Range, schedule: Schedule): Range {
  const intervalMs = schedule.intervalSeconds * 1000;
  const ownStepMs = stepMs * (intervalMs / greatestDivisor(stepMs, intervalMs));
  let first = from;
  while (first <= to && first < from + ownStepMs && lastDue(schedule, first) !== first) first += stepMs;
  if (lastDue(schedule, first) !== first) return { from, to: from - 1, stepMs };
  return { from: first, to: first + Math.floor((to - first) / ownStepMs) * ownStepMs, stepMs: ownStepMs };
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** The moments of a stretch from `earliest` to `latest`; null = there are none. */
function partOf({ from, to, stepMs }: Range, earliest: number, latest: number): Range | null {
  const first = from + Math.max(0, Math.ceil((earliest - from) / stepMs)) * stepMs;
  const last = from + Math.floor((Math.min(to, latest) - from) / stepMs) * stepMs;
  return first <= last ? { from: first, to: last, stepMs } : null;
}

type Place = Pick<Stretch, 'checkId' | 'locationId'>;

/** Several holders, and several processes, may report the same moments. */
const contains = (known: Range & Place, other: Range & Place): boolean =>
  known.checkId === other.checkId &&
  known.locationId === other.locationId &&
  known.stepMs === other.stepMs &&
  known.from <= other.from &&
  other.to <= known.to &&
  (other.from - known.from) % known.stepMs === 0;
