import {
  ensureStates,
  followQuietChecks,
  lockSubjects,
  saveStates,
  type AlertSubject,
  type StateToStore,
} from './state-statements.ts';
import type { Db } from '../db/database.ts';
import type { FinishedRun } from '../results/finished-run-statements.ts';
import type { RunFollower } from '../results/finished-runs.ts';
import { policyOf, type Policy } from './policy.ts';
import {
  createRaising,
  raiseAlerts,
  type AlertingDeps,
  type Consequence,
  type Raising,
} from './raise-alerts.ts';
import { verdictOf } from './run-verdict.ts';
import { followCertificates, type SeenCertificate } from './ssl-expiry.ts';
import { step } from './state-machine.ts';
import { storedPolicy } from './stored-policy.ts';

/**
 * Evaluates finished runs and raises the alerts that follow.
 * This happens in the transaction that removes the runs from the queue, so each run counts once.
 */

type CheckRuns = { checkId: string; runs: FinishedRun[] };

/** `now`: milliseconds since the epoch. */
export function createAlertFollower(deps: AlertingDeps & { now: () => number }): RunFollower {
  return async (tx, runs) => {
    const now = deps.now();
    const raising = createRaising(deps, now);
    const checks = byCheck(runs);
    const certificates: SeenCertificate[] = [];
    const quiet = await followQuiet(tx, checks, now);
    const loud = checks.filter(({ checkId, runs: own }) => !quiet.has(checkId) && own.some(isMeasured));
    for (const check of checks) {
      if (quiet.get(check.checkId) === true) certificates.push({ ...seenBy(check), subject: null });
    }
    if (loud.length > 0) {
      const ids = loud.map(({ checkId }) => checkId);
      await ensureStates(tx, ids);
      const subjects = await lockSubjects(tx, { checkIds: ids, now: new Date(now) });
      const runsOf = new Map(loud.map((check) => [check.checkId, check]));
      const states: StateToStore[] = [];
      const consequences: Consequence[] = [];
      for (const subject of subjects) {
        const check = runsOf.get(subject.checkId);
        if (check === undefined) continue;
        const policy = policyOf(storedPolicy(subject));
        const followed = await followRuns(tx, { subject, policy, runs: check.runs, raising });
        states.push(followed.state);
        consequences.push(...followed.consequences);
        if (subject.isSslDue) certificates.push({ ...seenBy(check), subject });
      }
      await saveStates(tx, states, new Date(now));
      if (consequences.length > 0) await raiseAlerts(tx, raising, consequences);
    }
    if (certificates.length > 0) await followCertificates(tx, raising, certificates);
  };
}

const isMeasured = ({ parts }: FinishedRun) => parts.some(({ status }) => status !== 'errored');

function byCheck(runs: readonly FinishedRun[]): CheckRuns[] {
  const checks = new Map<string, CheckRuns>();
  for (const run of runs) {
    const check = checks.get(run.checkId) ?? { checkId: run.checkId, runs: [] };
    check.runs.push(run);
    checks.set(run.checkId, check);
  }
  return [...checks.values()];
}

const seenBy = ({ checkId, runs }: CheckRuns): Omit<SeenCertificate, 'subject'> => ({
  checkId,
  resultIds: runs.at(-1)?.parts.map(({ resultId }) => resultId) ?? [],
});

/**
 * Handles checks that were passing and only have passed runs, with one statement for all of them.
 * Returns for each check whether its certificate must be examined.
 */
async function followQuiet(tx: Db, checks: readonly CheckRuns[], now: number): Promise<Map<string, boolean>> {
  const newest = checks.flatMap(({ checkId, runs }) => {
    const measured = runs.filter(isMeasured);
    const isQuiet = measured.every(({ parts }) =>
      parts.every(({ status }) => status === 'passed' || status === 'errored'),
    );
    if (!isQuiet) return [];
    const [first, ...others] = measured.map((run) => ({ checkId, runId: run.runId, at: startOf(run) }));
    if (first === undefined) return [];
    return [others.reduce((latest, run) => (run.at > latest.at ? run : latest), first)];
  });
  if (newest.length === 0) return new Map();
  const followed = await followQuietChecks(tx, { runs: newest, now: new Date(now) });
  return new Map(followed.map(({ checkId, isSslDue }) => [checkId, isSslDue]));
}

/** Same definition as in verdictOf. */
const startOf = ({ parts }: FinishedRun) =>
  Math.max(...parts.filter(({ status }) => status !== 'errored').map(({ startedAt }) => startedAt.getTime()));

async function followRuns(
  tx: Db,
  options: {
    subject: AlertSubject;
    policy: Policy;
    runs: readonly FinishedRun[];
    raising: Raising;
  },
): Promise<{ state: StateToStore; consequences: Consequence[] }> {
  const { subject, policy, runs, raising } = options;
  const { silence, now } = raising;
  const { settings } = policy;
  const consequences: Consequence[] = [];
  let { state, resultId, runLocations } = subject;
  let dueAt: number | null = null;
  for (const { runId, parts } of runs) {
    const { verdict, at, ...about } = verdictOf(parts, settings);
    const silenced = await silence.silences(tx, subject, [now, at]);
    const next = step(state, settings, { kind: 'run', runId, at, verdict, silenced, now });
    if (next.state !== state) ({ resultId, locations: runLocations } = about);
    ({ state, dueAt } = next);
    const { alert, incident } = next;
    if (alert !== null || incident !== null) {
      consequences.push({ subject, policy, alert, incident, resultId, runLocations, at, isOfRun: true });
    }
  }
  return { state: { checkId: subject.checkId, state, resultId, runLocations, dueAt }, consequences };
}
