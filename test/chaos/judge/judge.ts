import {
  deliveryKey,
  type ChaosCheck,
  type Delivery,
  type Excuses,
  type Facts,
  type Probe,
  type StoredResult,
} from '../facts.ts';
import { judgeAlerts } from './alerts.ts';
import { judgeEdits } from './edits.ts';
import { judgeHeartbeat } from './heartbeats.ts';

/** The oracle's rules, as pure functions of what was seen. */

export type Verdict = {
  due: number;
  probes: number;
  /** Moments that have neither a final result nor a missed record. */
  lost: number;
  /** Moments with more than one of them. */
  doubled: number;
  /** Missed moments and errored runs, which the scenario's fault excuses. */
  missed: number;
  errored: number;
  /** Notifications of a failure that no target had. */
  falseAlerts: number;
  alerts: number;
  /** Probes of runs that were made again; what became of their results is known. */
  repeated: number;
  /** Changes of checks that the service confirmed. */
  edits: number;
  /** Most milliseconds after which a target saw the form before an edit, where nothing excuses it. */
  slowestEditMs: number;
  /** Everything that is wrong, a line each. */
  violations: string[];
};

/** Milliseconds by which the clocks of targets and of results may differ, and a run may lie across a change of its target. */
const slackMs = 1_500;

/** Nothing seen yet. */
export const noVerdict = (): Verdict => ({
  due: 0,
  probes: 0,
  lost: 0,
  doubled: 0,
  missed: 0,
  errored: 0,
  falseAlerts: 0,
  alerts: 0,
  repeated: 0,
  edits: 0,
  slowestEditMs: 0,
  violations: [],
});

/** Judges a scenario. `excuses` says what its fault may cost. */
export function judge(facts: Facts, excuses: Excuses = {}): Verdict {
  const verdict = noVerdict();
  const dueOfJob = new Map(facts.jobs.map((job) => [job.id, job]));
  const resultsOf = grouped(facts.results, ({ checkId }) => checkId);
  const probesOf = grouped(facts.probes, ({ check }) => check);
  const notificationsOf = grouped(facts.notifications, ({ checkId }) => checkId);
  const deliveriesOf = grouped(facts.deliveries, ({ checkId }) => checkId);
  for (const check of facts.checks) {
    const results = resultsOf.get(check.id) ?? [];
    const probes = runsSeen(check, probesOf.get(check.name) ?? []);
    verdict.probes += probes.length;
    judgeMoments(check, results, { facts, excuses, verdict, dueOfJob });
    judgeProbes(check, probes, {
      facts,
      excuses,
      deliveries: (deliveriesOf.get(check.id) ?? []).toSorted((a, b) => a.at - b.at),
      results,
      verdict,
    });
    const { edits, slowestMs, violations } = judgeEdits(
      check,
      { probes: probesOf.get(check.name) ?? [], results },
      excuses,
    );
    verdict.edits += edits;
    verdict.slowestEditMs = Math.max(verdict.slowestEditMs, slowestMs);
    verdict.violations.push(...violations);
  }
  for (const check of facts.heartbeats)
    verdict.violations.push(...judgeHeartbeat(check, resultsOf.get(check.id) ?? [], facts));
  const loggedOf = grouped(facts.logged, ({ checkId }) => checkId);
  for (const check of [...facts.checks, ...facts.heartbeats]) {
    const { alerts, falseAlerts, violations } = judgeAlerts(
      check,
      {
        followed: facts.followed,
        settledAt: facts.settledAt,
        results: resultsOf.get(check.id) ?? [],
        logged: loggedOf.get(check.id) ?? [],
        received: notificationsOf.get(check.id) ?? [],
      },
      excuses,
    );
    verdict.alerts += alerts;
    verdict.falseAlerts += falseAlerts;
    verdict.violations.push(...violations);
  }
  if (facts.stuckJobs > 0) verdict.violations.push(`${facts.stuckJobs} jobs stay leased`);
  return verdict;
}

/**
 * The violations to show: the first `most` of each kind, and how many more there are of it. Two are of one kind when they differ
 * only in names, numbers and times.
 */
