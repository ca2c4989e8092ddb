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

/**
 * What this agent can run. Abilities can grow while the agent runs, because a runtime or an engine may be installed
 * later.
 */
export type Abilities = {
  /** Check types that the agent can run now. */
  types: () => readonly JobType[];
  /**
   * Check types that the agent reports to the service. Script types are included even while no runtime is installed,
   * so that the service can report the missing runtime.
   */
  announced: () => readonly JobType[];
  /** The lanes that are open. A lane that has been opened stays open. */
  readonly lanes: Lanes;
  /** Opens each lane that now has at least one check type; returns the lanes that it opened. */
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
      const neededLanes = new Set(types().map((type) => laneOf[type]));
      const opened = allLanes.filter((lane) => neededLanes.has(lane) && lanes.slots[lane] === undefined);
      for (const lane of opened) lanes.open(lane, slots[lane]);
      return opened;
    },
  };
}

/** 0 = the lane is switched off: it never opens, and the agent does not offer its types. */
export type LaneSlots = { readonly [L in Lane]: number };

/** Slots of each lane, even if this agent has no check type for it. */
export function slotsOf(
  config: Pick<AgentConfig, 'uptimeConcurrency' | 'jobConcurrency' | 'suiteConcurrency'>,
): LaneSlots {
  return {
    uptime: config.uptimeConcurrency,
    browser: config.jobConcurrency ?? browserSlots(machine()),
    suite: config.suiteConcurrency,
  };
}
