import { describe, expect, test } from 'vitest';
import { alertTitle, alertTypes } from '../../../src/service/alerting/alert-types.ts';
import { receivesAlert, policyOf } from '../../../src/service/alerting/policy.ts';
import { defaultAlertSettings } from '../../../src/service/accounts/alert-settings.ts';
import { verdictOf } from '../../../src/service/alerting/run-verdict.ts';
import {
  initialState,
  step,
  type AlertState,
  type CheckStatus,
} from '../../../src/service/alerting/state-machine.ts';
import type { FinishedPart } from '../../../src/service/results/finished-run-statements.ts';

type Settings = typeof defaultAlertSettings;

const minute = 60_000;
const settingsOf = (changes: Partial<Settings> = {}): Settings => ({ ...defaultAlertSettings, ...changes });
const runBased = (failedRunThreshold: 1 | 2 | 3 | 4 | 5, changes: Partial<Settings> = {}) =>
  settingsOf({ runBasedEscalation: { failedRunThreshold }, ...changes });
const timeBased = (minutesFailingThreshold: 5 | 10 | 15 | 30, changes: Partial<Settings> = {}) =>
  settingsOf({ escalationType: 'TIME_BASED', timeBasedEscalation: { minutesFailingThreshold }, ...changes });

/** A letter per minute: p, d, f a run; e one that errored; . no run; capital letters (and ~ for none) are silenced. */
const verdicts: { [letter: string]: CheckStatus | null } = {
  p: 'passing',
  d: 'degraded',
  f: 'failing',
  e: null,
};

/** What a story of runs raises, as `minute code`; the timer goes first in each minute. */
function story(
  settings: Settings,
  letters: string,
): { lines: string[]; state: AlertState; dueAt: number | null } {
  const lines: string[] = [];
  let state = initialState;
  let dueAt: number | null = null;
  for (const [index, letter] of letters.split('').entries()) {
    const now = index * minute;
    const silenced = letter === '~' || letter !== letter.toLowerCase();
    const events = [];
    if (dueAt !== null && dueAt <= now) events.push({ kind: 'time' as const, now, silenced });
    const verdict = verdicts[letter.toLowerCase()];
    if (verdict !== undefined)
      events.push({ kind: 'run' as const, runId: `run ${index}`, at: now, verdict, now, silenced });
    for (const event of events) {
      const next = step(state, settings, event);
      ({ state, dueAt } = next);
      if (next.alert !== null) {
        const { alertType, silenced: isSilent, isReminder, reminderSequence } = next.alert;
        const notes = [
          ...(isReminder ? [`reminder ${reminderSequence}`] : []),
          ...(event.kind === 'time' && !isReminder ? ['timer'] : []),
          ...(isSilent ? ['silent'] : []),
        ];
        lines.push([index, alertType.replace('ALERT_', ''), ...notes].join(' '));
      }
      if (next.incident !== null) lines.push(`${index} incident ${next.incident}`);
    }
  }
  return { lines, state, dueAt };
}
const alerts = (settings: Settings, letters: string) =>
  story(settings, letters).lines.filter((line) => !line.includes('incident'));

