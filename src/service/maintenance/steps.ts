import type { StatusPageVisibility } from './effect-statements.ts';
import {
  firstOccurrenceFrom,
  occurrenceAt,
  occurrencesBeginning,
  type Occurrence,
  type Recurrence,
} from './recurrence.ts';

/** What a visible window does by itself, and when: a pure function of the window and the time. */

export type Step = { at: number; occurrence: Occurrence } & (
  { kind: 'START' } | { kind: 'END' } | { kind: 'REMINDER'; minutesBefore: number }
);

export type DueSteps = {
  /** By time. */
  steps: Step[];
  /** Later ones are still to be done. */
  doneUntil: number;
  /** When there is something to do again; null = never. */
  nextAt: number | null;
};

type Automatic = Pick<StatusPageVisibility, 'enabled' | 'autoStart' | 'autoEnd' | 'reminderMinutesBefore'>;
/** A step comes so long after (or before) its occurrence begins. */
type Kind = { offset: number; step: (at: number, occurrence: Occurrence) => Step };

function kindsOf({ startsAt, endsAt }: Recurrence, visibility: Automatic): Kind[] {
  if (!visibility.enabled) return [];
  return [
    ...visibility.reminderMinutesBefore.map((minutesBefore): Kind => ({
      offset: -minutesBefore * 60_000,
      step: (at, occurrence) => ({ kind: 'REMINDER', minutesBefore, at, occurrence }),
    })),
    ...(visibility.autoStart
      ? [
          {
            offset: 0,
            step: (at: number, occurrence: Occurrence): Step => ({ kind: 'START', at, occurrence }),
          },
        ]
      : []),
    ...(visibility.autoEnd
      ? [
          {
            offset: endsAt - startsAt,
            step: (at: number, occurrence: Occurrence): Step => ({ kind: 'END', at, occurrence }),
          },
        ]
      : []),
  ];
}

/**
 * Steps later than `doneUntil` and not later than `now`, and the beginning of an occurrence that goes on, even if it is longer
 * ago: a window may be made or shown in the middle of one. At most `limit`; the rest is due at once.
 */
export function dueSteps(
  window: { recurrence: Recurrence; visibility: Automatic; doneUntil: number },
  { now, limit = 50 }: { now: number; limit?: number },
): DueSteps {
  const { recurrence, visibility, doneUntil } = window;
  const kinds = kindsOf(recurrence, visibility);
  const found = kinds.flatMap(({ offset, step }) =>
    occurrencesBeginning(recurrence, {
      from: doneUntil - offset + 1,
      to: now - offset + 1,
      // One more tells that there are more.
      limit: limit + 1,
    }).map((occurrence) => step(occurrence.startsAt + offset, occurrence)),
  );
  found.sort((a, b) => a.at - b.at);
  const current = visibility.enabled && visibility.autoStart ? occurrenceAt(recurrence, now) : null;
  const begun: Step[] =
    current === null || current.startsAt > doneUntil
      ? []
      : [{ kind: 'START', at: current.startsAt, occurrence: current }];
  const kept = found.slice(0, limit);
  const last = kept.at(-1);
  // Who was told too late is not reminded.
  const steps = [...begun, ...kept].filter(
    ({ kind, occurrence }) => kind !== 'REMINDER' || occurrence.startsAt > now,
  );
  // Some of the next ones may be due at the same moment as the last: it is done again, to no effect.
  if (found.length > limit && last !== undefined) return { steps, doneUntil: last.at - 1, nextAt: now };
  const next = kinds.flatMap(({ offset }) => {
    const occurrence = firstOccurrenceFrom(recurrence, now - offset + 1);
    return occurrence === null ? [] : [occurrence.startsAt + offset];
  });
  return { steps, doneUntil: now, nextAt: next.length === 0 ? null : Math.min(...next) };
}
