import { mode } from '../mode.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';

/** Faults of the service's processes, of the way to it and of its clock. */

const replicaKills: Scenario = {
  name: 'replica-kills',
  about: '10 times kill -9 of one of two replicas at a random moment, started again at once',
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    for (let kill = 0; kill < 10; kill++) {
      await sleep(world.random.whole(2_000, 6_000));
      const index = kill % 2;
      await world.killReplica(index);
      await world.startReplica(index);
    }
    await sleep(30_000);
    return { repeated: true };
  },
};

const serviceAway = (name: string, seconds: number): Scenario => ({
  name,
  about: `the only replica is killed and stays away for ${seconds} s`,
  world: { agents: 2 },
  run: async (world) => {
    await sleep(15_000);
    await world.killReplica(0);
    const killed = Date.now();
    await sleep(seconds * 1_000);
    await world.startReplica(0);
    const back = Date.now();
    await sleep(45_000);
    return {
      repeated: true,
      // Agents that hold the checks continue.
      missed: (due) => mode === 'queue' && due > killed - 12_000 && due < back + 2_000,
    };
  },
});

/** As a cluster updates a service: SIGTERM, drain, start. Nothing may be missed. */
const rollingReplicas: Scenario = {
  name: 'rolling-replicas',
  about: 'each of three replicas is replaced (SIGTERM, drain, start), twice',
  world: { agents: 2, replicas: 3 },
  run: async (world) => {
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 3; index++) {
        await sleep(4_000);
        const old = world.replicas[index];
        // The load balancer sends nothing more to a replica that stops.
        world.takeOut(index);
        old?.kill('SIGTERM');
        await old?.ended;
        await world.startReplica(index);
      }
    }
    await sleep(30_000);
    return {};
  },
};

const alertOrder: Scenario = {
  name: 'alert-order',
  about: 'the channel refuses everything for 60 s while checks fail and recover',
  world: { agents: 1 },
  run: async (world) => {
    await sleep(25_000);
    world.receiver.setBroken(true);
    await sleep(60_000);
    world.receiver.setBroken(false);
    await sleep(60_000);
    return { dropped: true };
  },
  after: async (world) =>
    world.checks.flatMap((check) => {
      const last = world.receiver.notifications.findLast(
        ({ checkId, accepted }) => checkId === check.id && accepted,
      );
      return last === undefined || last.type === 'ALERT_RECOVERY'
        ? []
        : [`${check.name}: the channel's last word is ${last.type}, and the check passes`];
    }),
};

const clockScenario = (name: string, whose: 'service' | 'agent', hours: number): Scenario => ({
  name,
  about: `the ${whose}'s clock is set ${Math.abs(hours)} h ${hours > 0 ? 'ahead' : 'back'} for 60 s while it runs, and then right`,
  world: { agents: 2, replicas: 1 },
  run: async (world) => {
    await sleep(15_000);
    const began = Date.now();
    world.setClock(whose, hours * 3_600_000);
    await sleep(60_000);
    const probed = world.targets.probes.filter(({ at }) => at > began + 15_000).length;
    world.setClock(whose, 0);
    const ended = Date.now();
    await sleep(45_000);
    return {
      missed: (due) => due > began - 12_000 && due < ended + 12_000,
      notes: [`${probed} probes in the last 45 s of the fault`],
    };
  },
});

const clockJumps: Scenario = {
  name: 'clock-jumps',
  about: 'the clocks of service and agents jump by up to 2 h, back and ahead, 20 times in 60 s',
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    await sleep(15_000);
    const began = Date.now();
    for (let jump = 0; jump < 20; jump++) {
      const whose = world.random.pick(['service', 'agent']);
      // Jumps of seconds look most like the truth.
      const most = world.random.pick([5_000, 120_000, 7_200_000]);
      world.setClock(whose, world.random.whole(-most, most));
      await sleep(3_000);
    }
    world.setClock('service', 0);
    world.setClock('agent', 0);
    const ended = Date.now();
    await sleep(45_000);
    return { missed: (due) => due > began - 12_000 && due < ended + 12_000 };
  },
};

const wayFaults: Scenario = {
  name: 'way-faults',
  about:
    'for 60 s a fifth of all calls of agents is reset, cut, garbled, delayed, doubled, answered twice or with 429 or 502',
  world: { agents: 2 },
  run: async (world) => {
    await sleep(10_000);
    const faults = [
      'reset',
      'cut answer',
      'lose answer',
      'garble answer',
      'repeat request',
      { status: 429 },
      { status: 502 },
      { delayMs: 3_000 },
    ] as const;
    const { random } = world;
    world.front.setFault((request) =>
      request.url?.startsWith('/agent/') === true && random.next() < 0.2 ? random.pick(faults) : null,
    );
    const began = Date.now();
    await sleep(60_000);
    world.front.setFault(() => null);
    const ended = Date.now();
    await sleep(45_000);
    return {
      missed: (due) => due > began - 12_000 && due < ended + 12_000,
      notes: [[...world.front.counts].map(([name, count]) => `${name} ${count}`).join(', ')],
    };
  },
};

const tooLarge: Scenario = {
  name: 'too-large',
  about: 'for 45 s a proxy answers 413 to every batch of results above 3 kB, and to some single results',
  world: { agents: 1 },
  run: async (world) => {
    await sleep(10_000);
    let refused = 0;
    world.front.setFault((request) => {
      const isLarge =
        request.url === '/agent/v1/results' && Number(request.headers['content-length'] ?? 0) > 3_000;
      if (isLarge) refused += 1;
      return isLarge ? { status: 413 } : null;
    });
    await sleep(45_000);
    world.front.setFault(() => null);
    await sleep(30_000);
    return {
      errored: { when: () => true, codes: ['RESULT_TOO_LARGE'] },
      notes: [`${refused} answers with 413`],
    };
  },
};

export const serviceScenarios: readonly Scenario[] = [
  replicaKills,
  serviceAway('service-away', 90),
  serviceAway('service-away-long', 600),
  rollingReplicas,
  alertOrder,
  clockScenario('service-clock-back', 'service', -1),
  clockScenario('service-clock-ahead', 'service', 1),
  clockScenario('agent-clock-back', 'agent', -1),
  clockScenario('agent-clock-ahead', 'agent', 1),
  clockJumps,
  wayFaults,
  tooLarge,
];