describe('transitions', () => {
  test.each([
    ['pp', []],
    ['pd', ['1 DEGRADED']],
    ['pf', ['1 FAILURE']],
    ['dd', ['0 DEGRADED']],
    ['df', ['0 DEGRADED', '1 DEGRADED_FAILURE']],
    ['dp', ['0 DEGRADED', '1 DEGRADED_RECOVERY']],
    ['ff', ['0 FAILURE']],
    ['fd', ['0 FAILURE', '1 FAILURE_DEGRADED']],
    ['fp', ['0 FAILURE', '1 RECOVERY']],
    ['fdp', ['0 FAILURE', '1 FAILURE_DEGRADED', '2 DEGRADED_RECOVERY']],
    ['dfp', ['0 DEGRADED', '1 DEGRADED_FAILURE', '2 RECOVERY']],
    ['fdf', ['0 FAILURE', '1 FAILURE_DEGRADED', '2 DEGRADED_FAILURE']],
    ['fpfp', ['0 FAILURE', '1 RECOVERY', '2 FAILURE', '3 RECOVERY']],
    ['feep', ['0 FAILURE', '3 RECOVERY']],
    ['eeee', []],
  ])('threshold 1: %s', (letters, expected) => {
    expect(alerts(runBased(1), letters)).toEqual(expected);
  });

  const every = [
    runBased(1),
    runBased(2, { reminders: { amount: 1, interval: 1 } }),
    runBased(3, { reminders: { amount: 100_000, interval: 2 } }),
    timeBased(5, { reminders: { amount: 2, interval: 1 } }),
  ];
  const words = (length: number): string[] =>
    length === 0
      ? ['']
      : words(length - 1).flatMap((word) => 'pdfFPe.'.split('').map((letter) => word + letter));

  test.each(every)('invariants of every sequence of runs (settings %#)', (settings) => {
    for (const word of words(4)) {
      // So that threshold by time and reminders come too.
      const { lines, state, dueAt } = story(settings, `${word}....p`);
      const notified = lines.filter((line) => !line.endsWith('silent') && !line.includes('incident'));
      for (const [index, line] of notified.entries()) {
        const before = notified[index - 1] ?? 'RECOVERY';
        // Nothing recovers twice, and no reminder precedes its alert.
        if (line.includes('RECOVERY')) expect(before, word).not.toMatch('RECOVERY');
        if (line.includes('reminder')) expect(before, word).toMatch(/FAIL/);
      }
      const incidents = lines.filter((line) => line.includes('incident')).map((line) => line.split(' ')[2]);
      expect(incidents, word).toEqual(incidents.map((_, index) => (index % 2 === 0 ? 'open' : 'resolve')));
      expect(incidents.length % 2, word).toBe(0);
      // It has passed: nothing is left over.
      const { lastRunAt, lastRunId } = state;
      expect({ state, dueAt }, word).toEqual({
        state: { ...initialState, lastRunAt, lastRunId },
        dueAt: null,
      });
    }
  });
});

describe('thresholds by runs', () => {
  test.each([
    [2, 'f', []],
    [2, 'ff', ['1 FAILURE_REMAIN']],
    [2, 'fff', ['1 FAILURE_REMAIN']],
    [2, 'fp', []],
    [2, 'fpfpfp', []],
    [2, 'ffp', ['1 FAILURE_REMAIN', '2 RECOVERY']],
    [2, 'dd', ['1 DEGRADED_REMAIN']],
    [2, 'dp', []],
    [2, 'ddp', ['1 DEGRADED_REMAIN', '2 DEGRADED_RECOVERY']],
    [3, 'ffpff', []],
    [3, 'fff', ['2 FAILURE_REMAIN']],
    [4, 'fefefef', ['6 FAILURE_REMAIN']],
    [5, 'ffff', []],
    [5, 'fffff', ['4 FAILURE_REMAIN']],
    // Between degraded and failing it is at once, whatever the threshold.
    [3, 'df', ['1 DEGRADED_FAILURE']],
    [3, 'dffff', ['1 DEGRADED_FAILURE']],
    [3, 'fd', ['1 FAILURE_DEGRADED']],
    [3, 'fddddp', ['1 FAILURE_DEGRADED', '5 DEGRADED_RECOVERY']],
    [3, 'dfp', ['1 DEGRADED_FAILURE', '2 RECOVERY']],
  ] as const)('%i: %s', (threshold, letters, expected) => {
    expect(alerts(runBased(threshold), letters)).toEqual(expected);
  });

  test('a threshold that is lowered counts with the next run', () => {
    const { state } = story(runBased(5), 'fff');
    const next = step(state, runBased(2), {
      kind: 'run',
      runId: 'x',
      at: 9 * minute,
      verdict: 'failing',
      now: 0,
      silenced: false,
    });
    expect(next.alert?.alertType).toBe('ALERT_FAILURE_REMAIN');
  });
});

