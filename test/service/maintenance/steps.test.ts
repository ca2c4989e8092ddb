import { describe, expect, test } from 'vitest';
import type { Recurrence } from '../../../src/service/maintenance/recurrence.ts';
import { mayBecome, maintenanceStatuses, statusAt } from '../../../src/service/maintenance/status.ts';
import { dueSteps } from '../../../src/service/maintenance/steps.ts';
import { hidden } from './window-rows.ts';

/** What a visible window does by itself, and the statuses of its occurrences: pure rules. */

const ms = (time: string) => Date.parse(`2026-03-${time}:00Z`);
const text = (at: number) => new Date(at).toISOString().slice(8, 16);

const once: Recurrence = { startsAt: ms('10T01:00'), endsAt: ms('10T02:00'), timezone: 'UTC', repeat: null };
const daily: Recurrence = { ...once, repeat: { interval: 1, unit: 'DAY', endsAt: null } };
const shown = { ...hidden, enabled: true };
const reminding = { ...shown, reminderMinutesBefore: [60, 1440] };

function steps(
  recurrence: Recurrence,
  visibility: typeof shown,
  { doneUntil, now, limit }: { doneUntil: string; now: string; limit?: number },
) {
  const due = dueSteps(
    { recurrence, visibility, doneUntil: ms(doneUntil) },
    { now: ms(now), ...(limit === undefined ? {} : { limit }) },
  );
  return {
    steps: due.steps.map((step) =>
      step.kind === 'REMINDER'
        ? `${text(step.at)} REMINDER ${step.minutesBefore}`
        : `${text(step.at)} ${step.kind}`,
    ),
    next: due.nextAt === null ? null : text(due.nextAt),
    doneUntil: due.doneUntil,
  };
}

describe('steps', () => {
  const cases: [
    name: string,
    recurrence: Recurrence,
    visibility: typeof shown,
    times: [doneUntil: string, now: string],
    due: string[],
    next: string | null,
  ][] = [
    ['one that nobody sees does nothing', once, hidden, ['01T00:00', '20T00:00'], [], null],
    ['nothing yet', once, shown, ['01T00:00', '02T00:00'], [], '10T01:00'],
    ['the beginning', once, shown, ['01T00:00', '10T01:00'], ['10T01:00 START'], '10T02:00'],
    ['the end', once, shown, ['10T01:30', '10T02:00'], ['10T02:00 END'], null],
    ['begun before it was shown', once, shown, ['10T01:20', '10T01:20'], ['10T01:00 START'], '10T02:00'],
    ['over before it was shown', once, shown, ['10T03:00', '10T03:00'], [], null],
    [
      'a service that was away',
      once,
      shown,
      ['09T00:00', '11T00:00'],
      ['10T01:00 START', '10T02:00 END'],
      null,
    ],
    [
      'no beginning by itself',
      once,
      { ...shown, autoStart: false },
      ['09T00:00', '10T01:30'],
      [],
      '10T02:00',
    ],
    [
      'no end by itself',
      once,
      { ...shown, autoEnd: false },
      ['09T00:00', '11T00:00'],
      ['10T01:00 START'],
      null,
    ],
    ['neither', once, { ...shown, autoStart: false, autoEnd: false }, ['09T00:00', '11T00:00'], [], null],
    ['reminders', once, reminding, ['09T00:59', '09T01:00'], ['09T01:00 REMINDER 1440'], '10T00:00'],
    [
      'reminders that come late, before the beginning',
      once,
      reminding,
      ['08T00:00', '10T00:30'],
      ['09T01:00 REMINDER 1440', '10T00:00 REMINDER 60'],
      '10T01:00',
    ],
    ['not after the beginning', once, reminding, ['08T00:00', '10T01:00'], ['10T01:00 START'], '10T02:00'],
    ['of what is too near already', once, reminding, ['10T00:30', '10T00:30'], [], '10T01:00'],
    [
      'daily: a beginning, and the reminder of the next day',
      daily,
      reminding,
      ['11T00:59', '11T01:00'],
      ['11T01:00 REMINDER 1440', '11T01:00 START'],
      '11T02:00',
    ],
    ['daily: next', daily, shown, ['11T02:00', '11T02:01'], [], '12T01:00'],
  ];
  test.each(cases)('%s', (_name, recurrence, visibility, [doneUntil, now], due, next) => {
    const result = steps(recurrence, visibility, { doneUntil, now });
    expect([[...result.steps].sort(), result.next]).toEqual([[...due].sort(), next]);
    expect(result.doneUntil).toBe(ms(now));
    // Done once.
    const again = steps(recurrence, visibility, { doneUntil: now, now }).steps;
    expect(again.filter((step) => !step.endsWith('START'))).toEqual([]);
  });

  test('many are done in parts, and none is left out', () => {
    const seen: string[] = [];
    let doneUntil = ms('01T00:00');
    for (let round = 0; round < 100; round++) {
      const due = dueSteps(
        { recurrence: daily, visibility: reminding, doneUntil },
        { now: ms('30T12:00'), limit: 7 },
      );
      expect(due.steps.length).toBeLessThanOrEqual(7);
      expect(due.doneUntil).toBeGreaterThan(doneUntil);
      for (const step of due.steps) {
        const key = `${step.kind} ${text(step.occurrence.startsAt)}`;
        if (!seen.includes(key)) seen.push(key);
      }
      doneUntil = due.doneUntil;
      if (due.nextAt !== ms('30T12:00')) break;
    }
    const days = Array.from({ length: 21 }, (_, index) => `${10 + index}T01:00`);
    expect(seen.filter((key) => !key.startsWith('REMINDER'))).toEqual(
      days.flatMap((day) => [`START ${day}`, `END ${day}`]),
    );
    expect(seen.filter((key) => key.startsWith('REMINDER'))).toEqual(['REMINDER 31T01:00']);
  });
});

