import { describe, expect, test } from 'vitest';
import type { ChaosCheck, Facts, LoggedNotification, Notification, StoredResult } from '../facts.ts';
import { examplesOf, judge, momentsOf } from './judge.ts';

/** The oracle must be able to say no: each rule is broken once. */

const start = Date.parse('2026-03-01T12:00:00.000Z');
const check: ChaosCheck = {
  id: 'c1',
  kind: 'url',
  name: 'url-0',
  intervalMs: 10_000,
  offsetMs: 2_500,
  bad: [],
};
const dues = momentsOf(check, start, start + 30_000);
const reason = { code: 'HTTP_STATUS', owner: 'target', message: 'the answer was 500' };

function result(due: number, fields: Partial<StoredResult> = {}): StoredResult {
  return {
    id: `r${due}`,
    checkId: check.id,
    jobId: `j${due}`,
    resultType: 'FINAL',
    status: 'passed',
    startedAt: due + 30,
    stoppedAt: due + 50,
    reason: null,
    missed: null,
    ...fields,
  };
}

const notification = (type: string, fields: Partial<Notification> = {}): Notification => ({
  at: start,
  checkId: check.id,
  type,
  id: type,
  accepted: true,
  ...fields,
});

const logged = (type: string, fields: Partial<LoggedNotification> = {}): LoggedNotification => ({
  checkId: check.id,
  type,
  createdAt: start,
  isSuperseded: false,
  isLimited: false,
  ...fields,
});

/** Three runs without a fault. */
function facts(fields: Partial<Facts> = {}): Facts {
  return {
    checks: [check],
    heartbeats: [],
    pings: [],
    from: start,
    to: start + 30_000,
    probes: dues.map((due) => ({ check: 'url-0', at: due + 40 })),
    jobs: dues.map((due) => ({ id: `j${due}`, checkId: check.id, dueAt: due, deliveries: 1, tokens: 1 })),
    results: dues.map((due) => result(due)),
    settledAt: start + 3_600_000,
    notifications: [],
    logged: [],
    followed: new Map((fields.results ?? dues.map((due) => result(due))).map(({ id }, index) => [id, index])),
    stuckJobs: 0,
    ...fields,
  };
}

const [first = 0, second = 0, third = 0] = dues;
const missedRecord = (from: number, to: number, count: number): StoredResult =>
  result(from, {
    id: `m${from}`,
    jobId: null,
    status: 'missed',
    missed: { count, from, to, reason: 'NO_AGENT' },
  });

test('runs without a fault are right', () => {
  expect(judge(facts())).toMatchObject({ due: 3, probes: 3, lost: 0, doubled: 0, violations: [] });
});

test.each<[string, Partial<Facts>, RegExp]>([
  ['a run without a result', { results: [result(first), result(second)] }, /nothing is known of the run/],
  [
    'two results of a run',
    { results: [...dues.map((due) => result(due)), result(third, { id: 'again' })] },
    /is there as passed, passed/,
  ],
  [
    'a result and a missed record',
    { results: [...dues.map((due) => result(due)), missedRecord(second, second, 1)] },
    /is there as passed, missed NO_AGENT/,
  ],
  [
    'two missed records',
    { results: [result(first), missedRecord(second, third, 2), missedRecord(third, third, 1)] },
    /missed NO_AGENT, missed NO_AGENT/,
  ],
  [
    'a missed record that counts wrongly',
    { results: [result(first), missedRecord(second, third, 3)] },
    /counts 3 for 2 moments/,
  ],
  [
    'a missed run without an excuse',
    { results: [result(first), missedRecord(second, third, 2)] },
    /nothing to excuse it/,
  ],
  ['a result without a job', { jobs: [] }, /belongs to no job/],
  [
    'a failure of a healthy target',
    { results: [result(first), result(second), result(third, { status: 'failed', reason })] },
    /its target was well/,
  ],
  [
    'a pass of a failing target',
    { checks: [{ ...check, bad: [{ from: start - 60_000, to: start + 60_000 }] }] },
    /its target failed all that time/,
  ],
  [
    'an error that is charged to the target',
    { results: [result(first), result(second), result(third, { status: 'errored', reason })] },
    /errored is for our own faults/,
  ],
  ['a probe without a result', { probes: [{ check: 'url-0', at: second + 5_000 }] }, /has no result/],
  ['a job that stays leased', { stuckJobs: 1 }, /1 jobs stay leased/],
  ['a false alert', { notifications: [notification('ALERT_FAILURE')] }, /a failure that never was/],
  [
    'an alert that is missing',
    {
      checks: [{ ...check, bad: [{ from: third - 5_000, to: third + 60_000 }] }],
      results: [result(first), result(second), result(third, { status: 'failed', reason })],
    },
    /alerts were raised as \[\], but its runs changed as \[ALERT_FAILURE\]/,
  ],
  [
    'a failure that is charged to us',
    {
      checks: [{ ...check, bad: [{ from: third - 5_000, to: third + 60_000 }] }],
      results: [
        result(first),
        result(second),
        result(third, { status: 'failed', reason: { ...reason, owner: 'ours' } }),
      ],
    },
    /failed is for faults of targets/,
  ],
  [
    'a notification that comes twice',
    {
      checks: [{ ...check, bad: [{ from: third - 5_000, to: third + 60_000 }] }],
      results: [result(first), result(second), result(third, { status: 'failed', reason })],
      logged: [logged('ALERT_FAILURE')],
      notifications: [notification('ALERT_FAILURE'), notification('ALERT_FAILURE')],
    },
    /came twice/,
  ],
])('%s is found', (_name, fields, message) => {
  const { violations } = judge(facts(fields));
  expect(violations.join('\n')).toMatch(message);
});

