import type { AlertSettings } from '../accounts/alert-settings.ts';
import type { AlertType } from './alert-types.ts';
import { clockSkewMs } from '../engine/clock-skew.ts';

/**
 * Decides which alerts and incidents follow from a finished run or from passing time (facts, 4.1 and 4.2;
 * docs/alerting.md).
 * Pure functions. Times are milliseconds since the epoch.
 */

export type CheckStatus = 'passing' | 'degraded' | 'failing';

export type AlertState = {
  /** Status after the last run that counted. */
  status: CheckStatus;
  /** Start of the first run of this status; null while passing. */
  since: number | null;
  /** Consecutive runs of this status; 0 while passing. */
  runs: number;
  /** Whether the alert of this status has been raised. */
  alerted: boolean;
  /** Whether alerts and reminders of this status are silenced, because it began or was alerted during a silence. */
  silent: boolean;
  /** Number of reminders of this status so far. */
  reminders: number;
  /** When the last alert or reminder of this status was raised. */
  alertedAt: number | null;
  /** Whether somebody was notified since the check last passed: of any alert, and of a failure. */
  notified: boolean;
  notifiedOfFailure: boolean;
  /** Whether an alert opened an incident since the check last passed. */
  hasIncident: boolean;
  /** The last run that counted. */
  lastRunAt: number | null;
  lastRunId: string | null;
};

export const initialState: AlertState = {
  status: 'passing',
  since: null,
  runs: 0,
  alerted: false,
  silent: false,
  reminders: 0,
  alertedAt: null,
  notified: false,
  notifiedOfFailure: false,
  hasIncident: false,
  lastRunAt: null,
  lastRunId: null,
};

/**
 * `silenced`: no notification is sent now, because the check is muted or deactivated or a maintenance window is
 * active.
 */
export type AlertEvent = { now: number; silenced: boolean } & (
  | {
      kind: 'run';
      runId: string;
      /** When the run took place. */
      at: number;
      /** Null = undecided, because the run errored. */
      verdict: CheckStatus | null;
    }
  | { kind: 'time' }
);

export type RaisedAlert = {
  alertType: AlertType;
  silenced: boolean;
  isReminder: boolean;
  /** 0 = not a reminder. */
  reminderSequence: number;
  /**
   * Whether a notification of a failure was sent (before or now).
   * If so, the recovery also goes to channels that receive only failures and recoveries.
   */
  notifiedOfFailure: boolean;
};

export type Step = {
  state: AlertState;
  /** Null = none. */
  alert: RaisedAlert | null;
  /** What to do with the check's incident. */
  incident: 'open' | 'resolve' | null;
  /** When the next event is due without a run; null = never. */
  dueAt: number | null;
};

/** The alert type of each change of status. */
const transitions: { readonly [from in CheckStatus]: { readonly [to in CheckStatus]: AlertType } } = {
  passing: { passing: 'NO_ALERT', degraded: 'ALERT_DEGRADED', failing: 'ALERT_FAILURE' },
  degraded: {
    passing: 'ALERT_DEGRADED_RECOVERY',
    degraded: 'ALERT_DEGRADED_REMAIN',
    failing: 'ALERT_DEGRADED_FAILURE',
  },
  failing: {
    passing: 'ALERT_RECOVERY',
    degraded: 'ALERT_FAILURE_DEGRADED',
    failing: 'ALERT_FAILURE_REMAIN',
  },
};

/** This amount of reminders in the settings means no limit. */
const unlimited = 100_000;
const minuteMs = 60_000;

export function step(state: AlertState, settings: AlertSettings, event: AlertEvent): Step {
  const {
    state: next,
    alert,
    incident,
  } = event.kind === 'run' ? run(state, settings, event) : time(state, settings, event);
  return { state: next, alert, incident, dueAt: dueAt(next, settings) };
}

type Changed = Omit<Step, 'dueAt'>;
const unchanged = (state: AlertState): Changed => ({ state, alert: null, incident: null });

