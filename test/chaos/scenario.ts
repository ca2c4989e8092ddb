import type { Excuses } from './facts.ts';
import type { Verdict } from './judge.ts';
import type { World, WorldOptions } from './world.ts';

/** One fault, or several of a kind, under the oracle. */
export type Scenario = {
  name: string;
  /** The fault in a few words, for the table in docs/reliability.md. */
  about: string;
  /** Why it cannot run on this machine; null = it can. */
  missing?: () => string | null;
  world?: Partial<Omit<WorldOptions, 'random' | 'main'>>;
  /** Makes the options of the world, where they depend on something that it must make first. */
  prepare?: (main: string) => Promise<{ options: Partial<WorldOptions>; undo: () => Promise<void> }>;
  /** Does the fault, ends it, and says what it excuses. `world.checks` run all the time. */
  run: (world: World) => Promise<Excuses & { notes?: string[] }>;
  /** More rules for what came of it. Returns violations. */
  after?: (world: World, verdict: Verdict) => Promise<string[]>;
};
