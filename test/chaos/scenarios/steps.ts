import { join } from 'node:path';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import { chosenSteps, instrumentedMain, stepFile } from '../steps.ts';
import type { World } from '../world.ts';

/** kill -9 at named steps on the path of a job and of a result. CHAOS_POINTS says at how many. */

const points = Number(process.env['CHAOS_POINTS'] ?? 60);
const listOf = (world: World, name: string) => join(world.folder, `steps-${name}`);

/** Ends the program at each of the steps, one after another; what does not pass its step is ended at a random moment. */
async function killAtSteps(
  steps: { step: string; pass: number }[],
  each: (env: Record<string, string>) => Promise<{ ended: Promise<unknown>; kill: () => Promise<void> }>,
  waitMs: number,
): Promise<{ reached: number; tried: number }> {
  let reached = 0;
  let tried = 0;
  for (let next = steps.shift(); next !== undefined; next = steps.shift()) {
    tried += 1;
    const running = await each({ CHAOS_KILL_AT: next.step, CHAOS_KILL_PASS: String(next.pass) });
    let hasEnded = false;
    await Promise.race([running.ended.then(() => (hasEnded = true)), sleep(waitMs)]);
    if (hasEnded) reached += 1;
    else await running.kill();
  }
  return { reached, tried };
}

const sum = (counts: { reached: number; tried: number }[]) =>
  `killed at ${counts.reduce((all, { reached }) => all + reached, 0)} named steps, and ${counts.reduce((all, { reached, tried }) => all + tried - reached, 0)} times at another moment`;

export const agentSteps: Scenario = {
  name: 'agent-steps',
  about: `kill -9 of an agent at each of ${points} named steps on the path of a job and of a result`,
  prepare: async (main) => ({
    options: { agentOptions: { main: instrumentedMain(main), imports: [stepFile] } },
    undo: async () => undefined,
  }),
  world: { agents: 3 },
  run: async (world) => {
    // First the steps that are passed at all, also by an agent that starts with something in its outbox.
    const list = listOf(world, 'agent');
    for (let index = 0; index < 3; index++) {
      await world.killAgent(index);
      await world.startAgent(index, { env: { CHAOS_STEPS: list } });
    }
    await sleep(12_000);
    const steps = chosenSteps(list, { count: points, random: world.random });
    const counts = await Promise.all(
      [0, 1].map((index) =>
        killAtSteps(
          steps,
          async (env) => {
            await world.killAgent(index);
            await world.startAgent(index, { env });
            const running = world.agents[index];
            return { ended: running?.ended ?? Promise.resolve(), kill: () => world.killAgent(index) };
          },
          9_000,
        ),
      ),
    );
    await Promise.all([0, 1].map((index) => world.startAgent(index)));
    await sleep(45_000);
    return { notes: [sum(counts)] };
  },
};

export const serviceSteps: Scenario = {
  name: 'service-steps',
  about: `kill -9 of a replica at each of ${points} named steps on the path of a job and of a result`,
  prepare: async (main) => ({
    options: { replicaMain: instrumentedMain(main), replicaImports: [stepFile] },
    undo: async () => undefined,
  }),
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    const list = listOf(world, 'service');
    await world.killReplica(0);
    await world.startReplica(0, { CHAOS_STEPS: list });
    await sleep(45_000);
    const steps = chosenSteps(list, { count: points, random: world.random });
    const counts = await killAtSteps(
      steps,
      async (env) => {
        await world.killReplica(0);
        // A step on the way to the ready line ends it before that line.
        await world.startReplica(0, env).catch(() => undefined);
        return {
          ended: world.replicas[0]?.ended ?? Promise.resolve(),
          kill: () => world.killReplica(0),
        };
      },
      6_000,
    );
    await world.startReplica(0);
    await sleep(45_000);
    return { repeated: true, notes: [sum([counts])] };
  },
};