describe('thresholds by time', () => {
  test.each([
    [5, 'fffff', []],
    [5, 'ffffff', ['5 FAILURE_REMAIN timer']],
    // No run is needed.
    [5, 'f......', ['5 FAILURE_REMAIN timer']],
    [5, 'f...p....', []],
    [5, 'fffffpffffff', ['5 FAILURE_REMAIN timer', '5 RECOVERY', '11 FAILURE_REMAIN timer']],
    [5, 'd.....', ['5 DEGRADED_REMAIN timer']],
    [5, 'd.....p', ['5 DEGRADED_REMAIN timer', '6 DEGRADED_RECOVERY']],
    [5, 'df', ['1 DEGRADED_FAILURE']],
    [10, 'f.........', []],
    [10, 'f..........', ['10 FAILURE_REMAIN timer']],
    [15, `f${'.'.repeat(15)}`, ['15 FAILURE_REMAIN timer']],
    [30, `f${'.'.repeat(40)}`, ['30 FAILURE_REMAIN timer']],
  ] as const)('%i minutes: %s', (minutes, letters, expected) => {
    expect(alerts(timeBased(minutes), letters)).toEqual(expected);
  });

  test('a run that finishes after the threshold raises the alert before the timer does', () => {
    const { state } = story(timeBased(5), 'f');
    const at = 7 * minute;
    const next = step(state, timeBased(5), {
      kind: 'run',
      runId: 'x',
      at,
      verdict: 'failing',
      now: at,
      silenced: false,
    });
    expect(next.alert?.alertType).toBe('ALERT_FAILURE_REMAIN');
    expect(next.dueAt).toBeNull();
  });

  test('old runs are measured by their own times, not by when they are followed', () => {
    const settings = timeBased(5);
    const now = 600 * minute;
    const first = step(initialState, settings, {
      kind: 'run',
      runId: 'a',
      at: 0,
      verdict: 'failing',
      now,
      silenced: false,
    });
    expect(first.alert).toBeNull();
    const second = step(first.state, settings, {
      kind: 'run',
      runId: 'b',
      at: minute,
      verdict: 'passing',
      now,
      silenced: false,
    });
    expect(second).toMatchObject({ alert: null, dueAt: null, state: { status: 'passing' } });
  });

  test('the due time follows settings that change between time and runs', () => {
    const { state, dueAt } = story(timeBased(5), 'f');
    expect(dueAt).toBe(5 * minute);
    const time = { kind: 'time' as const, now: 6 * minute, silenced: false };
    expect(step(state, runBased(3), time)).toMatchObject({ alert: null, dueAt: null });
    expect(step(state, timeBased(10), time)).toMatchObject({ alert: null, dueAt: 10 * minute });
  });
});

