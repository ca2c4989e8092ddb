import { describe, expect, test } from 'vitest';
import {
  deliveryKey,
  type ChaosCheck,
  type Delivery,
  type Facts,
  type LoggedNotification,
  type Notification,
  type StoredResult,
} from '../facts.ts';
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
    token: `t${due}`,
    resultType: 'FINAL',
    status: 'passed',
    startedAt: due + 30,
    stoppedAt: due + 50,
    storedAt: due + 60,
    isQuiet: false,
    reason: null,
    other: null,
    ping: null,
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

const delivered = (due: number, fields: Partial<Delivery> = {}): Delivery => ({
  jobId: `j${due}`,
  checkId: check.id,
  token: `t${due}`,
  agentId: 'a1',
  at: due + 20,
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
    jobs: dues.map((due) => ({ id: `j${due}`, checkId: check.id, dueAt: due })),
    deliveries: dues.map((due) => delivered(due)),
    superseded: new Set(),
    remade: [],
    deaths: new Map(),
    givenUp: new Set(),
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

  test('an uneventful run needs no place in that order, but a run before it that passed', () => {
    const calm = [result(first), result(second), result(third, { isQuiet: true })];
    const [one, two] = calm.map(({ id }) => id);
    const followed = new Map([
      [one ?? '', 1],
      [two ?? '', 2],
    ]);
    const clean = { checks: [check], followed };
    expect(violationsOf({ ...clean, results: calm })).toEqual([]);
    const [, , last] = calm;
    if (last === undefined) throw new Error('no result');
    const after = (fields: Partial<StoredResult>) =>
      violationsOf({ followed, results: [result(first), result(second, fields), last] }, {});
    expect(after({ status: 'failed', reason })).toContain(
      'url-0: a result was stored as uneventful, but the run before it had failed',
    );
    // It was stored later, so nobody knew of it.
    expect(after({ status: 'failed', reason, storedAt: third + 1_000 }).join()).not.toMatch(/uneventful/);
    const failed = { ...last, status: 'failed', reason };
    expect(violationsOf({ followed, results: [result(first), result(second), failed] }).join()).toMatch(
      /the run before it had failed itself/,
    );
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
    result(at, {
      id: `p${at}`,
      checkId: 'h1',
      jobId: null,
      startedAt: at,
      stoppedAt: at,
      ping: 'ping/1',
      ...fields,
    });
  const violationsOf = (results: StoredResult[], fields: Partial<Facts> = {}) =>
    judge(
      facts({
        heartbeats: [heartbeat],
        pings: [{ check: 'heartbeat-0', at: start + 1_000, name: 'ping/1' }],
        results: [...facts().results, ...results],
        ...fields,
      }),
    ).violations;

  test('each ping has a result', () => {
    expect(violationsOf([pinged(start + 990)])).toEqual([]);
    expect(violationsOf([]).join()).toMatch(/the ping at 12:00:01.000 has no result/);
    expect(violationsOf([pinged(start + 990, { ping: 'ping/2' })]).join()).toMatch(/has no result/);
    // The oracle saw its answer late.
    const late = [{ check: 'heartbeat-0', at: start + 9_000, name: 'ping/1' }];
    expect(violationsOf([pinged(start + 990)], { pings: late })).toEqual([]);
  });

  test('a failure without silence is found, and silence without a failure', () => {
    const failed = pinged(start + 20_000, { status: 'failed', reason: missedPing });
    expect(violationsOf([pinged(start + 990), failed]).join('\n')).toMatch(/it was pinged all that time/);
    const silent = { ...heartbeat, bad: [{ from: start, to: start + 100_000 }] };
    const long = { heartbeats: [silent], pings: [], to: start + 100_000, checks: [] };
    expect(violationsOf([], long).join('\n')).toMatch(/its silence from 12:00:00.000 on was not noticed/);
  });
});

describe('probes of runs that were made again', () => {
  const again = first + 8_000;
  const results = [
    result(first, { token: 'second token', startedAt: again, stoppedAt: again + 20 }),
    result(second),
    result(third),
  ];
  const probes = [
    { check: 'url-0', at: first + 40 },
    { check: 'url-0', at: again + 10 },
  ];
  const deliveries = [
    ...facts().deliveries,
    delivered(first, { token: 'second token', agentId: 'a2', at: again - 30 }),
  ];
  const twice = { deliveries, results, probes };
  const superseded = new Set([deliveryKey(`j${first}`, `t${first}`)]);
  const noResult = [expect.stringMatching(/^url-0: the probe at .* has no result \(job /)];

  test('need an explanation, even if the run was delivered again', () => {
    expect(judge(facts(twice)).violations).toEqual(noResult);
    expect(judge(facts(twice), { unreported: true })).toMatchObject({ repeated: 1, violations: [] });
  });

  test('are explained by an answer that their result came too late', () => {
    expect(judge(facts({ ...twice, superseded }))).toMatchObject({ repeated: 1, violations: [] });
    // Each delivery explains one probe, and none before it.
    const more = [...probes, { check: 'url-0', at: first + 3_000 }];
    expect(judge(facts({ ...twice, superseded, probes: more })).violations).toEqual(noResult);
    const late = deliveries.map((one) => (one.token === `t${first}` ? { ...one, at: first + 5_000 } : one));
    expect(judge(facts({ ...twice, superseded, deliveries: late })).violations).toHaveLength(1);
  });

  test('are explained by the death of their agent soon after', () => {
    const deadAt = (id: string, at: number) =>
      judge(facts({ ...twice, deaths: new Map([[id, at]]) })).violations;
    expect(deadAt('a1', first + 100)).toEqual([]);
    expect(deadAt('a2', first + 100)).toEqual(noResult);
    expect(deadAt('a1', first + 100_000)).toEqual(noResult);
    expect(deadAt('a1', first - 5_000)).toEqual(noResult);
  });

  test('are explained by a lease that their agent had lost', () => {
    expect(judge(facts({ ...twice, givenUp: new Set([`j${first} a1`]) })).violations).toEqual([]);
    expect(judge(facts({ ...twice, givenUp: new Set([`j${first} a2`]) })).violations).toEqual(noResult);
  });

  test('are explained by a result that names the other attempt', () => {
    const stray = [{ check: 'url-0', at: second + 4_000 }];
    const other = (from: number, to: number) =>
      judge(
        facts({
          probes: stray,
          results: [result(first), result(second, { other: { from, to } }), result(third)],
        }),
      );
    // A delayed agent may need long from the beginning of an attempt to its probe.
    expect(other(second - 9_000, second + 4_100).violations).toEqual([]);
    expect(other(second - 9_000, second + 2_000).violations).toEqual(noResult);
    expect(other(second + 6_000, second + 7_000).violations).toEqual(noResult);
  });

  test('are explained by a result of these times that the service had already', () => {
    const stray = [{ check: 'url-0', at: second + 4_000 }];
    const remadeAt = (from: number, checkId = check.id) =>
      judge(facts({ probes: stray, remade: [{ checkId, from, to: from + 50 }] }));
    expect(remadeAt(second + 3_980)).toMatchObject({ repeated: 1, violations: [] });
    expect(remadeAt(second + 8_000).violations).toEqual(noResult);
    expect(remadeAt(second + 3_980, 'c2').violations).toEqual(noResult);
  });

  test('are not explained by a delivery whose result is stored', () => {
    const stray = [{ check: 'url-0', at: second + 4_000 }];
    const stored = new Set([deliveryKey(`j${second}`, `t${second}`)]);
    expect(judge(facts({ probes: stray, superseded: stored })).violations).toEqual(noResult);
  });
});

test('a DNS query that is sent again is one probe, and another query is another one', () => {
  const dns: ChaosCheck = { ...check, kind: 'dns', name: 'dns-0' };
  const probe = (at: number, query: string) => ({ check: 'dns-0', at, query });
  const givenUp = new Set([`j${second} a1`]);
  const seen = (again: string) =>
    judge(
      facts({
        checks: [dns],
        givenUp,
        results: [result(first), result(third)],
        probes: [
          probe(first + 40, '5000 1'),
          probe(second + 40, '5001 2'),
          probe(second + 4_000, again),
          probe(third + 40, '5002 3'),
        ],
      }),
    ).violations.filter((violation) => violation.includes('has no result'));
  expect(seen('5001 2')).toEqual([]);
  expect(seen('5001 7')).toHaveLength(1);
});

test('the connections of a trace are one probe, and those of a trace without a result are found', () => {
  const trace: ChaosCheck = { ...check, kind: 'traceroute', name: 'traceroute-0' };
  const connections = (at: number) =>
    [0, 3, 60, 64].map((later) => ({ check: 'traceroute-0', at: at + later }));
  const results = [
    result(first, { token: 'second token', startedAt: first + 5_000, stoppedAt: first + 5_100 }),
    result(second),
    result(third),
  ];
  const superseded = new Set([deliveryKey(`j${first}`, `t${first}`)]);
  const seen = [first + 40, first + 5_010, second + 40, third + 40];
  const whole = { checks: [trace], superseded, results, probes: seen.flatMap(connections) };
  expect(judge(facts(whole))).toMatchObject({ probes: 4, violations: [] });
  const more = [...seen, third + 6_000].flatMap(connections);
  expect(judge(facts({ ...whole, probes: more })).violations).toEqual([
    expect.stringMatching(/^traceroute-0: the probe at .* has no result/),
  ]);
});

test('a probe of a run that ended as missed needs a delivery whose result is known to be lost', () => {
  const results = [result(first), missedRecord(second, second, 1), result(third)];
  const excuses = { missed: (due: number) => due === second };
  const deaths = new Map([['a1', second + 100]]);
  expect(judge(facts({ results, deaths }), excuses).violations).toEqual([]);
  expect(judge(facts({ results }), excuses).violations).toHaveLength(1);
  const deliveries = [delivered(first), delivered(third)];
  expect(judge(facts({ results, deaths, deliveries }), excuses).violations).toHaveLength(1);
});

test('of many violations of one kind, the first are shown and the others counted', () => {
  const many = dues.map((due, index) => `url-${index}: due ${new Date(due).toISOString().slice(11)}, failed`);
  expect(examplesOf([...many, 'url-1: another'], 2)).toEqual([
    ...many.slice(0, 2),
    `… and ${many.length - 2} more like the line above`,
    'url-1: another',
  ]);
});
