import type { ChaosCheck, Facts, StoredResult } from '../facts.ts';
import { heartbeatSeconds } from '../heartbeats.ts';

/** The oracle's rules for heartbeats, which have pings in place of due moments. */

/** Milliseconds by which a failure may be noticed late. */
const slackMs = 6_000;
const patienceMs = (heartbeatSeconds.period + heartbeatSeconds.grace) * 1_000;

/** Returns what is wrong with the results of one heartbeat: pings without a result, and failures in the wrong place. */
export function judgeHeartbeat(
  check: ChaosCheck,
  results: readonly StoredResult[],
  { from, to, pings }: Pick<Facts, 'from' | 'to' | 'pings'>,
): string[] {
  const wrong: string[] = [];
  const timeOf = (at: number) => new Date(at).toISOString().slice(11, 23);
  const passed = new Set(
    results.flatMap(({ status, ping }) => (status === 'passed' && ping !== null ? [ping] : [])),
  );
  for (const { check: pinged, at, name } of pings) {
    if (pinged !== check.name || at < from || at >= to) continue;
    // By its name, not by its time: an oracle that got no processor time notices an answer late.
    if (!passed.has(name)) wrong.push(`${check.name}: the ping at ${timeOf(at)} has no result`);
  }
  for (const { status, startedAt, reason } of results) {
    if (startedAt < from || startedAt >= to || status === 'passed') continue;
    const silent = check.bad.some((bad) => bad.from < startedAt && startedAt <= bad.to + slackMs);
    if (status !== 'failed' || reason?.code !== 'HEARTBEAT_MISSED')
      wrong.push(`${check.name}: ${timeOf(startedAt)} is ${status} (${reason?.code ?? 'none'})`);
    else if (!silent)
      wrong.push(`${check.name}: ${timeOf(startedAt)} failed, but it was pinged all that time`);
  }
  for (const bad of check.bad) {
    // After a time away of the service it fails later; only a long silence must have been noticed.
    const end = Math.min(bad.to, to);
    if (bad.from < from || end - bad.from < patienceMs + slackMs) continue;
    const noticed = results.some(
      ({ status, startedAt }) => status === 'failed' && bad.from < startedAt && startedAt <= end + slackMs,
    );
    if (!noticed) wrong.push(`${check.name}: its silence from ${timeOf(bad.from)} on was not noticed`);
  }
  return wrong;
}