describe('reminders', () => {
  const reminders = (
    amount: 0 | 1 | 2 | 3 | 4 | 5 | 100_000,
    interval: 1 | 2 | 3 | 4 | 5 | 10 | 15 | 30,
  ) => ({
    reminders: { amount, interval },
  });
  test.each([
    [runBased(1, reminders(0, 1)), 'f....', ['0 FAILURE']],
    [runBased(1, reminders(1, 2)), 'f......', ['0 FAILURE', '2 FAILURE_REMAIN reminder 1']],
    [
      runBased(1, reminders(3, 1)),
      'fffffff',
      [
        '0 FAILURE',
        '1 FAILURE_REMAIN reminder 1',
        '2 FAILURE_REMAIN reminder 2',
        '3 FAILURE_REMAIN reminder 3',
      ],
    ],
    // Cancelled by the recovery.
    [runBased(1, reminders(5, 2)), 'f.p.......', ['0 FAILURE', '2 FAILURE_REMAIN reminder 1', '2 RECOVERY']],
    [runBased(1, reminders(5, 2)), 'fp.......', ['0 FAILURE', '1 RECOVERY']],
    // They count from the alert, not from the first failed run.
    [runBased(3, reminders(1, 2)), 'fff...', ['2 FAILURE_REMAIN', '4 FAILURE_REMAIN reminder 1']],
    [
      timeBased(5, reminders(1, 3)),
      `f${'.'.repeat(9)}`,
      ['5 FAILURE_REMAIN timer', '8 FAILURE_REMAIN reminder 1'],
    ],
    // A new failure restarts the count.
    [
      runBased(1, reminders(1, 1)),
      'f.pf..',
      ['0 FAILURE', '1 FAILURE_REMAIN reminder 1', '2 RECOVERY', '3 FAILURE', '4 FAILURE_REMAIN reminder 1'],
    ],
    // Degraded has none, and ends those of the failure.
    [runBased(1, reminders(5, 1)), 'd....', ['0 DEGRADED']],
    [runBased(1, reminders(5, 2)), 'fd....', ['0 FAILURE', '1 FAILURE_DEGRADED']],
    [runBased(3, reminders(1, 2)), 'df...', ['1 DEGRADED_FAILURE', '3 FAILURE_REMAIN reminder 1']],
  ] as const)('%#: %s', (settings, letters, expected) => {
    expect(alerts(settings as Settings, letters)).toEqual(expected);
  });

  test('100000 means unlimited', () => {
    const { state } = story(runBased(1, reminders(100_000, 1)), 'f');
    const time = { kind: 'time' as const, now: minute, silenced: false };
    const next = step({ ...state, reminders: 100_000 }, runBased(1, reminders(100_000, 1)), time);
    expect(next).toMatchObject({ alert: { isReminder: true, reminderSequence: 100_001 }, dueAt: 2 * minute });
  });

  test('reminders that were missed are sent once', () => {
    const settings = runBased(1, reminders(5, 1));
    const { state } = story(settings, 'f');
    const next = step(state, settings, { kind: 'time', now: 60 * minute, silenced: false });
    expect(next).toMatchObject({ alert: { reminderSequence: 1 }, dueAt: 61 * minute });
  });

  test('a timer that fires too early does nothing', () => {
    const settings = runBased(1, reminders(5, 1));
    const { state } = story(settings, 'f');
    const next = step(state, settings, { kind: 'time', now: minute - 1, silenced: false });
    expect(next).toEqual({ state, alert: null, incident: null, dueAt: minute });
    expect(step(initialState, settings, { kind: 'time', now: 0, silenced: false }).alert).toBeNull();
  });
});

describe('without notifications', () => {
  const reminding = { reminders: { amount: 5, interval: 1 } } as const;
  test.each([
    // It started inside the window and continues: no notification, not even of its recovery.
    [runBased(1), 'Fffp', ['0 FAILURE silent']],
    [runBased(3), 'Fffp', ['2 FAILURE_REMAIN silent']],
    [timeBased(5), 'F.....p', ['5 FAILURE_REMAIN timer silent']],
    [runBased(1, reminding), 'F...', ['0 FAILURE silent']],
    // It began before.
    [runBased(1), 'fFp', ['0 FAILURE', '2 RECOVERY']],
    [runBased(1), 'fFP', ['0 FAILURE', '2 RECOVERY silent']],
    [runBased(2), 'fFfp', ['1 FAILURE_REMAIN silent']],
    [
      runBased(1, reminding),
      'f~~.',
      [
        '0 FAILURE',
        '1 FAILURE_REMAIN reminder 1 silent',
        '2 FAILURE_REMAIN reminder 2 silent',
        '3 FAILURE_REMAIN reminder 3',
      ],
    ],
    // A failure that starts afterwards is sent.
    [runBased(1), 'Ddf', ['0 DEGRADED silent', '2 DEGRADED_FAILURE']],
    [runBased(1), 'FPfp', ['0 FAILURE silent', '2 FAILURE', '3 RECOVERY']],
    [runBased(1), 'fDp', ['0 FAILURE', '1 FAILURE_DEGRADED silent', '2 DEGRADED_RECOVERY']],
  ] as const)('%#: %s', (settings, letters, expected) => {
    expect(alerts(settings as Settings, letters)).toEqual(expected);
  });
});

