import type { Network } from '../../executors/interface/network.ts';
import type { AllowedTargets } from './allowed-targets.ts';
import type { Gauges } from './gauges.ts';

/** What one probe works with. */
export type ProbeRun = {
  readonly target: string;
  /** The parameter `hostname`; null = it is absent. */
  readonly hostname: string | null;
  readonly signal: AbortSignal;
  readonly gauges: Gauges;
  readonly network: Network;
  readonly allowed: AllowedTargets;
  readonly now: () => number;
  /** A line of the probe's own log, for `debug=true`. */
  readonly log: (message: string, facts?: { readonly [name: string]: unknown }) => void;
};

/** One probe of a module; false = it failed. Rejects with TargetRefused, or with a fault of this program. */
export type Prober<Settings> = (settings: Settings, run: ProbeRun) => Promise<boolean>;
