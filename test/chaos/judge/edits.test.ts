import { expect, test } from 'vitest';
import type { ChaosCheck, Edit, Excuses, Probe, StoredResult } from '../facts.ts';
import { judge, noVerdict } from './judge.ts';
import { judgeEdits } from './edits.ts';

const start = Date.parse('2026-03-01T12:00:00.000Z');
const at = (seconds: number) => start + seconds * 1_000;
const agents = { one: 'agent-1', two: 'agent-2' };

const checkWith = (...edits: Edit[]): ChaosCheck => ({
  id: 'c1',
  kind: 'url',
  name: 'url-4',
  intervalMs: 10_000,
  offsetMs: 0,
  bad: [],
  edits,
});
const probe = (seconds: number, form?: number): Probe => ({
  check: 'url-4',
  at: at(seconds),
  ...(form === undefined ? {} : { form }),
});
const resultAt = (seconds: number, token: string): StoredResult => ({
  id: `r${seconds}`,
  checkId: 'c1',
  jobId: `j${seconds}`,
  token,
  resultType: 'FINAL',
  status: 'passed',
  startedAt: at(seconds) - 20,
  stoppedAt: at(seconds) + 20,
  storedAt: at(seconds) + 40,
  isQuiet: true,
  reason: null,
  other: null,
  ping: null,
  missed: null,
});

const judged = (
  edits: Edit[],
  probes: Probe[],
  { results = [], excuses = {} }: { results?: StoredResult[]; excuses?: Excuses } = {},
) => judgeEdits(checkWith(...edits), { probes, results }, excuses);

test('a probe in the form before an edit is allowed for 2 s', () => {
  const edits = [{ form: 1, at: at(5) }];
  expect(judged(edits, [probe(0), probe(6.9), probe(10, 1)])).toEqual({
    edits: 1,
    slowestMs: 1_900,
    violations: [],
  });
  const { slowestMs, violations } = judged(edits, [probe(0), probe(7)]);
  expect(slowestMs).toBe(2_000);
  expect(violations).toEqual([
    'url-4: the probe at 12:00:07.000 has form 0, 2000 ms after form 1 (agent unknown)',
  ]);
});

test('the time counts from the first edit after the form', () => {
  const edits = [
    { form: 1, at: at(5) },
    { form: 2, at: at(9) },
    { form: 3, at: at(10) },
  ];
  expect(judged(edits, [probe(10, 1)])).toMatchObject({ slowestMs: 1_000, violations: [] });
  expect(judged(edits, [probe(10, 0)]).violations).toHaveLength(1);
});

test('of an edit that nobody confirmed, both forms are right until the next one', () => {
  const unknown = { form: 1, at: null };
  expect(judged([unknown], [probe(20), probe(30, 1)])).toEqual({ edits: 0, slowestMs: 0, violations: [] });
  expect(judged([unknown, { form: 2, at: at(40) }], [probe(50), probe(60, 1)]).violations).toHaveLength(2);
});

test('an agent that cannot reach the service is excused, and no other', () => {
  const edits = [{ form: 1, at: at(5) }];
  const probes = [probe(10), probe(20)];
  const results = [resultAt(10, agents.one), resultAt(20, agents.two)];
  const outdated = (_at: number, agentId: string | null) => agentId === agents.one;
  expect(judged(edits, probes, { results, excuses: { outdated } })).toMatchObject({
    slowestMs: 15_000,
    violations: [expect.stringContaining('12:00:20.000 has form 0, 15000 ms after form 1 (agent agent-2)')],
  });
  // Whose probe it was is not known.
  expect(judged(edits, probes, { excuses: { outdated } }).violations).toHaveLength(2);
});

test('the verdict of all checks has the edits, and runs that begin too late', () => {
  const facts = {
    checks: [checkWith({ form: 1, at: at(-20) })],
    heartbeats: [],
    pings: [],
    from: start,
    to: start + 10_000,
    probes: [probe(4)],
    jobs: [{ id: 'j4', checkId: 'c1', dueAt: start }],
    deliveries: [],
    superseded: new Set<string>(),
    remade: [],
    deaths: new Map<string, number>(),
    givenUp: new Set<string>(),
    results: [{ ...resultAt(4, agents.one) }],
    settledAt: start + 60_000,
    notifications: [],
    logged: [],
    followed: new Map<string, number>(),
    stuckJobs: 0,
  };
  expect(judge(facts, { latestStartMs: 3_000 })).toEqual({
    ...noVerdict(),
    due: 1,
    probes: 1,
    edits: 1,
    slowestEditMs: 24_000,
    violations: [
      'url-4: the run that was due at 12:00:00.000 began 3980 ms later',
      expect.stringContaining('has form 0, 24000 ms after form 1'),
    ],
  });
  expect(judge(facts, { latestStartMs: 4_000, outdated: () => true }).violations).toEqual([]);
});

test('the result of a run that two agents have made is not taken for that of the old form', () => {
  const edits = [{ form: 1, at: at(5) }];
  const isCut = { outdated: (time: number, agentId: string | null) => agentId === null && time < at(15) };
  const twice = [probe(10, 0), probe(10.1, 1), probe(20, 0), probe(20.1, 1)];
  const results = [resultAt(10, agents.two), resultAt(20, agents.two)];
  // The first one while an agent is cut off.
  expect(judged(edits, twice, { results, excuses: isCut }).violations).toEqual([
    'url-4: the probe at 12:00:20.000 has form 0, 15000 ms after form 1 (agent unknown)',
  ]);
  // A run that one agent has made is its own.
  expect(judged(edits, [probe(10, 0)], { results, excuses: isCut }).violations).toHaveLength(1);
});
