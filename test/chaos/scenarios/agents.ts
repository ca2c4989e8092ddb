import { once } from 'node:events';
import { mode } from '../mode.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Faults of agents' processes. */

/** SIGKILL at random moments, one agent at a time; the others take over. */
export const agentKills: Scenario = {
  name: 'agent-kills',
  about: '20 times kill -9 of one of two agents at a random moment, started again at once',
  world: { agents: 2 },
  run: async (world) => {
    for (let kill = 0; kill < 20; kill++) {
      await sleep(world.random.whole(1_000, 5_000));
      const index = kill % 2;
      await world.killAgent(index);
      await world.startAgent(index);
    }
    await sleep(40_000);
    return {};
  },
};

/** Two agents that share a key and a machine, each with its own folder, and one that is stopped for a while (SIGSTOP). */
export const agentTwins: Scenario = {
  name: 'agent-twins',
  about: 'two agents with one key; one stands still for 45 s and wakes up with old leases',
  world: { agents: 2 },
  run: async (world) => {
    await sleep(10_000);
    const stopped = Date.now();
    world.agents[0]?.kill('SIGSTOP');
    await sleep(45_000);
    world.agents[0]?.kill('SIGCONT');
    await sleep(40_000);
    // What the agent that stood still measured is its own delay.
    return {
      errored: { when: () => true, codes: ['AGENT_OVERLOADED'] },
      // Held checks are handed on when the lease ends, after 30 s. The last due run of each is made then, the earlier ones are not.
      ...(mode === 'assignments' ? { missed: (due) => due > stopped - 1_000 && due < stopped + 31_000 } : {}),
    };
  },
};

/** All agents of a location restart together, as after an update of the cluster. */
export const manyAgents: Scenario = {
  name: 'many-agents',
  about: '20 agents of one location are killed and start again at once',
  world: { agents: 20 },
  run: async (world) => {
    await sleep(10_000);
    await Promise.all(world.agents.map((_agent, index) => world.killAgent(index)));
    const killed = Date.now();
    await Promise.all(world.agents.map((_agent, index) => world.startAgent(index)));
    const back = Date.now() + 8_000;
    await sleep(50_000);
    return {
      // Nobody was there; 20 programs start on a few cores.
      missed: (due) => due > killed - 12_000 && due < back,
      notes: [`all back after ${Math.round((back - killed - 8_000) / 1000)} s`],
    };
  },
};

/** A rolling update: each agent gets SIGTERM, finishes, and its successor starts. Nothing may be missed. */
export const rollingAgents: Scenario = {
  name: 'rolling-agents',
  about: 'each of three agents is replaced (SIGTERM, drain, start), twice',
  world: { agents: 3 },
  run: async (world) => {
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 3; index++) await replace(world, index);
    }
    await sleep(15_000);
    return {};
  },
};

async function replace(world: World, index: number): Promise<void> {
  await sleep(4_000);
  const old = world.agents[index];
  if (old === null || old === undefined) return;
  const gone = once(old.child, 'exit');
  old.kill('SIGTERM');
  await gone;
  await world.startAgent(index);
}
