import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildEarlier, earlierCommit } from '../earlier-release.ts';
import { mode } from '../mode.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Rolling upgrades from an earlier release: for a while, services and agents of both work together. Nothing may be missed. */

/** As a cluster replaces programs: SIGTERM, drain, start. */
async function upgradeReplica(world: World, index: number, main: string): Promise<void> {
  const old = world.replicas[index];
  world.takeOut(index);
  old?.kill('SIGTERM');
  await old?.ended;
  await world.startReplica(index, {}, main);
}

async function upgradeAgent(world: World, index: number, main: string): Promise<void> {
  const old = world.agents[index];
  old?.kill('SIGTERM');
  await old?.ended;
  await world.startAgent(index, { main });
}

type Order = readonly ('service' | 'agents')[];

/**
 * Replicas of a release without assignments refuse results of held checks. Where new agents meet them, it is left to the
 * service: agents hold checks an hour after the upgrade.
 */
function assignmentsIn(before: string, order: Order): string {
  if (mode === 'queue') return 'false';
  const isKnown = existsSync(join(dirname(before), '..', 'src', 'protocol', 'assignments.ts'));
  return isKnown || order[0] === 'service' ? 'true' : '';
}

function upgrade(name: string, order: Order): Scenario {
  let now = '';
  let assignments = '';
  return {
    name,
    about: `${order.join(', then ')}: two replicas and two agents of an earlier release are replaced one by one, with 15 s between`,
    missing: () => (earlierCommit() === null ? "git's history does not have the earlier release" : null),
    prepare: (main) => {
      now = main;
      const before = buildEarlier(earlierCommit() ?? '');
      assignments = assignmentsIn(before, order);
      return Promise.resolve({
        options: {
          agents: 2,
          replicas: 2,
          replicaMain: before,
          agentOptions: { main: before },
          env: { SERVICE_ASSIGNMENTS: assignments },
        },
        undo: () => Promise.resolve(),
      });
    },
    run: async (world) => {
      for (const what of order) {
        for (const index of [0, 1]) {
          await sleep(15_000);
          await (what === 'service' ? upgradeReplica : upgradeAgent)(world, index, now);
        }
      }
      await sleep(45_000);
      const held = (await world.database.holders()).filter(({ isHeld }) => isHeld).length;
      const mustHold = assignments === 'true';
      return {
        notes: [`agents hold ${held} checks after the upgrade`],
        wrong:
          mustHold === held > 0
            ? []
            : [`agents hold ${held} checks, with SERVICE_ASSIGNMENTS=${assignments}`],
      };
    },
  };
}

export const upgradeScenarios: readonly Scenario[] = [
  upgrade('upgrade-service-first', ['service', 'agents']),
  upgrade('upgrade-agents-first', ['agents', 'service']),
];
