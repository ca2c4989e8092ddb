import type { ChaosCheck, Excuses, Facts, LoggedNotification, Notification, StoredResult } from '../facts.ts';

/** The oracle's rules for alerts: one notification for each change from passing to failing and back, in that order. */

type AlertFacts = Pick<Facts, 'followed' | 'settledAt'> & {
  results: readonly StoredResult[];
  /** As the service logged them, in the order in which it raised them. */
  logged: readonly LoggedNotification[];
  /** As the receiver got them. */
  received: readonly Notification[];
};

export type AlertVerdict = { alerts: number; falseAlerts: number; violations: string[] };

/** Judges the alerts of one check. */
export function judgeAlerts(check: ChaosCheck, facts: AlertFacts, excuses: Excuses): AlertVerdict {
  const violations: string[] = [];
  const say = (problem: string) => void violations.push(`${check.name}: ${problem}`);
  const seen = new Set<string>();
  const received: string[] = [];
  for (const { id, type, accepted } of facts.received) {
    if (!accepted) continue;
    if (seen.has(id)) {
      if (excuses.repeated !== true) say(`the notification ${type} came twice`);
      continue;
    }
    seen.add(id);
    received.push(changeOf(type));
  }
  const falsely = check.bad.length === 0 ? received.filter((type) => type === 'ALERT_FAILURE').length : 0;
  if (falsely > 0) say(`${falsely} alerts of a failure that never was`);

  const logged = facts.logged.filter(({ createdAt }) => createdAt < facts.settledAt);
  const forgotten = facts.results.filter(
    (result) => counts(result) && !result.isQuiet && !facts.followed.has(result.id),
  );
  if (forgotten.length > 0) say(`${forgotten.length} results were stored, and no alert can follow from them`);
  for (const after of eventfulBefore(facts.results))
    say(`a result was stored as uneventful, but the run before it had ${after}`);
  const expected = changesOf(facts);
  const raised = logged.map(({ type }) => changeOf(type));
  if (raised.join(' ') !== expected.join(' '))
    say(`alerts were raised as [${raised.join(' ')}], but its runs changed as [${expected.join(' ')}]`);
  const dropped = logged.filter(({ isSuperseded }) => isSuperseded);
  if (dropped.length > 0 && excuses.dropped !== true)
    say(`${dropped.length} notifications were dropped for newer ones, with nothing to excuse it`);
  // Whether all others arrived is told apart from it.
  const limited = logged.filter(({ isLimited }) => isLimited);
  if (limited.length > 0) say(`${limited.length} notifications were held back by limits`);
  if (!isDelivered(received, logged))
    say(`notified of [${received.join(' ')}], but the log has [${logged.map(nameOf).join(' ')}]`);
  return { alerts: received.length, falseAlerts: falsely, violations };
}

/** Degraded on the way to failing, or back, is no state of its own to a channel that wants failures and recoveries. */
function changeOf(type: string): string {
  if (type.endsWith('_FAILURE')) return 'ALERT_FAILURE';
  return type.endsWith('_RECOVERY') ? 'ALERT_RECOVERY' : type;
}

const nameOf = ({ type, isSuperseded, isLimited }: LoggedNotification) =>
  isSuperseded || isLimited ? `(${changeOf(type)})` : changeOf(type);

/** Whether everything was received in order that is in the log: only what the log calls superseded or limited may be left out. */
function isDelivered(received: readonly string[], logged: readonly LoggedNotification[]): boolean {
  // Which places in what was received can be reached so far; a superseded one may have arrived before it was given up.
  let places = new Set([0]);
  for (const { type, isSuperseded, isLimited } of logged) {
    const next = new Set(isSuperseded || isLimited ? places : []);
    for (const at of places) if (received[at] === changeOf(type)) next.add(at + 1);
    places = next;
  }
  return places.has(received.length);
}

/** Final results of runs that took place. */
const counts = ({ resultType, status }: StoredResult) =>
  resultType === 'FINAL' && /^(passed|degraded|failed|errored)$/.test(status);

/** Statuses of runs after which a run was stored as uneventful. Only a run after one that has passed can be that. */
function eventfulBefore(results: readonly StoredResult[]): string[] {
  const runs = results
    .filter((result) => counts(result) || result.isQuiet)
    .toSorted((a, b) => a.startedAt - b.startedAt);
  return runs.flatMap((run, index) => {
    if (!run.isQuiet) return [];
    if (run.status !== 'passed') return [`${run.status} itself`];
    const before = runs[index - 1];
    const isKnown = before !== undefined && before.storedAt <= run.storedAt;
    return isKnown && before.status !== 'passed' ? [before.status] : [];
  });
}

/**
 * What the results of a check should have raised. They count in the order in which the service followed them; one that
 * started before one that was followed already changes nothing.
 */
function changesOf({ results, followed, settledAt }: AlertFacts): string[] {
  const changes: string[] = [];
  let status = 'passed';
  let isNotified = false;
  let latest = -Infinity;
  const runs = results
    .flatMap((result) => {
      const order = followed.get(result.id);
      return order === undefined || result.stoppedAt >= settledAt ? [] : [{ ...result, order }];
    })
    .filter((result) => counts(result) && result.status !== 'errored')
    .sort((a, b) => a.order - b.order);
  for (const run of runs) {
    if (run.startedAt < latest) continue;
    latest = run.startedAt;
    if (run.status === 'failed' && status !== 'failed') {
      changes.push('ALERT_FAILURE');
      isNotified = true;
    } else if (run.status === 'passed' && isNotified) {
      changes.push('ALERT_RECOVERY');
      isNotified = false;
    }
    status = run.status;
  }
  return changes;
}
