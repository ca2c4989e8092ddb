import type { SharedVariables } from '../../protocol/assignments.ts';
import type { KeptRun } from './going-runs.ts';
import type { PackedCheck } from './packed.ts';

/** What a process keeps in its data folder for the next one. */

/** What changes with each run. */
export type KeptFacts = {
  /** The ids under which the agent held them. */
  holders: string[];
  reportedTo: number | null;
  /** When the agent last heard of the service, by the service's clock. */
  heardAt: number;
  /** They are stopped while the service is away. */
  stopsInOutages: boolean;
  /** This machine's clock minus the service's; null = it is not known, or the machine was another one. */
  skewMs: number | null;
  /** Runs that are in progress for some time, or were when an earlier process died. */
  runs: KeptRun[];
};

export type Kept = KeptFacts & {
  checks: PackedCheck[];
  /** Of the account, for checks whose jobs are without them. */
  variables: SharedVariables | null;
};

export type Adopted = Kept & {
  /**
   * The dead processes. The service may have given one of them checks whose answer to hello never came, or was not written
   * here, so that its id is not known.
   */
  instances: string[];
};