describe('incidents', () => {
  test.each([
    [runBased(1), 'ffp', ['0 FAILURE', '0 incident open', '2 RECOVERY', '2 incident resolve']],
    [runBased(3), 'ffp', []],
    [runBased(1), 'dp', ['0 DEGRADED', '1 DEGRADED_RECOVERY']],
    [
      runBased(1),
      'fdfp',
      [
        '0 FAILURE',
        '0 incident open',
        '1 FAILURE_DEGRADED',
        '2 DEGRADED_FAILURE',
        '3 RECOVERY',
        '3 incident resolve',
      ],
    ],
    [runBased(1), 'Fp', ['0 FAILURE silent', '0 incident open', '1 incident resolve']],
  ])('%#: %s', (settings, letters, expected) => {
    expect(story(settings, letters).lines).toEqual(expected);
  });
});

describe('runs without effect', () => {
  const settings = runBased(1);
  const at = 10 * minute;
  const failing = step(initialState, settings, {
    kind: 'run',
    runId: 'a',
    at,
    verdict: 'failing',
    now: at,
    silenced: false,
  });
  test.each([
    ['older than the last', { runId: 'b', at: at - 1, verdict: 'passing' as const }],
    ['the last once more', { runId: 'a', at, verdict: 'failing' as const }],
    ['a part of the last that came late', { runId: 'a', at: at + 1, verdict: 'passing' as const }],
    ['errored', { runId: 'b', at: at + 1, verdict: null }],
  ])('%s', (_name, run) => {
    const next = step(failing.state, settings, { kind: 'run', now: at, silenced: false, ...run });
    expect(next).toMatchObject({ alert: null, incident: null });
    expect(next.state).toEqual(failing.state);
  });

  test('a clock that is set back by more than a minute does not suppress alerts', () => {
    const earlier = { kind: 'run', runId: 'b', verdict: 'passing', silenced: false } as const;
    const at5 = step(failing.state, settings, { ...earlier, at: 5 * minute, now: 5 * minute });
    expect(at5.alert).toMatchObject({ alertType: 'ALERT_RECOVERY' });
    const skewed = step(failing.state, settings, { ...earlier, at: at - 1000, now: at - 500 });
    expect(skewed.alert).toBeNull();
  });
});

describe('the status of a run', () => {
  const part = (status: FinishedPart['status'], index: number): FinishedPart => ({
    resultId: `result ${index}`,
    startedAt: new Date(1000 + index),
    runLocation: `place-${index}`,
    status,
  });
  const of = (letters: string, percentage: 10 | 30 | 50 | 70 | 100 | null = null) => {
    const statuses = { p: 'passed', d: 'degraded', f: 'failed', e: 'errored' } as const;
    const parts = letters
      .split('')
      .map((letter, index) => part(statuses[letter as keyof typeof statuses], index));
    const parallelRunFailureThreshold = { enabled: percentage !== null, percentage: percentage ?? 10 };
    const { verdict, locations } = verdictOf(
      parts,
      settingsOf({ parallelRunFailureThreshold } as Partial<Settings>),
    );
    return [verdict, ...locations.map((name) => name.slice(-1))].join(' ');
  };
  test.each([
    ['p', null, 'passing 0'],
    ['pp', null, 'passing 0 1'],
    ['pd', null, 'degraded 1'],
    ['pdf', null, 'failing 2'],
    ['fpf', null, 'failing 0 2'],
    ['e', null, ''],
    ['ee', null, ''],
    ['ep', null, 'passing 1'],
    ['ef', null, 'failing 1'],
    // The gate.
    ['fp', 50, 'failing 0'],
    ['fp', 70, 'passing 1'],
    ['fpp', 30, 'failing 0'],
    ['fppp', 30, 'passing 1 2 3'],
    ['fpdp', 30, 'degraded 2'],
    ['ffff', 100, 'failing 0 1 2 3'],
    ['fffp', 100, 'passing 3'],
    // What errored has not measured.
    ['fep', 50, 'failing 0'],
    ['fee', 100, 'failing 0'],
    // At one location there is nothing to share.
    ['f', 100, 'failing 0'],
  ] as const)('%s at %s %%', (letters, percentage, expected) => {
    expect(of(letters, percentage)).toBe(expected);
  });

  test('it took place when its newest part did', () => {
    expect(verdictOf([part('passed', 5), part('failed', 2)], defaultAlertSettings)).toEqual({
      verdict: 'failing',
      at: 1005,
      resultId: 'result 2',
      locations: ['place-2'],
    });
  });
});

