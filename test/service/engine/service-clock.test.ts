import { afterAll, describe, expect, test } from 'vitest';
import type { Db } from '../../../src/service/db/database.ts';
import { createServiceClock, type HostClock } from '../../../src/service/engine/service-clock.ts';
import {
  addAccount,
  addCheck,
  addLocation,
  connectAgent,
  createAgentService,
  resultOf,
  silent,
} from '../../helpers/service/agent-service.ts';
import { databases } from '../../helpers/service/database.ts';

/** The time of a service on a PostgreSQL server is the server's, whatever the clock of its host shows. */

const hour = 3_600_000;
const minute = 60_000;

/** A host whose clock is wrong, and a server that answers after `delay` ms. Both go on with `pass`. */
function scene({ wrongBy = 0 } = {}) {
  const start = Date.parse('2026-03-04T05:06:07Z');
  let time = 0;
  let slept = 0;
  let jumped = 0;
  const net = { there: 0, back: 0, queries: 0, rate: 1 };
  const host: HostClock = {
    wall: () => start + wrongBy + time + slept,
    elapsed: () => 5_000 + time,
    boot: () => 9_000_000 + time + slept,
  };
  const query = () => {
    net.queries += 1;
    time += net.there;
    const at = start + time * net.rate + slept + jumped;
    time += net.back;
    return Promise.resolve([{ at }]);
  };
  const db = { kind: 'server' as const, query: query as Db['query'], exec: () => Promise.resolve() };
  return {
    host,
    db,
    net,
    pass: (ms: number) => (time += ms),
    sleep: (ms: number) => (slept += ms),
    jump: (ms: number) => (jumped += ms),
    /** What the server's clock shows, from the start. */
    serverTime: () => start + time * net.rate + slept + jumped,
  };
}

test.each([hour, -hour])('a host that is wrong by %d ms lives by the time of the server', async (wrongBy) => {
  const { host, db, pass, serverTime } = scene({ wrongBy });
  const clock = await createServiceClock({ db, host, log: silent });
  expect(clock.now()).toBe(serverTime());
  pass(10 * minute);
  expect(clock.now()).toBe(serverTime());
  expect(clock.adopted()).toBe(0);
});

test('the error is at most half a round trip; slow answers are asked again, and do not move the clock later', async () => {
  const { host, db, net, serverTime, pass } = scene();
  Object.assign(net, { there: 80, back: 0 });
  const clock = await createServiceClock({ db, host, log: silent });
  expect(net.queries).toBe(5);
  expect(Math.abs(clock.now() - serverTime())).toBeLessThanOrEqual(40);
  const before = clock.now() - serverTime();
  Object.assign(net, { there: 9_000, back: 0 });
  await clock.loop?.tick();
  pass(minute);
  expect(clock.now() - serverTime()).toBe(before);
});

test('it follows a server whose clock drifts slowly, and one that jumps only after a quarter of an hour', async () => {
  const { host, db, net, pass, jump, serverTime } = scene();
  const clock = await createServiceClock({ db, host, log: silent });
  const halfMinutes = async (count: number) => {
    for (let n = 0; n < count; n++) {
      pass(30_000);
      await clock.loop?.tick();
      clock.now();
    }
  };
  net.rate = 1.001;
  await halfMinutes(20);
  expect(Math.abs(clock.now() - serverTime())).toBeLessThan(100);
  net.rate = 1;
  await halfMinutes(20);
  jump(hour);
  await halfMinutes(20);
  expect(serverTime() - clock.now()).toBeGreaterThan(hour - 1_000);
  await halfMinutes(12);
  expect(Math.abs(clock.now() - serverTime())).toBeLessThan(1_000);
  expect(Math.round(clock.adopted() / minute)).toBe(60);
});

test('time that the machine has slept has passed', async () => {
  const { host, db, pass, sleep, serverTime } = scene({ wrongBy: hour });
  const clock = await createServiceClock({ db, host, log: silent });
  pass(minute);
  sleep(20 * minute);
  expect(clock.now()).toBe(serverTime());
  await clock.loop?.tick();
  expect(clock.now()).toBe(serverTime());
});

test('a service alone with its embedded database lives by its host', async () => {
  const { host, db, net } = scene({ wrongBy: hour });
  const clock = await createServiceClock({ db: { ...db, kind: 'embedded' }, host, log: silent });
  expect(clock.now()).toBe(host.wall());
  expect([clock.loop, net.queries]).toEqual([null, 0]);
});

const server = databases.find(({ name }) => name === 'server');
const unavailable = server === undefined ? 'no server' : server.unavailable;

describe.skipIf(unavailable !== null)(unavailable ?? 'two replicas on one PostgreSQL', () => {
  afterAll(() => server?.close());

  test('whose hosts are two hours apart agree about leases and due runs', { timeout: 60_000 }, async () => {
    const opened = (await server?.openReplicas(2)) ?? [];
    const real = Date.now();
    let time = 0;
    const hostOf = (wrongBy: number, base: number): HostClock => ({
      wall: () => real + wrongBy + time,
      elapsed: () => base + time,
      boot: () => 2 * base + time,
    });
    const replicas = [];
    for (const [index, db] of opened.entries()) {
      const host = index === 0 ? hostOf(hour, 1_000) : hostOf(-hour, 7_000_000);
      const clock = await createServiceClock({ db, host, log: silent });
      replicas.push({ db, clock, service: await createAgentService(db, clock) });
    }
    const [a, b] = replicas;
    if (a === undefined || b === undefined) throw new Error('no replicas');
    expect(Math.abs(a.clock.now() - b.clock.now())).toBeLessThan(10_000);

    const accountId = await addAccount(a.db);
    const office = await addLocation(a.db, { accountId, slug: 'office' });
    const agentOfA = await connectAgent(a.service.app, office);
    const agentOfB = { ...(await connectAgent(b.service.app, office)), agentId: agentOfA.agentId };
    const checkId = await addCheck(a.db, { accountId, privateLocations: ['office'], now: a.clock.now() });
    let runs = 0;
    for (let round = 0; round < 2; round++) {
      let job;
      for (let second = 0; second < 130 && job === undefined; second += 10) {
        time += 10_000;
        for (const { service } of replicas) await service.scheduler.tick();
        [job] = await agentOfA.claim();
      }
      if (job === undefined) throw new Error(`no job in round ${round}`);
      // One replica's agent has it; the other one renews it, and neither takes the lease for expired.
      for (let second = 0; second < 40; second += 10) {
        time += 10_000;
        expect((await agentOfB.renew([job])).renewed).toEqual([job.jobId]);
        for (const { service } of replicas) await service.scheduler.tick();
      }
      expect(await agentOfB.claim()).toEqual([]);
      const [outcome] = await agentOfB.report(resultOf(job, b.clock.now()));
      expect(outcome?.outcome).toBe('stored');
      runs += 1;
    }
    const results = await a.db.query(
      `select status, count(*)::integer as count from check_results where check_id = $1 group by status`,
      [checkId],
    );
    expect(results).toEqual([{ status: 'passed', count: runs }]);
    for (const { service } of replicas) await service.app.close();
  });
});
