import type { ChaosCheck, Excuses, Probe, StoredResult } from '../facts.ts';

/** The oracle's rule for edits: soon after an edit was confirmed, no target sees a form before it. */

/** Milliseconds in which an edit must have reached the agent. */
const reachMs = 2_000;
/** By which the clocks of targets and of results may differ. */
const slackMs = 1_500;

type Seen = { probes: readonly Probe[]; results: readonly StoredResult[] };

/** Judges the edits of one check. `slowestMs`: longest time from an edit to a probe of a form before it, without an excuse. */
export function judgeEdits(
  { name, edits = [] }: ChaosCheck,
  { probes, results }: Seen,
  { outdated }: Excuses,
): { edits: number; slowestMs: number; violations: string[] } {
  const confirmed = edits.flatMap(({ form, at }) => (at === null ? [] : [{ form, at }]));
  const violations: string[] = [];
  let slowestMs = 0;
  for (const probe of confirmed.length === 0 ? [] : probes) {
    const { at, form = 0 } = probe;
    const first = confirmed.find((edit) => edit.form > form);
    if (first === undefined || at < first.at) continue;
    // If another agent has made the run at the same time, in the form that it should have, the result is that agent's.
    const isTwice = probes.some(
      (other) => (other.form ?? 0) >= first.form && Math.abs(other.at - at) <= slackMs,
    );
    const result = results.find(
      ({ startedAt, stoppedAt }) => startedAt - slackMs <= at && at <= stoppedAt + slackMs,
    );
    const agentId = isTwice ? null : (result?.token ?? null);
    if (outdated?.(at, agentId) === true) continue;
    const lateMs = at - first.at;
    slowestMs = Math.max(slowestMs, lateMs);
    if (lateMs < reachMs) continue;
    const time = new Date(at).toISOString().slice(11, 23);
    violations.push(
      `${name}: the probe at ${time} has form ${form}, ${lateMs} ms after form ${first.form} (agent ${agentId ?? 'unknown'})`,
    );
  }
  return { edits: confirmed.length, slowestMs, violations };
}