describe('statuses', () => {
  const at = (
    now: string,
    recorded: (typeof maintenanceStatuses)[number] | null,
    visibility: typeof shown,
    windowCreatedAt = '01T00:00',
  ) => statusAt(once, { recorded, visibility, windowCreatedAt: ms(windowCreatedAt), now: ms(now) });

  test.each([
    [hidden, ['SCHEDULED', 'IN_PROGRESS', 'COMPLETED']],
    [shown, ['SCHEDULED', 'IN_PROGRESS', 'COMPLETED']],
    [{ ...shown, autoStart: false }, ['SCHEDULED', 'SCHEDULED', 'COMPLETED']],
    [{ ...shown, autoEnd: false }, ['SCHEDULED', 'IN_PROGRESS', 'IN_PROGRESS']],
    [{ ...shown, autoStart: false, autoEnd: false }, ['SCHEDULED', 'SCHEDULED', 'SCHEDULED']],
  ])('without a record: case %#', (visibility, expected) => {
    expect(['10T00:59', '10T01:00', '10T02:00'].map((now) => at(now, null, visibility))).toEqual(expected);
  });

  test('a record takes precedence', () => {
    expect(at('10T00:10', 'IN_PROGRESS', hidden)).toBe('IN_PROGRESS');
    expect(at('10T01:10', 'VERIFYING', shown)).toBe('VERIFYING');
    expect(at('10T01:10', 'CANCELLED', shown)).toBe('CANCELLED');
    expect(at('10T03:00', 'CANCELLED', hidden)).toBe('CANCELLED');
    expect(at('10T03:00', 'VERIFYING', shown)).toBe('COMPLETED');
    expect(at('10T03:00', 'VERIFYING', { ...shown, autoEnd: false })).toBe('VERIFYING');
  });

  test('an occurrence before the creation of the window is completed', () => {
    expect(at('12T00:00', null, { ...shown, autoEnd: false }, '11T00:00')).toBe('COMPLETED');
  });

  test('allowed transitions', () => {
    const following = Object.fromEntries(
      maintenanceStatuses.map((from) => [
        from,
        maintenanceStatuses.filter((to) => from !== to && mayBecome(from, to)),
      ]),
    );
    expect(following).toEqual({
      SCHEDULED: ['IN_PROGRESS', 'VERIFYING', 'COMPLETED', 'CANCELLED'],
      IN_PROGRESS: ['VERIFYING', 'COMPLETED', 'CANCELLED'],
      VERIFYING: ['IN_PROGRESS', 'COMPLETED', 'CANCELLED'],
      COMPLETED: [],
      CANCELLED: [],
    });
  });
});
