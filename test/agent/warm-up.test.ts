import { afterEach, beforeEach, expect, test } from 'vitest';
import { warmUp } from '../../src/agent/warm-up.ts';
import type { Executor, Outcome } from '../../src/executors/interface/executor.ts';
import type { Network } from '../../src/executors/interface/network.ts';
import { createNetwork } from '../../src/executors/system-network.ts';
import { executors } from '../../src/executors/table.ts';
import { probeTypes, type JobType } from '../../src/protocol/check-types.ts';
import { settledAt } from '../helpers/network/http.ts';

let network: Network;
beforeEach(() => {
  network = createNetwork({ useOsDnsResolver: false });
});
afterEach(() => network.close());

test('each measuring executor has had an answer from a peer, and leaves nothing open', async () => {
  const loaded = new Map<JobType, Executor<JobType>>();
  const seen: { type: JobType; ok: boolean }[] = [];
  for (const type of probeTypes) {
    const execute = (await executors[type]()) as Executor<JobType>; // jobs of its own type alone reach it
    loaded.set(type, async (job, context): Promise<Outcome> => {
      const outcome = await execute(job, context);
      seen.push({ type, ok: outcome.base.ok });
      return outcome;
    });
  }
  const executorOf = (type: JobType): Executor<JobType> => {
    const execute = loaded.get(type);
    if (execute === undefined) throw new Error(`no executor of ${type}`);
    return execute;
  };

  await warmUp(probeTypes, executorOf, { network, now: Date.now });

  const times = (type: JobType) => seen.filter((one) => one.type === type && one.ok).length;
  expect(Object.fromEntries(probeTypes.map((type) => [type, times(type)]))).toEqual({
    URL: 3,
    API: 3,
    TCP: 3,
    DNS: 3,
    ICMP: 0,
    SSL: 0,
    GRPC: 0,
    TRACEROUTE: 0,
  });
  const sockets = () =>
    process.getActiveResourcesInfo().filter((name) => /^(TCPSocket|TCPServer|UDP)Wrap$/.test(name)).length;
  expect(await settledAt(0, sockets)).toBe(0);
});

test('an unavailable or failing executor has no effect on the others', async () => {
  let calls = 0;
  const broken = (type: JobType): Executor<JobType> => {
    if (type === 'DNS') throw new Error('it could not be loaded');
    return () => {
      calls += 1;
      return Promise.reject(new Error('broken'));
    };
  };
  await expect(warmUp(probeTypes, broken, { network, now: Date.now })).resolves.toBeUndefined();
  expect(calls).toBe(3);
});