export function examplesOf(violations: readonly string[], most = 5): string[] {
  const kindOf = (violation: string) => violation.replace(/^[^:]*: /, '').replace(/[0-9][0-9a-f:.-]*/g, '#');
  return [...grouped(violations, kindOf).values()].flatMap((same) => [
    ...same.slice(0, most),
    ...(same.length > most ? [`… and ${same.length - most} more like the line above`] : []),
  ]);
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** The check's due moments from `from` (inclusive) to `to` (exclusive). */
export function momentsOf(check: ChaosCheck, from: number, to: number): number[] {
  const first = Math.ceil((from - check.offsetMs) / check.intervalMs) * check.intervalMs + check.offsetMs;
  const moments = [];
  for (let at = first; at < to; at += check.intervalMs) moments.push(at);
  return moments;
}

const timeOf = (at: number) => new Date(at).toISOString().slice(11, 23);

type MomentsContext = {
  facts: Facts;
  excuses: Excuses;
  verdict: Verdict;
  dueOfJob: ReadonlyMap<string, Facts['jobs'][number]>;
};

/** Each due moment has exactly one final result or one missed record, and the right one. */
function judgeMoments(
  check: ChaosCheck,
  results: readonly StoredResult[],
  { facts, excuses, verdict, dueOfJob }: MomentsContext,
): void {
  const finals = results.filter(({ resultType }) => resultType === 'FINAL');
  const byDue = new Map<number, StoredResult[]>();
  const ranges: StoredResult[] = [];
  for (const result of finals) {
    if (result.missed !== null) {
      ranges.push(result);
      const { count, from, to } = result.missed;
      const inRange = momentsOf(check, from, to + 1).length;
      // A record goes on over moments that ran only if nothing ran in between, so its count is that of its moments.
      if (inRange !== count)
        verdict.violations.push(
          `${check.name}: the missed record ${timeOf(from)} to ${timeOf(to)} counts ${count} for ${inRange} moments`,
        );
      continue;
    }
    const job = result.jobId === null ? undefined : dueOfJob.get(result.jobId);
    if (job === undefined)
      verdict.violations.push(`${check.name}: the result ${result.id} belongs to no job`);
    else byDue.set(job.dueAt, [...(byDue.get(job.dueAt) ?? []), result]);
  }
  for (const due of momentsOf(check, facts.from, facts.to)) {
    verdict.due += 1;
    const own = byDue.get(due) ?? [];
    const records = ranges.filter(({ missed }) => missed !== null && missed.from <= due && due <= missed.to);
    const what = [
      ...own.map(({ status }) => status),
      ...records.map(({ missed }) => `missed ${missed?.reason}`),
    ].join(', ');
    if (own.length + records.length === 0) {
      verdict.lost += 1;
      verdict.violations.push(`${check.name}: nothing is known of the run that was due at ${timeOf(due)}`);
    } else if (own.length + records.length > 1) {
      verdict.doubled += 1;
      verdict.violations.push(`${check.name}: the run that was due at ${timeOf(due)} is there as ${what}`);
    }
    if (records.length > 0) {
      verdict.missed += 1;
      if (excuses.missed?.(due) !== true)
        verdict.violations.push(`${check.name}: ${timeOf(due)} is ${what}, with nothing to excuse it`);
    }
    for (const result of own) {
      judgeStatus(check, { result, due, excuses, verdict });
      const lateMs = result.startedAt - due;
      if (lateMs > (excuses.latestStartMs ?? Infinity))
        verdict.violations.push(
          `${check.name}: the run that was due at ${timeOf(due)} began ${lateMs} ms later`,
        );
    }
  }
}

type StatusContext = { result: StoredResult; due: number; excuses: Excuses; verdict: Verdict };

/** A result says what its target did, and blames the right one. */
function judgeStatus(check: ChaosCheck, { result, due, excuses, verdict }: StatusContext): void {
  const code = result.reason?.code ?? 'none';
  const say = (problem: string) =>
    verdict.violations.push(
      `${check.name}: due ${timeOf(due)}, ${result.status} (${code}: ${result.reason?.message.slice(0, 160) ?? ''}): ${problem}`,
    );
  if (result.status === 'errored') {
    verdict.errored += 1;
    if (result.reason?.owner !== 'ours') say('errored is for our own faults');
    const { errored } = excuses;
    if (errored === undefined || !errored.when(due) || !errored.codes.includes(code))
      say('nothing excuses it');
    return;
  }
  if (result.status === 'cancelled') return void say('nobody cancelled it');
  if (excuses.unsure?.(due) === true) return;
  const span = { from: result.startedAt - slackMs, to: result.stoppedAt + slackMs };
  const touched = check.bad.some(({ from, to }) => from < span.to && span.from < to);
  const inside = check.bad.some(({ from, to }) => from < span.from && span.to < to);
  const passed = result.status === 'passed';
  if (result.status === 'failed' && result.reason?.owner !== 'target') say('failed is for faults of targets');
  if (inside && passed) say('its target failed all that time');
  if (!touched && !passed) say('its target was well all that time');
}

/** Between two connections of one trace, in milliseconds. Its rounds are 50 ms apart, and each waits less than a second. */
const traceGapMs = 2_000;

/** One probe for each run that a target saw: of the connections of a trace, and of a query that was sent again, the first. */
function runsSeen(check: ChaosCheck, probes: readonly Probe[]): Probe[] {
  const inOrder = probes.toSorted((a, b) => a.at - b.at);
  if (check.kind === 'dns') return inOrder.filter((probe) => !isSentAgain(probe, inOrder));
  if (check.kind !== 'traceroute') return inOrder;
  return inOrder.filter(({ at }, index) => at - (inOrder[index - 1]?.at ?? -Infinity) > traceGapMs);
}

/** Longest time from a delivery to its probe: a run may wait for a slot, or repeat what the agent's own delay has spoiled. */
const deliveredMs = 90_000;
/** Longest time from a probe to the death that keeps its result from being sent: results are written within milliseconds. */
const dyingMs = 60_000;

/** Longest time after which a query is sent again, with room for a delay of the agent. */
const sentAgainMs = 45_000;

function isSentAgain({ at, query }: Probe, probes: readonly Probe[]): boolean {
  if (query === undefined) return false;
  return probes.some((other) => other.query === query && other.at < at && at - other.at < sentAgainMs);
}

type ProbesContext = {
  facts: Facts;
  excuses: Excuses;
  deliveries: readonly Delivery[];
  results: readonly StoredResult[];
  verdict: Verdict;
};

/**
 * Every probe that a target saw belongs to a stored result, or to a delivery of its own whose result is known not to count:
 * the service answered that another one had come first, or that it has it, or its agent was killed, or gave the run up.
 */
function judgeProbes(check: ChaosCheck, probes: readonly Probe[], context: ProbesContext): void {
  const { facts, excuses, results, verdict } = context;
  const remade = facts.remade.filter(({ checkId }) => checkId === check.id);
  const runs = results.filter(({ missed }) => missed === null);
  const stored = new Set(runs.map(({ jobId, token }) => deliveryKey(jobId ?? '', token ?? '')));
  const open = context.deliveries
    .map((delivery) => ({ ...delivery, key: deliveryKey(delivery.jobId, delivery.token), isUsed: false }))
    .filter(({ key }) => !stored.has(key))
    .toSorted((a, b) => b.at - a.at);
  for (const { at } of probes.toSorted((a, b) => a.at - b.at)) {
    if (at < facts.from || at >= facts.to) continue;
    const isOfResult = runs.some(
      ({ startedAt, stoppedAt, other }) =>
        (startedAt - slackMs <= at && at <= stoppedAt + slackMs) ||
        (other !== null && other.from - slackMs <= at && at <= other.to + slackMs),
    );
    if (isOfResult) continue;
    if (remade.some(({ from, to }) => from - slackMs <= at && at <= to + slackMs)) {
      verdict.repeated += 1;
      continue;
    }
    // The latest first: an agent runs a job as soon as it has it.
    const own = open.find((delivery) => {
      if (delivery.isUsed || delivery.at - slackMs > at || at - delivery.at > deliveredMs) return false;
      const { jobId, agentId, key } = delivery;
      if (facts.superseded.has(key) || facts.givenUp.has(`${jobId} ${agentId}`)) return true;
      const diedAt = facts.deaths.get(agentId) ?? Infinity;
      return (at - slackMs <= diedAt && diedAt <= at + dyingMs) || excuses.unreported === true;
    });
    if (own !== undefined) {
      own.isUsed = true;
      verdict.repeated += 1;
    } else verdict.violations.push(`${check.name}: the probe at ${timeOf(at)} has no result${nearest(at)}`);
  }

  /** The delivery that it seems to be of, for whoever looks for the cause. */
  function nearest(at: number): string {
    const last = context.deliveries.filter((delivery) => delivery.at - slackMs <= at).at(-1);
    if (last === undefined) return '';
    const ofJob = results.filter(({ jobId }) => jobId === last.jobId).map(timesOf);
    return (
      ` (job ${last.jobId}, delivered ${at - last.at} ms before to agent ${last.agentId}, lease ${last.token}; ` +
      `results of this job: ${ofJob.join(', ') || 'none'})`
    );
  }
}

/** When a result's attempts took place. */
function timesOf({ resultType, status, startedAt, stoppedAt, other, token }: StoredResult): string {
  const twice = other === null ? '' : `, made another time from ${timeOf(other.from)} to ${timeOf(other.to)}`;
  return `${resultType} ${status} ${timeOf(startedAt)} to ${timeOf(stoppedAt)}${twice}, lease ${token}`;
}