test('what a fault excuses is counted and forgiven, and nothing else', () => {
  const results = [result(first), missedRecord(second, third, 2)];
  const verdict = judge(facts({ results, probes: [] }), { missed: (due) => due >= second });
  expect(verdict).toMatchObject({ missed: 2, violations: [] });
  expect(judge(facts({ results, probes: [] }), { missed: (due) => due === third }).violations).toHaveLength(
    1,
  );
});

describe('alerts of a check that fails and recovers', () => {
  const outage = facts({
    checks: [{ ...check, bad: [{ from: second - 5_000, to: second + 5_000 }] }],
    results: [result(first), result(second, { status: 'failed', reason }), result(third)],
  });
  const both = ['ALERT_FAILURE', 'ALERT_RECOVERY'];
  const violationsOf = (fields: Partial<Facts>, excuses = {}) =>
    judge({ ...outage, ...fields }, excuses).violations;
  const all = (types: readonly string[]) => types.map((type) => notification(type));

  test('both are raised and received', () => {
    const fields = { logged: both.map((type) => logged(type)), notifications: all(both) };
    expect(violationsOf(fields)).toEqual([]);
  });

  test('a pair that is lost is found, whatever may be dropped', () => {
    expect(violationsOf({}, { dropped: true })).toEqual([
      'url-0: alerts were raised as [], but its runs changed as [ALERT_FAILURE ALERT_RECOVERY]',
    ]);
    expect(violationsOf({ logged: both.map((type) => logged(type)) }, { dropped: true })).toEqual([
      'url-0: notified of [], but the log has [ALERT_FAILURE ALERT_RECOVERY]',
    ]);
  });

  test('what the log calls superseded may be left out, where the fault excuses it', () => {
    const dropped = [logged('ALERT_FAILURE', { isSuperseded: true }), logged('ALERT_RECOVERY')];
    const fields = { logged: dropped, notifications: all(['ALERT_RECOVERY']) };
    expect(violationsOf(fields, { dropped: true })).toEqual([]);
    expect(violationsOf({ ...fields, notifications: all(both) }, { dropped: true })).toEqual([]);
    expect(violationsOf(fields)).toEqual([
      'url-0: 1 notifications were dropped for newer ones, with nothing to excuse it',
    ]);
    expect(violationsOf({ ...fields, notifications: all(['ALERT_FAILURE']) }, { dropped: true })).toEqual([
      'url-0: notified of [ALERT_FAILURE], but the log has [(ALERT_FAILURE) ALERT_RECOVERY]',
    ]);
  });

  test('what was held back by limits is found, and what is missing besides', () => {
    const held = [logged('ALERT_FAILURE'), logged('ALERT_RECOVERY', { isLimited: true })];
    const fields = { logged: held, notifications: all(['ALERT_FAILURE']) };
    expect(violationsOf(fields)).toEqual(['url-0: 1 notifications were held back by limits']);
    expect(violationsOf({ ...fields, notifications: [] })).toEqual([
      'url-0: 1 notifications were held back by limits',
      'url-0: notified of [], but the log has [ALERT_FAILURE (ALERT_RECOVERY)]',
    ]);
  });

  test('the wrong order is found', () => {
    const fields = { logged: both.map((type) => logged(type)), notifications: all(both.toReversed()) };
    expect(violationsOf(fields, { dropped: true })).toHaveLength(1);
  });

  test('a failure that was followed after a newer pass alerts nobody', () => {
    const [one, two, three] = outage.results.map(({ id }) => id);
    const followed = new Map([
      [one ?? '', 1],
      [three ?? '', 2],
      [two ?? '', 3],
    ]);
    expect(violationsOf({ followed })).toEqual([]);
  });

  test('a result that was stored without its place in that order is found', () => {
    const [one] = outage.results.map(({ id }) => id);
    expect(violationsOf({ followed: new Map([[one ?? '', 1]]) })).toEqual([
      'url-0: 2 results were stored, and no alert can follow from them',
    ]);
  });
});