function run(state: AlertState, settings: AlertSettings, event: AlertEvent & { kind: 'run' }): Changed {
  const { verdict, at, runId, silenced, now } = event;
  if (verdict === null || isKnown(state, event)) return unchanged(state);
  const { status: from } = state;
  const followed = { ...state, lastRunAt: at, lastRunId: runId };
  if (verdict === 'passing') return passed(followed, silenced);
  if (from === verdict) {
    const continued = { ...followed, runs: state.runs + 1 };
    const isDue = !state.alerted && isThresholdMet(continued, settings, at);
    return isDue
      ? raised(continued, { alertType: transitions[from][verdict], silenced, now })
      : unchanged(continued);
  }
  const begun: AlertState = {
    ...followed,
    status: verdict,
    since: at,
    runs: 1,
    alerted: false,
    silent: silenced,
    reminders: 0,
    alertedAt: null,
  };
  // Changes between degraded and failing are alerted at once, without a threshold.
  const isDue = from !== 'passing' || isThresholdMet(begun, settings, at);
  return isDue ? raised(begun, { alertType: transitions[from][verdict], silenced, now }) : unchanged(begun);
}

/**
 * Whether a run has been evaluated before (perhaps another part of it), or is older than the last evaluated run.
 * A last run in the future is ignored: it was recorded while the clock was wrong.
 */
const isKnown = ({ lastRunId, lastRunAt }: AlertState, { at, runId, now }: AlertEvent & { kind: 'run' }) =>
  runId === lastRunId || (lastRunAt !== null && at < lastRunAt && lastRunAt <= now + clockSkewMs);

function passed(state: AlertState, silenced: boolean): Changed {
  const { status: from, notified, notifiedOfFailure, hasIncident, lastRunAt, lastRunId } = state;
  if (from === 'passing') return unchanged(state);
  return {
    state: { ...initialState, lastRunAt, lastRunId },
    // Without an earlier notification, no recovery is sent.
    alert: notified
      ? { ...noReminder, alertType: transitions[from].passing, silenced, notifiedOfFailure }
      : null,
    incident: hasIncident ? 'resolve' : null,
  };
}

const noReminder = { isReminder: false, reminderSequence: 0 };

function raised(
  state: AlertState,
  { alertType, silenced: isSilencedNow, now }: { alertType: AlertType; silenced: boolean; now: number },
): Changed {
  const silenced = isSilencedNow || state.silent;
  const isFailure = state.status === 'failing';
  const notifiedOfFailure = state.notifiedOfFailure || (isFailure && !silenced);
  const opens = isFailure && !state.hasIncident;
  return {
    state: {
      ...state,
      alerted: true,
      alertedAt: now,
      silent: silenced,
      notified: state.notified || !silenced,
      notifiedOfFailure,
      hasIncident: state.hasIncident || isFailure,
    },
    alert: { ...noReminder, alertType, silenced, notifiedOfFailure },
    incident: opens ? 'open' : null,
  };
}

function isThresholdMet(state: AlertState, settings: AlertSettings, at: number): boolean {
  if (settings.escalationType === 'RUN_BASED')
    return state.runs >= settings.runBasedEscalation.failedRunThreshold;
  return state.since !== null && at >= state.since + failingMs(settings);
}

const failingMs = ({ timeBasedEscalation }: AlertSettings) =>
  timeBasedEscalation.minutesFailingThreshold * minuteMs;

function time(state: AlertState, settings: AlertSettings, { now, silenced }: AlertEvent): Changed {
  const due = dueAt(state, settings);
  if (due === null || now < due) return unchanged(state);
  const alertType = transitions[state.status][state.status];
  if (!state.alerted) return raised(state, { alertType, silenced, now });
  const reminders = state.reminders + 1;
  const { notifiedOfFailure } = state;
  return {
    state: { ...state, reminders, alertedAt: now },
    alert: { alertType, silenced, isReminder: true, reminderSequence: reminders, notifiedOfFailure },
    incident: null,
  };
}

/** When a time-based escalation or a reminder is due. */
function dueAt(state: AlertState, settings: AlertSettings): number | null {
  const { status, since, alerted, silent, reminders, alertedAt } = state;
  if (status === 'passing' || since === null) return null;
  if (!alerted) return settings.escalationType === 'TIME_BASED' ? since + failingMs(settings) : null;
  const { amount, interval } = settings.reminders;
  const isLast = amount !== unlimited && reminders >= amount;
  // Reminders are sent for failures only.
  if (status !== 'failing' || silent || isLast || alertedAt === null) return null;
  return alertedAt + interval * minuteMs;
}