describe('which settings and channels count', () => {
  const named = (failedRunThreshold: 1 | 2 | 3 | 4 | 5) => ({ runBasedEscalation: { failedRunThreshold } });
  const stored = { own: named(2), account: named(3), useGlobal: false, group: null };
  const group = (useGlobal: boolean | null) => ({ own: named(4), useGlobal });
  test.each([
    ['its own', stored, 2, false],
    ['the account', { ...stored, useGlobal: true }, 3, false],
    ['the account where nothing is stored', { ...stored, useGlobal: null }, 3, false],
    ['defaults of an account that has none', { ...stored, useGlobal: true, account: null }, 1, false],
    ['a group that leaves it alone', { ...stored, group: group(null) }, 2, false],
    ['a group that leaves it to the account', { ...stored, useGlobal: true, group: group(null) }, 3, false],
    ['a group with the settings of the account', { ...stored, group: group(true) }, 3, true],
    ['a group with settings', { ...stored, useGlobal: true, group: group(false) }, 4, true],
  ])('%s', (_name, policy, threshold, ofGroup) => {
    const { settings, ofGroup: only } = policyOf(policy);
    expect([settings.runBasedEscalation.failedRunThreshold, only]).toEqual([threshold, ofGroup]);
    expect(settings.reminders).toEqual({ amount: 0, interval: 5 });
  });

  const flags = (letters: string) => ({
    sendFailure: letters.includes('F'),
    sendRecovery: letters.includes('R'),
    sendDegraded: letters.includes('D'),
  });
  test.each([
    ['ALERT_FAILURE', true, 'F'],
    ['ALERT_FAILURE_REMAIN', true, 'F'],
    ['ALERT_DEGRADED_FAILURE', true, 'F'],
    ['ALERT_DEGRADED', false, 'D'],
    ['ALERT_DEGRADED_REMAIN', false, 'D'],
    ['ALERT_FAILURE_DEGRADED', true, 'D'],
    ['ALERT_RECOVERY', true, 'R'],
    ['ALERT_RECOVERY', false, 'RD'],
    ['ALERT_DEGRADED_RECOVERY', true, 'R'],
    ['ALERT_DEGRADED_RECOVERY', false, 'RD'],
    ['NO_ALERT', true, null],
    ['ALERT_SSL', true, null],
  ] as const)('%s (a failure was told: %s) goes where %s is set', (alertType, notifiedOfFailure, needed) => {
    for (const set of ['', 'F', 'R', 'D', 'FR', 'FD', 'RD', 'FRD']) {
      const expected = needed !== null && needed.split('').every((letter) => set.includes(letter));
      expect([set, receivesAlert({ alertType, notifiedOfFailure }, flags(set))]).toEqual([set, expected]);
    }
  });
});

test('titles', () => {
  const about = { checkName: 'X', isReminder: false, sslDomain: 'example.com', sslDaysRemaining: 12 };
  expect(alertTypes.map((alertType) => alertTitle({ ...about, alertType }))).toEqual([
    'Check "X" has passed',
    'Check "X" is degraded',
    'Check "X" has failed',
    'Check "X" is degraded',
    'Check "X" has recovered',
    'Check "X" has failed',
    'Check "X" has failed',
    'Check "X" is degraded',
    'Check "X" has recovered',
    'The SSL certificate for example.com will expire in 12 days',
  ]);
  expect(alertTitle({ ...about, alertType: 'ALERT_SSL', sslDaysRemaining: -1 })).toMatch('has expired');
  expect(alertTitle({ ...about, alertType: 'ALERT_FAILURE_REMAIN', isReminder: true })).toBe(
    'Check "X" is still failing',
  );
});
