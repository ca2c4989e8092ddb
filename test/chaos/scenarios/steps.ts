import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, until } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import { chosenSteps, instrumentedProgram, stepFile, tooFewOf, type Reached, type Step } from '../steps.ts';
import type { World } from '../world.ts';

/** kill -9 at named steps on the path of a job and of a result. CHAOS_POINTS says at how many. */

const points = Number(process.env['CHAOS_POINTS'] ?? 60);
const listOf = (world: World, name: string) => join(world.folder, `steps-${name}`);

type Victim = {
  /** Resolves when the step was reached and its process killed. */
  killed: Promise<unknown>;
  /** Ends a process that has not reached its step. */
  kill: () => Promise<void>;
};

/** Kills at each of the steps, one after another. What does not pass its step in time is killed at that moment. */
async function killAtSteps(
  steps: Step[],
  each: (env: Record<string, string>) => Promise<Victim>,
): Promise<Reached> {
  let reached = 0;
  let tried = 0;
  for (let next = steps.shift(); next !== undefined; next = steps.shift()) {
    tried += 1;
    const victim = await each({ CHAOS_KILL_AT: next.step, CHAOS_KILL_PASS: String(next.pass) });
    let wasKilled = false;
    await Promise.race([victim.killed.then(() => (wasKilled = true)), sleep(6_000 + next.afterMs * 1.5)]);
    if (wasKilled) reached += 1;
    else await victim.kill();
  }
  return { reached, tried };
}

const sumOf = (counts: readonly Reached[]): Reached => ({
  reached: counts.reduce((sum, { reached }) => sum + reached, 0),
  tried: counts.reduce((sum, { tried }) => sum + tried, 0),
});

const outcomeOf = (counts: Reached) => ({
  measured: `killed at ${counts.reached} of ${counts.tried} steps`,
  wrong: tooFewOf(counts),
});

export const agentSteps: Scenario = {
  name: 'agent-steps',
  about: 'kill -9 of an agent at CHAOS_POINTS (60) named steps on the path of a job and of a result',
  reads: ['CHAOS_POINTS'],
  prepare: async (main) => {
    const program = instrumentedProgram(main);
    return {
      options: { agentOptions: { main: program.main, imports: [stepFile] } },
      undo: async () => program.remove(),
    };
  },
  world: { agents: 3 },
  run: async (world) => {
    // First the steps that are passed at all, also by an agent that starts with something in its outbox.
    const list = listOf(world, 'agent');
    for (let index = 0; index < 3; index++) {
      await world.killAgent(index);
      await world.startAgent(index, { env: { CHAOS_STEPS: list } });
    }
    await sleep(20_000);
    const steps = chosenSteps(list, { count: points, random: world.random });
    const counts = await Promise.all(
      [0, 1].map(async (index) => {
        const reached = await killAtSteps(steps, async (env) => {
          await world.killAgent(index);
          await world.startAgent(index, { env });
          return {
            killed: world.agents[index]?.ended ?? Promise.resolve(),
            kill: () => world.killAgent(index),
          };
        });
        // At once, and not when the other has ended, too: nobody else makes the runs of what it holds.
        await world.startAgent(index);
        return reached;
      }),
    );
    await sleep(45_000);
    return outcomeOf(sumOf(counts));
  },
};

/** Replicas of the instrumented program. */
const instrumentedReplicas = async (main: string) => {
  const program = instrumentedProgram(main);
  return {
    options: { replicaMain: program.main, replicaImports: [stepFile] },
    undo: async () => program.remove(),
  };
};

/** The steps that a replica passes in 45 s. */
async function stepsOfReplica(world: World, count: number): Promise<Step[]> {
  const list = listOf(world, 'service');
  await world.killReplica(0);
  await world.startReplica(0, { CHAOS_STEPS: list });
  await sleep(45_000);
  return chosenSteps(list, { count, random: world.random });
}

export const serviceSteps: Scenario = {
  name: 'service-steps',
  about: 'kill -9 of a replica at CHAOS_POINTS (60) named steps on the path of a job and of a result',
  reads: ['CHAOS_POINTS'],
  prepare: instrumentedReplicas,
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    const steps = await stepsOfReplica(world, points);
    const counts = await killAtSteps(steps, async (env) => {
      await world.killReplica(0);
      // A step on the way to the ready line ends it before that line.
      await world.startReplica(0, env).catch(() => undefined);
      return {
        killed: world.replicas[0]?.ended ?? Promise.resolve(),
        kill: () => world.killReplica(0),
      };
    });
    await world.startReplica(0);
    await sleep(45_000);
    return { repeated: true, ...outcomeOf(counts) };
  },
};

export const databaseSteps: Scenario = {
  name: 'database-steps',
  about:
    "kill -9 of PostgreSQL's first process when a replica is at one of CHAOS_POINTS (60) named steps on the path of a job and of a result",
  reads: ['CHAOS_POINTS'],
  prepare: instrumentedReplicas,
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    const steps = await stepsOfReplica(world, points);
    const began = Date.now();
    const counts = await killAtSteps(steps, async (env) => {
      if (!isAlive(world.database.postgres.pid())) await world.database.restart();
      const pid = world.database.postgres.pid();
      await world.killReplica(0);
      // Without its database a replica may end before its ready line.
      await world.startReplica(0, { ...env, CHAOS_KILL_PID: String(pid) }).catch(() => undefined);
      return {
        killed: until(() => !isAlive(pid), 'the end of PostgreSQL', 3_600_000),
        kill: async () => undefined,
      };
    });
    if (!isAlive(world.database.postgres.pid())) await world.database.restart();
    await world.killReplica(0);
    await world.startReplica(0);
    const ended = Date.now();
    await sleep(50_000);
    return {
      repeated: true,
      // While it is away nothing can be queued.
      missed: (due) => due > began - 12_000 && due < ended + 12_000,
      ...outcomeOf(counts),
    };
  },
};

const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
