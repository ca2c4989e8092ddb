import type { Queryable } from '../db/database.ts';
import {
  effectiveEnd,
  findEffectiveWindows,
  findPausingAccounts,
  findTagsOfChecks,
  recurrenceOf,
} from './effect-statements.ts';
import type { Plan } from '../../protocol/plan-runs.ts';
import { pausesCheck } from './effects.ts';
import { occurrencesWithin } from './recurrence.ts';

/** Finds scheduled runs that maintenance pauses. They do not count as missed. */

/** Moments from `from` (inclusive) to `to` (exclusive); milliseconds since the epoch. */
export type Stretch = { from: number; to: number };

export type DueMoment = { id: string; accountId: string; nextDueAt: Date };

/** Finds the stretches up to now in which each check's runs are paused. Checks without any are absent. */
export type FindPauses = (
  tx: Queryable,
  options: { checks: readonly DueMoment[]; now: number },
) => Promise<ReadonlyMap<string, readonly Stretch[]>>;

/** How long the list of accounts with windows is cached. A new window takes effect at most this much later. */
const keepMs = 1_000;
/** With more accounts than this, the windows of every batch are read. */
const maxAccounts = 1_000;
/** Occurrences considered per window, since the check was first due. */
const maxOccurrences = 2_000;

/**
 * Creates the search, one per scheduler. It caches for a second which accounts have windows, so that other accounts
 * cost nothing.
 */
export function createFindPauses(): FindPauses {
  let known: { at: number; accountIds: ReadonlySet<string> | 'many' } | null = null;

  async function mayPause(tx: Queryable, now: number, earliest: number) {
    if (known === null || now < known.at || now - known.at >= keepMs) {
      const found = await findPausingAccounts(tx, {
        // Includes what was due since the service was last running.
        from: new Date(Math.min(earliest, now - keepMs)),
        to: new Date(now + keepMs),
        limit: maxAccounts + 1,
      });
      known = { at: now, accountIds: found.length > maxAccounts ? 'many' : new Set(found) };
    }
    const { accountIds } = known;
    return (accountId: string) => accountIds === 'many' || accountIds.has(accountId);
  }

  return async (tx, { checks, now }) => {
    const pauses = new Map<string, Stretch[]>();
    const earliest = Math.min(...checks.map(({ nextDueAt }) => nextDueAt.getTime()));
    const isConcerned = await mayPause(tx, now, earliest);
    const concerned = checks.filter(({ accountId }) => isConcerned(accountId));
    if (concerned.length === 0) return pauses;
    const windows = await findEffectiveWindows(tx, {
      accountIds: [...new Set(concerned.map(({ accountId }) => accountId))],
      from: new Date(earliest),
      to: new Date(now),
      onlyPausing: true,
    });
    const stretched = windows.flatMap((window) => {
      const stretches = occurrencesWithin(recurrenceOf(window), {
        from: earliest,
        to: now + 1,
        limit: maxOccurrences,
      })
        .map((one): Stretch => ({ from: one.startsAt, to: effectiveEnd(window, one) }))
        .filter(({ from, to }) => to > from);
      return stretches.length === 0 ? [] : [{ window, stretches }];
    });
    if (stretched.length === 0) return pauses;
    const byTags = stretched.some(({ window }) => !window.pauseAllChecks);
    const tags = byTags
      ? await findTagsOfChecks(
          tx,
          concerned.map(({ id }) => id),
        )
      : new Map<string, string[]>();
    for (const { id, accountId } of concerned) {
      const own = stretched.flatMap(({ window, stretches }) =>
        window.accountId === accountId && pausesCheck(window, tags.get(id) ?? []) ? stretches : [],
      );
      if (own.length > 0) pauses.set(id, own);
    }
    return pauses;
  };
}

/** A plan without paused runs. The location whose turn it was gets its turn after the pause. */
export function withoutPauses(
  plan: Plan,
  options: { intervalSeconds: number; rotation: number; stretches: readonly Stretch[] },
): Plan {
  const { intervalSeconds, rotation, stretches } = options;
  const { run, missed } = plan;
  const isPaused = run !== null && stretches.some(({ from, to }) => from <= run.dueAt && run.dueAt < to);
  return {
    ...plan,
    run: isPaused ? null : run,
    missed: missed === null ? null : missedOutside(missed, intervalSeconds * 1000, stretches),
    rotation: isPaused ? rotation : plan.rotation,
  };
}

type MissedMoments = NonNullable<Plan['missed']>;

/** Missed moments outside the stretches, as one item. */
function missedOutside(
  missed: MissedMoments,
  intervalMs: number,
  stretches: readonly Stretch[],
): MissedMoments | null {
  const parts = unpausedParts(missed, intervalMs, stretches);
  const [first, last] = [parts[0], parts.at(-1)];
  if (first === undefined || last === undefined) return null;
  return {
    ...missed,
    from: first.from,
    to: last.to,
    count: parts.reduce((sum, { count }) => sum + count, 0),
  };
}

/** The evenly spaced parts of missed moments outside the stretches. They are computed, not listed: there may be millions of moments. */
export function unpausedParts<Missed extends Pick<MissedMoments, 'from' | 'to' | 'count'>>(
  missed: Missed,
  intervalMs: number,
  stretches: readonly Stretch[],
): Missed[] {
  const last = missed.count - 1;
  const indexAt = (at: number) => Math.ceil((at - missed.from) / intervalMs);
  // The numbers of the first and the last moment in each stretch.
  const paused = stretches
    .map(({ from, to }) => ({ first: Math.max(0, indexAt(from)), last: Math.min(last, indexAt(to) - 1) }))
    .filter((range) => range.first <= range.last)
    .sort((a, b) => a.first - b.first);
  const at = (index: number) => missed.from + index * intervalMs;
  const parts: Missed[] = [];
  let next = 0;
  for (const range of [...paused, { first: last + 1, last: last + 1 }]) {
    if (range.first > next)
      parts.push({ ...missed, from: at(next), to: at(range.first - 1), count: range.first - next });
    next = Math.max(next, range.last + 1);
  }
  return parts;
}
