/** What the oracle knows after a scenario, in milliseconds since the epoch unless a name says otherwise. */

/** The types of checks that cost little. */
export type CheckKind = 'url' | 'api' | 'tcp' | 'dns' | 'icmp' | 'ssl' | 'grpc' | 'traceroute' | 'heartbeat';

export type ChaosCheck = {
  id: string;
  kind: CheckKind;
  /** Also in what its probes send, so that a target knows whose probe it sees. */
  name: string;
  intervalMs: number;
  /** Of the due moments: multiples of the interval plus this. */
  offsetMs: number;
  /** By which it reaches its target. */
  address?: string;
  /** Times at which its target answers wrongly, from and to; sorted, apart from each other. */
  bad: readonly { from: number; to: number }[];
  /** Of a check that is edited: in the order in which its forms were made. */
  edits?: readonly Edit[];
};

/** A check was given a new form, which its probes name. The first form is 0. */
export type Edit = {
  form: number;
  /** When the service answered that the check has it; null = no such answer came, so that nobody knows. */
  at: number | null;
};

/** A probe as its target saw it. A trace is several: one connection for each query, and for hops beyond the target. */
export type Probe = {
  check: string;
  at: number;
  /** Of a DNS query: the port that it came from and its id, which are the same when it is sent again. */
  query?: string;
  /** Of a check that is edited: the form in which it was made. */
  form?: number;
};

/** A job as the queue took it, or as the agent made it that holds the check. */
export type Job = { id: string; checkId: string; dueAt: number };

/**
 * A job that was handed out to an agent, or a run that an agent may have made because it holds or held the check: with the
 * agent as its token. A lease that was taken back before the answer was sent is none.
 */
export type Delivery = { jobId: string; checkId: string; token: string; agentId: string; at: number };

/** A result that the service had already, as its agent sent it: with the times of this one. */
export type RemadeRun = { checkId: string; from: number; to: number };

/** Names a delivery among those of all jobs. */
export const deliveryKey = (jobId: string, token: string): string => `${jobId} ${token}`;

/** A result as the service stored it. */
export type StoredResult = {
  id: string;
  checkId: string;
  jobId: string | null;
  /** Of the delivery that it came from. */
  token: string | null;
  resultType: 'FINAL' | 'ATTEMPT';
  status: string;
  startedAt: number;
  stoppedAt: number;
  storedAt: number;
  /** Of a held check, and stored as uneventful: nothing follows it. */
  isQuiet: boolean;
  reason: { code: string; owner: string; message: string } | null;
  /** When the same attempt was made another time, because the agent's own delay had spoiled one of them; null = it was made once. */
  other: { from: number; to: number } | null;
  /** The name of the ping that it is the result of; null = it is of no ping. */
  ping: string | null;
  /** Of a missed record. */
  missed: { count: number; from: number; to: number; reason: string } | null;
};

/** A notification as the channel's receiver got it. */
export type Notification = {
  at: number;
  checkId: string;
  type: string;
  /** The same in each try to deliver one notification. */
  id: string;
  /** False where the receiver refused it, as a fault. */
  accepted: boolean;
};

/** A notification as the service logged it. */
export type LoggedNotification = {
  checkId: string;
  type: string;
  createdAt: number;
  /** Dropped, because a newer alert of the same check replaced it after its try had failed. */
  isSuperseded: boolean;
  /** Held back, because its channel had had as many as it may have in an hour. */
  isLimited: boolean;
};

export type Facts = {
  checks: readonly ChaosCheck[];
  /** Checks that the oracle pings, and its pings that were answered with 200. */
  heartbeats: readonly ChaosCheck[];
  pings: readonly (Probe & { name: string })[];
  /** Due moments from here to there are judged. */
  from: number;
  to: number;
  probes: readonly Probe[];
  jobs: readonly Job[];
  deliveries: readonly Delivery[];
  /** Deliveries whose result the service answered as superseded, as deliveryKey names them. */
  superseded: ReadonlySet<string>;
  /** A process that continues a killed one may make its last runs again, in its name. */
  remade: readonly RemadeRun[];
  /** Agents that were killed, and when. */
  deaths: ReadonlyMap<string, number>;
  /** JOB AGENT: runs that an agent gave up because it had lost the lease. */
  givenUp: ReadonlySet<string>;
  results: readonly StoredResult[];
  /** Alerts are judged up to here: the results and the notifications that were there before anything was read. */
  settledAt: number;
  notifications: readonly Notification[];
  /** In the order in which they were raised. */
  logged: readonly LoggedNotification[];
  /** The place of each result, by its id, in the order in which the service followed them. */
  followed: ReadonlyMap<string, number>;
  /** Jobs that are still leased long after the end. */
  stuckJobs: number;
};

/** What a fault excuses: no more than this is forgiven, and each thing that it excuses is counted. */
export type Excuses = {
  /** A due moment at this time may be missed. */
  missed?: (dueAt: number) => boolean;
  /** A run that was due at this time may end as errored (owner ours) with one of these codes. */
  errored?: { when: (dueAt: number) => boolean; codes: readonly string[] };
  /** A notification may come more than once: its sender was killed between sending and noting it. */
  repeated?: boolean;
  /** Notifications may be left out that the log calls superseded: their try had failed, and a newer one replaced them. */
  dropped?: boolean;
  /** What agents had not sent yet may be lost without their death: a run that was delivered explains its probe. */
  unreported?: boolean;
  /** Targets on the way of this time cannot be judged: their own fault was the scenario's. */
  unsure?: (at: number) => boolean;
  /** A probe of this time may have the form before an edit, because its agent could not reach the service. null = of an agent that nobody knows. */
  outdated?: (at: number, agentId: string | null) => boolean;
  /** Not an excuse: no run may begin later than this after it was due. */
  latestStartMs?: number;
};
