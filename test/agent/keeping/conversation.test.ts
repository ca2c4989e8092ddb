import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { protocolMinor } from '../../../src/protocol/agent-calls.ts';
import { answer, check, start, talk } from './talk.ts';

/** What an agent that holds checks says to replicas of different kinds, one after the other. */

const shared = { sharesVariables: true };

test('the tag of the variables is named in the next claim', async () => {
  const { asked } = await talk([
    answer({
      isFirst: true,
      checks: [check(shared)],
      ...shared,
      variables: { tag: 't1', list: [{ key: 'A', value: 'b' }] },
    }),
  ]);
  expect(asked).toMatchObject([
    { cursor: null, minor: protocolMinor, variables: null },
    { cursor: 'c1', minor: protocolMinor, variables: 't1' },
  ]);
});

test('checks of a replica of an earlier release are asked for again when a newer one answers', async () => {
  const { asked } = await talk([
    answer({ isFirst: true, checks: [check()] }),
    answer({ ...shared, variables: { tag: 't1', list: [] } }),
    answer({ isFirst: true, checks: [check(shared)], ...shared }),
  ]);
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, 'c1', null, 'c1']);
});

test('checks without variables are asked for again when a replica of an earlier release answers', async () => {
  const { asked } = await talk([
    answer({ isFirst: true, checks: [check(shared)], ...shared, variables: { tag: 't1', list: [] } }),
    answer(),
    answer({ isFirst: true, checks: [check()] }),
  ]);
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, 'c1', null, 'c1']);
});

test('a replica that lets agents hold no checks, among others that do, takes none away', async () => {
  const { asked, log } = await talk([
    answer({ isFirst: true, checks: [check(shared)], ...shared }),
    answer({ cursor: null, isOff: true }),
  ]);
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, 'c1', 'c1']);
  expect(log).toBe('');
}, 20_000);

test('when nobody has let it hold checks for the time of a lease, the agent forgets them', async () => {
  const { log } = await talk(
    [answer({ isFirst: true, checks: [check(shared)], ...shared }), answer({ cursor: null, isOff: true })],
    { laterMs: 31_000 },
  );
  expect(log).toContain('the service lets agents hold no checks any more');
});

// Its first moment is 60 s after the start.
const due = { from: start + 60_000, intervalSeconds: 300 };

test('an agent that had stopped runs nothing in a form that the service has replaced since', async () => {
  const dropped = [check().checkId];
  const first = answer({ isFirst: true, checks: [check({ ...shared, ...due })], ...shared });
  const last = answer({ dropped, ...shared });
  const { runs } = await talk(
    [
      { ...first, stopsInOutages: true },
      { ...last, stopsInOutages: true },
    ],
    { laterMs: 60_500 },
  );
  expect(runs).toBe(0);
  // One that continues has run the check by then.
  expect((await talk([first, last], { laterMs: 60_500 })).runs).toBe(1);
}, 20_000);

test('an answer of a replica of an earlier release leaves the switch for outages as it is', async () => {
  const dropped = [check().checkId];
  const first = answer({ isFirst: true, checks: [check(due)], stopsInOutages: true });
  // The second one does not know the switch.
  const { runs } = await talk([first, answer(), answer({ dropped })], { laterMs: 120_000 });
  expect(runs).toBe(0);
}, 20_000);

test('an agent whose hello a replica without held checks has answered asks for checks all the same', async () => {
  const { asked } = await talk([answer({ isFirst: true, checks: [check(shared)], ...shared })], {
    hello: { protocolMinor: 7 },
  });
  expect(asked.map(({ cursor }) => cursor)).toEqual([null, 'c1']);
}, 20_000);

test('after a failure the agent asks for an answer at once, and waits for changes again after it', async () => {
  const first = answer({ isFirst: true, checks: [check(shared)], ...shared, stopsInOutages: true });
  const { asked } = await talk([first, null, null, answer(shared)]);
  expect(asked.map(({ waitSeconds }) => waitSeconds)).toEqual([10, 10, 0, 0, 10]);
}, 20_000);

test('what a process holds is in the data folder at once, for the one that continues it', async () => {
  const own = mkdtempSync(join(tmpdir(), 'keeping-'));
  onTestFinished(() => rmSync(own, { recursive: true, force: true }));
  const whenAsked = () =>
    vi.waitFor(() => expect(existsSync(join(own, 'one', 'held-apart'))).toBe(true), { timeout: 2_000 });
  await talk([answer({ isFirst: true, checks: [check(shared)], ...shared })], { folder: own, whenAsked });
});

test('a process names the earlier ones of its data folder by what it knows of them, also without checks', async () => {
  const own = mkdtempSync(join(tmpdir(), 'keeping-'));
  onTestFinished(() => rmSync(own, { recursive: true, force: true }));
  const held = answer({ isFirst: true, checks: [check(shared)], ...shared });
  const none = answer({ isFirst: true, ...shared });
  expect((await talk([held], { folder: own })).continues).toEqual([]);
  expect((await talk([none], { folder: own, instanceId: 'two' })).continues).toEqual([
    'a',
    check().holder,
    'one',
  ]);
  expect((await talk([none], { folder: own, instanceId: 'three' })).continues).toContain('two');
});

describe('a process that continues the checks of an earlier one', () => {
  const late = check({ ...shared, from: start, intervalSeconds: 10 });
  const held = answer({ isFirst: true, checks: [late], ...shared });
  const earlier = async () => {
    const own = mkdtempSync(join(tmpdir(), 'keeping-'));
    onTestFinished(() => rmSync(own, { recursive: true, force: true }));
    expect((await talk([held], { folder: own })).runs).toBe(1);
    return { folder: own, instanceId: 'two' };
  };

  test('runs none of them before the service has said what became of them', async () => {
    const gone = answer({ isFirst: true, dropped: [], ...shared });
    expect((await talk([gone], { ...(await earlier()), answerMs: 300 })).runs).toBe(0);
    // The variables may come before the list.
    const variables = answer({ ...shared, variables: { tag: 't1', list: [] } });
    const early = { ...(await earlier()), answerMs: 300 };
    expect((await talk([variables, gone], early)).runs).toBe(0);
    // A long list comes in parts.
    const part = { ...gone, hasMore: true };
    expect((await talk([part, part, gone], { ...(await earlier()), answerMs: 300 })).runs).toBe(0);
    expect((await talk([held], { ...(await earlier()), answerMs: 300 })).runs).toBe(1);
  });

  test('waits for that only a moment', async () => {
    // The second answer takes longer than it may.
    const answers = [
      { ...held, hasMore: true },
      answer({ isFirst: false, dropped: [late.checkId], ...shared }),
    ];
    expect((await talk(answers, { ...(await earlier()), answerMs: 2_500 })).runs).toBe(1);
  });
});
