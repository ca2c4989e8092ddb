import type { Excuses } from './facts.ts';
import type { Verdict } from './judge/judge.ts';
import type { World, WorldOptions } from './world.ts';

export type ChaosVariable = 'CHAOS_MINUTES' | 'CHAOS_RUNS' | 'CHAOS_POINTS' | 'CHAOS_HOURS' | 'CHAOS_KILLS';

export type Findings = {
  /** Lines for whoever watches the run. */
  notes?: string[];
  /** What the scenario itself found wrong. */
  wrong?: string[];
  /** Figures of its own, in a few words, for the table. */
  measured?: string;
};

type Named = {
  name: string;
  /** The fault in a few words, for the table in docs/reliability.md. */
  about: string;
  /** Variables of the environment that change its length or its size. */
  reads?: readonly ChaosVariable[];
  /** Why it cannot run on this machine; null = it can. */
  missing?: () => string | null;
};

/** One fault, or several of a kind, under the oracle. */
export type WorldScenario = Named & {
  world?: Partial<Omit<WorldOptions, 'random' | 'main'>>;
  /** Makes the options of the world, where they depend on something that it must make first. */
  prepare?: (main: string) => Promise<{ options: Partial<WorldOptions>; undo: () => Promise<void> }>;
  /** How long targets fail and how long they work, in turn; default: about half a minute. */
  weatherMs?: { least: number; most: number };
  /** Does the fault, ends it, says what it excuses, and what it found wrong itself. `world.checks` run all the time. */
  run: (world: World) => Promise<Excuses & Findings>;
  /** More rules for what came of it. Returns violations. */
  after?: (world: World, verdict: Verdict) => Promise<string[]>;
};

/** A measurement that has its own service and agents, and its own rules. */
export type LoneScenario = Named & { alone: () => Promise<Findings & { verdict: Verdict }> };

export type Scenario = WorldScenario | LoneScenario;
