/** Locations as the API shows them. */

export type LocationKey = { readonly id: string; readonly maskedKey: string; readonly created_at: string };

export type Location = {
  readonly id: string;
  readonly name: string;
  readonly slugName: string;
  readonly icon: string;
  readonly proxyUrl: string | null;
  readonly allowedNetworks: readonly string[] | null;
  readonly stopsInOutages: boolean;
  readonly keys: readonly LocationKey[];
  readonly agentCount: number;
  readonly lastSeen: string | null;
  readonly minAgentVersion: string | null;
};

export type Agent = {
  readonly id: string;
  readonly hostname: string;
  readonly platform: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly version: string;
  readonly connected: boolean;
  readonly lastSeen: string;
  readonly since: string;
  readonly slots: { readonly [lane: string]: number };
  readonly checkTypes: readonly string[];
  readonly running: number;
  /** What it reports about itself; null: its version reports nothing. */
  readonly condition: Condition | null;
};

export type Condition = {
  readonly reportedAt: string;
  readonly guards: readonly {
    readonly name: string;
    readonly message: string;
    readonly stopsJobs: boolean;
  }[];
  readonly outbox: { readonly results: number; readonly bytes: number; readonly oldestSeconds: number };
};

type Queue = {
  readonly lane: string;
  readonly slots: number;
  readonly running: number;
  readonly queued: number;
  readonly oldestSeconds: number;
};

export type LocationLoad = {
  readonly agents: readonly Agent[];
  readonly queues: readonly Queue[];
  readonly missedRuns: number;
  readonly recommendation: {
    readonly moreSlots: number;
    readonly moreAgents: number;
    readonly message: string;
  } | null;
};

export const locationsPath = '/v1/private-locations';

/** How many jobs wait in all lanes, and how long the oldest one has waited. */
export function waiting(load: LocationLoad): { queued: number; oldestSeconds: number } {
  return {
    queued: load.queues.reduce((sum, { queued }) => sum + queued, 0),
    oldestSeconds: Math.max(0, ...load.queues.map(({ oldestSeconds }) => oldestSeconds)),
  };
}
