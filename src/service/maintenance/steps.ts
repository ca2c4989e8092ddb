import type { StatusPageVisibility } from './effect-statements.ts';
import {
  firstOccurrenceFrom,
  occurrenceAt,
  occurrencesBeginning,
  type Occurrence,
  type Recurrence,
} from './recurrence.ts';

/** The automatic steps of a visible window and their times: a pure function of the window and the time. */

export type Step = { at: number; occurrence: Occurrence } & (
  { kind: 'START' } | { kind: 'END' } | { kind: 'REMINDER'; minutesBefore: number }
);

export type DueSteps = {
  /** Sorted by time. */
  steps: Step[];
  /** Steps up to this time are done. */
  doneUntil: number;
  /** When the next step is due; null = never. */
  nextAt: number | null;
};

type Automatic = Pick<StatusPageVisibility, 'enabled' | 'autoStart' | 'autoEnd' | 'reminderMinutesBefore'>;
/** A step happens this long after (or, if negative, before) the occurrence begins. */
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
 * Steps later than `doneUntil` and not later than `now`. The start of an occurrence in progress is included even if
 * it is earlier, because a window may be created or shown during one. At most `limit`; the rest is due at once.
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
      // One more, to find out whether there are more.
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
  // A reminder that would be sent only after the start is dropped.
  const steps = [...begun, ...kept].filter(
    ({ kind, occurrence }) => kind !== 'REMINDER' || occurrence.startsAt > now,
  );
  // Some of the next steps may be due at the same moment as the last one. That moment is processed again, which has
  // no effect.
  if (found.length > limit && last !== undefined) return { steps, doneUntil: last.at - 1, nextAt: now };
  const next = kinds.flatMap(({ offset }) => {
    const occurrence = firstOccurrenceFrom(recurrence, now - offset + 1);
    return occurrence === null ? [] : [occurrence.startsAt + offset];
  });
  return { steps, doneUntil: now, nextAt: next.length === 0 ? null : Math.min(...next) };
}
