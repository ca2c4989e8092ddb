import Type, { type Static } from 'typebox';
import { AssertionResult } from './assertions.ts';
import { Reason } from './reasons.ts';
import { Nullable, StringEnum } from './schema.ts';

export const resultStatuses = ['passed', 'degraded', 'failed', 'errored', 'cancelled', 'missed'] as const;
export type ResultStatus = (typeof resultStatuses)[number];

const Milliseconds = Type.Number({ minimum: 0 });

/** Phases of an attempt in milliseconds. Absent = the phase did not take place. The parts add up to `total`. */
export const Timings = Type.Object({
  dns: Type.Optional(Milliseconds),
  connect: Type.Optional(Milliseconds),
  /** From the connection to the proxy until its answer to CONNECT. */
  tunnel: Type.Optional(Milliseconds),
  tls: Type.Optional(Milliseconds),
  /** From the request's first byte sent to the response's first byte. */
  firstByte: Type.Optional(Milliseconds),
  download: Type.Optional(Milliseconds),
  /** All time that no other phase accounts for. */
  remainder: Type.Optional(Milliseconds),
  total: Milliseconds,
});
export type Timings = Static<typeof Timings>;

/** The kind of an artifact. */
export const artifactTypes = ['log', 'trace', 'video', 'screenshot', 'pcap', 'report', 'file'] as const;
export type ArtifactType = (typeof artifactTypes)[number];

export const Artifact = Type.Object({
  name: Type.String({ pattern: '^[A-Za-z0-9._-]{1,200}$' }),
  type: Type.String({ maxLength: 64 }),
  size: Type.Integer({ minimum: 0 }),
  state: StringEnum(['stored', 'pending', 'refused', 'lost']),
  url: Nullable(Type.String()),
});
export type Artifact = Static<typeof Artifact>;

/** One line of a run's own log. `time` is milliseconds since the epoch. */
export const LogEntry = Type.Object({
  time: Type.Number(),
  level: StringEnum(['debug', 'info', 'warn', 'error']),
  msg: Type.String(),
});
export type LogEntry = Static<typeof LogEntry>;

/** One attempt of one job, as the agent reports it. */
export const Result = Type.Object({
  jobId: Type.String({ maxLength: 64 }),
  leaseToken: Type.String({ maxLength: 64 }),
  /** Number of this attempt; counts from 1. */
  attempt: Type.Integer({ minimum: 1 }),
  sequenceId: Type.String({ maxLength: 64 }),
  checkId: Type.String({ maxLength: 64 }),
  checkType: Type.String({ maxLength: 64 }),
  resultType: StringEnum(['FINAL', 'ATTEMPT']),
  status: StringEnum(resultStatuses),
  hasFailures: Type.Boolean(),
  hasErrors: Type.Boolean(),
  isDegraded: Type.Boolean(),
  overMaxResponseTime: Type.Boolean(),
  isCancelled: Type.Boolean(),
  /** Milliseconds; ICMP: the average latency. */
  responseTime: Type.Number({ minimum: 0 }),
  startedAt: Type.String({ maxLength: 40 }),
  stoppedAt: Type.String({ maxLength: 40 }),
  runLocation: Type.String({ maxLength: 64 }),
  /** Retries so far: attempt - 1. */
  attempts: Type.Integer({ minimum: 0 }),
  reason: Nullable(Reason),
  assertions: Type.Array(AssertionResult),
  timings: Nullable(Timings),
  details: Type.Record(Type.String(), Type.Unknown()),
  artifacts: Type.Array(Artifact),
  log: Type.Array(LogEntry),
  agentVersion: Type.Optional(Type.String({ maxLength: 64 })),
  /** When the run was due; only of checks that an agent holds. The lease token is then the holder's id. */
  dueAt: Type.Optional(Type.String({ maxLength: 40 })),
});
export type Result = Omit<Static<typeof Result>, 'reason'> & { reason: Reason | null };
