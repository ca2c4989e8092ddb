import { expect, test } from 'vitest';
import { Compile } from 'typebox/compile';
import { createCondition } from '../../../src/agent/metrics/condition.ts';
import { guardNames, type Guard } from '../../../src/agent/metrics/guard-rules.ts';
import { protocolLimits } from '../../../src/protocol/agent-calls.ts';
import { AgentCondition } from '../../../src/protocol/routes.ts';

/** What an agent reports about itself. */

const outbox = { diskBytes: 0, memoryBytes: 0, diskResults: 0, memoryResults: 0, oldestAt: null };
const scrub = (text: string) => text.replaceAll('hunter2', '*********');

test('the raised guards without secrets, and the results on disk and in memory', () => {
  const guards: Guard[] = [
    { name: 'outbox', message: 'results wait' },
    { name: 'disk', message: 'the folder /data/hunter2 cannot be written' },
  ];
  const read = createCondition({
    guards: () => guards,
    outbox: () => ({ diskBytes: 5000, memoryBytes: 70, diskResults: 4, memoryResults: 1, oldestAt: 10_000 }),
    scrub,
    now: () => 105_400,
  });
  expect(read()).toEqual({
    guards: [
      { name: 'outbox', message: 'results wait', stopsJobs: true },
      { name: 'disk', message: 'the folder /data/********* cannot be written', stopsJobs: false },
    ],
    outbox: { results: 5, bytes: 5070, oldestSeconds: 95 },
  });
});

test('all guards with the longest words are a valid condition, and an empty outbox has no oldest result', () => {
  const read = createCondition({
    guards: () => guardNames.map((name) => ({ name, message: '😀'.repeat(5000) })),
    outbox: () => outbox,
    scrub,
    now: () => 0,
  });
  const condition = read();
  expect([...Compile(AgentCondition).Errors(condition)]).toEqual([]);
  expect(condition.guards.map(({ name }) => name)).toEqual([...guardNames]);
  expect(condition.guards[0]?.message.length).toBeLessThanOrEqual(protocolLimits.guardChars + 1);
  expect(condition.outbox).toEqual({ results: 0, bytes: 0, oldestSeconds: 0 });
});

test('a clock that was set back gives no negative age', () => {
  const read = createCondition({
    guards: () => [],
    outbox: () => ({ ...outbox, memoryResults: 1, oldestAt: 5000 }),
    scrub,
    now: () => 0,
  });
  expect(read().outbox.oldestSeconds).toBe(0);
});