describe('heartbeats', () => {
  const heartbeat: ChaosCheck = { ...check, id: 'h1', kind: 'heartbeat', name: 'heartbeat-0' };
  const missedPing = { code: 'HEARTBEAT_MISSED', owner: 'target', message: 'no ping arrived' };
  const pinged = (at: number, fields: Partial<StoredResult> = {}): StoredResult =>
    result(at, { id: `p${at}`, checkId: 'h1', jobId: null, startedAt: at, stoppedAt: at, ...fields });
  const violationsOf = (results: StoredResult[], fields: Partial<Facts> = {}) =>
    judge(
      facts({
        heartbeats: [heartbeat],
        pings: [{ check: 'heartbeat-0', at: start + 1_000 }],
        results: [...facts().results, ...results],
        ...fields,
      }),
    ).violations;

  test('each ping has a result', () => {
    expect(violationsOf([pinged(start + 990)])).toEqual([]);
    expect(violationsOf([]).join()).toMatch(/the ping at 12:00:01.000 has no result/);
  });

  test('a failure without silence is found, and silence without a failure', () => {
    const failed = pinged(start + 20_000, { status: 'failed', reason: missedPing });
    expect(violationsOf([pinged(start + 990), failed]).join('\n')).toMatch(/it was pinged all that time/);
    const silent = { ...heartbeat, bad: [{ from: start, to: start + 100_000 }] };
    const long = { heartbeats: [silent], pings: [], to: start + 100_000, checks: [] };
    expect(violationsOf([], long).join('\n')).toMatch(/its silence from 12:00:00.000 on was not noticed/);
  });
});

test('a probe of an agent that died belongs to the delivery that it did not finish', () => {
  const jobs = facts().jobs.map((job) => (job.dueAt === first ? { ...job, deliveries: 2 } : job));
  const results = [
    result(first, { startedAt: first + 8_000, stoppedAt: first + 8_020 }),
    result(second),
    result(third),
  ];
  const probes = [
    { check: 'url-0', at: first + 40 },
    { check: 'url-0', at: first + 8_010 },
  ];
  expect(judge(facts({ jobs, results, probes })).violations).toEqual([]);
  expect(judge(facts({ results, probes })).violations).toHaveLength(1);
});

test('the connections of a trace are one probe, and those of a trace without a result are found', () => {
  const trace: ChaosCheck = { ...check, kind: 'traceroute', name: 'traceroute-0' };
  const connections = (at: number) =>
    [0, 3, 60, 64].map((later) => ({ check: 'traceroute-0', at: at + later }));
  const jobs = facts().jobs.map((job) => (job.dueAt === first ? { ...job, deliveries: 2 } : job));
  const results = [
    result(first, { startedAt: first + 5_000, stoppedAt: first + 5_100 }),
    result(second),
    result(third),
  ];
  const seen = [first + 40, first + 5_010, second + 40, third + 40];
  const whole = { checks: [trace], jobs, results, probes: seen.flatMap(connections) };
  expect(judge(facts(whole))).toMatchObject({ probes: 4, violations: [] });
  const more = [...seen, third + 6_000].flatMap(connections);
  expect(judge(facts({ ...whole, probes: more })).violations).toEqual([
    expect.stringMatching(/^traceroute-0: the probe at .* has no result$/),
  ]);
});

test('a probe of a run that ended as missed belongs to the delivery whose result was lost', () => {
  const results = [result(first), missedRecord(second, second, 1), result(third)];
  const excuses = { missed: (due: number) => due === second };
  expect(judge(facts({ results }), excuses).violations).toEqual([]);
  const jobs = facts().jobs.map((job) => (job.dueAt === second ? { ...job, deliveries: 0 } : job));
  expect(judge(facts({ results, jobs }), excuses).violations).toHaveLength(1);
});

test('of many violations of one kind, the first are shown and the others counted', () => {
  const many = dues.map((due, index) => `url-${index}: due ${new Date(due).toISOString().slice(11)}, failed`);
  expect(examplesOf([...many, 'url-1: another'], 2)).toEqual([
    ...many.slice(0, 2),
    `… and ${many.length - 2} more like the line above`,
    'url-1: another',
  ]);
});
