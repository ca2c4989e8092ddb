import type { Reason } from '../../protocol/reasons.ts';
import { reasonOf } from '../../protocol/reasons.ts';
import type { Finding, OwnNetworkWatch } from '../own-network/own-network.ts';
import type { Attempted } from './attempted.ts';
import { erroredGrade } from './grade.ts';
import type { Hold } from './holds.ts';

/**
 * Why an attempt failed before shouldFail inverted it, or why it was graded worse than passed; null = neither. The
 * agent's own delay may also be an explanation, but evidence of a broken network is stronger, so it is looked for.
 */
function failureIn({ outcome, grade, disbelieved }: Attempted): Reason | null {
  if (grade.status === 'cancelled') return null;
  if (disbelieved !== undefined) return disbelieved;
  return outcome.base.ok ? grade.reason : outcome.base.reason;
}

/**
 * The attempt, errored if this host's own network caused its failure. Waits for the examination, but not once the job
 * is aborted or `untilMs` (epoch) has come. A passing attempt is returned at once.
 */
export async function withOwnNetwork(
  attempted: Attempted,
  watch: OwnNetworkWatch | null,
  { hold, untilMs, now }: { hold: Hold; untilMs: number; now: () => number },
): Promise<Attempted> {
  if (watch === null) return attempted;
  const { outcome, startedAt, stoppedAt } = attempted;
  const examination = watch.conclude({
    reason: failureIn(attempted),
    details: outcome.details,
    startedAt,
    stoppedAt,
    limitMs: untilMs - now(),
  });
  if (examination === null) return attempted;
  const finding = await unlessAborted(examination, hold);
  return finding === null ? attempted : withFinding(attempted, finding, failureIn(attempted));
}

async function unlessAborted(examination: Promise<Finding | null>, hold: Hold): Promise<Finding | null> {
  if (hold.aborted !== null) return null;
  let stop: () => void = () => undefined;
  const aborted = new Promise<null>((resolve) => (stop = () => resolve(null)));
  hold.onAbort = stop;
  try {
    return await Promise.race([examination, aborted]);
  } finally {
    if (hold.onAbort === stop) hold.onAbort = null;
  }
}

function withFinding(attempted: Attempted, finding: Finding, failure: Reason | null): Attempted {
  const { disbelieved, ...believed } = attempted;
  const { outcome, log, stoppedAt } = believed;
  const { isOurs, cause, summary, evidence } = finding;
  const ownNetwork = {
    isAtFault: isOurs,
    cause,
    summary,
    evidence,
    failure: failure === null ? null : { code: failure.code, message: failure.message },
  };
  const details = { ...outcome.details, ownNetwork };
  if (!isOurs) return { ...attempted, outcome: { ...outcome, details } };
  const reason = reasonOf(
    'OWN_NETWORK',
    `the network of this agent's host is at fault: ${summary}` +
      (failure === null ? '' : ` (the attempt ended with ${failure.code}: ${failure.message})`),
  );
  const line = (msg: string) => ({ time: stoppedAt, level: 'warn' as const, msg });
  // An attempt that the agent's delay explains as well is not repeated at once: the network has to return first.
  const alsoDelayed = disbelieved === undefined ? [] : [line(attempted.grade.reason?.message ?? '')];
  return {
    ...believed,
    outcome: { ...outcome, base: { ok: false, reason }, details },
    grade: erroredGrade(reason),
    log: [
      ...log,
      ...alsoDelayed,
      line(`own network: ${summary}`),
      ...evidence.map(({ looked, found }) => line(`own network: ${looked}: ${found}`)),
    ],
  };
}
