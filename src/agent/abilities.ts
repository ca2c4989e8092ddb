import type { AgentConfig } from '../config.ts';
import {
  laneOf,
  lanes as allLanes,
  probeTypes,
  scriptTypes,
  suiteTypes,
  uptimeTypes,
  type JobType,
  type Lane,
} from '../protocol/check-types.ts';
import { createLanes, type Lanes } from './run/lanes.ts';
import { browserSlots, machine } from './link/machine.ts';
import type { ScriptHost } from './script-host.ts';

/** What this agent can run. It grows while the agent lives: a runtime or an engine may be installed meanwhile. */
export type Abilities = {
  /** Check types that it runs at present. */
  types: () => readonly JobType[];
  /**
   * Check types that the service is told of: those of scripts also while no runtime is there, which the service then names
   * as what a run lacks.
   */
  announced: () => readonly JobType[];
  /** The lanes that it has opened so far; one that is open stays open. */
  readonly lanes: Lanes;
  /** Opens each lane of which there is a type by now; says which ones. */
  openLanes: () => readonly Lane[];
};

export function createAbilities(
  slots: LaneSlots,
  host: Pick<ScriptHost, 'runtimes' | 'engines' | 'carriesScripts'>,
): Abilities {
  const lanes = createLanes({});
  const withSlots = (types: readonly JobType[]) => types.filter((type) => slots[laneOf[type]] > 0);
  const types = (): readonly JobType[] =>
    withSlots([
      ...(host.carriesScripts ? probeTypes : uptimeTypes),
      ...(host.runtimes().length > 0 ? scriptTypes : []),
      ...(host.engines().length > 0 ? suiteTypes : []),
    ]);
  return {
    types,
    announced: () => (host.carriesScripts ? [...new Set([...types(), ...withSlots(scriptTypes)])] : types()),
    lanes,
    openLanes: () => {
      const wanted = new Set(types().map((type) => laneOf[type]));
      const opened = allLanes.filter((lane) => wanted.has(lane) && lanes.slots[lane] === undefined);
      for (const lane of opened) lanes.open(lane, slots[lane]);
      return opened;
    },
  };
}

/** 0 = the lane is switched off: it never opens, and its types are none of this agent's. */
export type LaneSlots = { readonly [L in Lane]: number };

/** Slots of each lane, whether this agent has a check type for it or not. */
export function slotsOf(
  config: Pick<AgentConfig, 'uptimeConcurrency' | 'jobConcurrency' | 'suiteConcurrency'>,
): LaneSlots {
  return {
    uptime: config.uptimeConcurrency,
    browser: config.jobConcurrency ?? browserSlots(machine()),
    suite: config.suiteConcurrency,
  };
}
