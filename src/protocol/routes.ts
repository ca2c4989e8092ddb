import Type, { type Static, type TSchema } from 'typebox';
import { KeepingAnswer, KeepingOffer, KeepingRequest } from './assignments.ts';
import { agentCalls, protocolLimits, protocolMinor } from './agent-calls.ts';
import { Nullable, StringEnum } from './schema.ts';

/**
 * The agent protocol, `/agent/v1`. The agent's client and the service's routes are both built from this table. Both
 * sides ignore unknown fields, so that agents and services of different versions work together.
 */

export { protocolLimits, protocolMinor };

const Uuid = Type.String({ maxLength: 64 });
const Slots = Type.Integer({ minimum: 0, maximum: 10_000 });

export const HelloRequest = Type.Object({
  /** Generated at each start of an agent. */
  instanceId: Uuid,
  version: Type.String({ maxLength: 64 }),
  protocolMinor: Type.Integer({ minimum: 0 }),
  host: Type.Object({
    hostname: Type.String({ maxLength: 255 }),
    platform: Type.String({ maxLength: 64 }),
    arch: Type.String({ maxLength: 64 }),
    nodeVersion: Type.String({ maxLength: 64 }),
    cores: Type.Integer({ minimum: 1 }),
    memoryBytes: Type.Integer({ minimum: 0 }),
  }),
  /** Types that this agent runs; types that the service does not know are ignored. */
  checkTypes: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }),
  runtimes: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }),
  /** Suite engines of the agent, such as `node 22.23.3`. */
  engines: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
  /** Slots of each lane. */
  lanes: Type.Partial(Type.Object({ uptime: Slots, browser: Slots, suite: Slots })),
  /** The agent can hold checks; absent = it cannot. */
  keeping: Type.Optional(KeepingOffer),
});
export const HelloResponse = Type.Object({
  agentId: Uuid,
  location: Type.Object({
    id: Uuid,
    name: Type.String(),
    slugName: Type.String(),
    /** Networks that customer code may reach; absent or null = every network that is not special. */
    allowedNetworks: Type.Optional(Type.Union([Type.Null(), Type.Array(Type.String())])),
  }),
  leaseSeconds: Type.Number(),
  renewSeconds: Type.Number(),
  limits: Type.Object({
    resultBytes: Type.Integer(),
    batchBytes: Type.Integer(),
    batchItems: Type.Integer(),
    artifactBytes: Type.Integer(),
  }),
  protocolMinor: Type.Integer(),
  /** The service knows claims with `keeping`. Agents of minor 7 and 8 make none otherwise, also after an upgrade. */
  keepsChecks: Type.Optional(Type.Boolean()),
  /** The service's clock, ISO; the agent computes its own clock skew from it. */
  time: Type.String(),
});

/**
 * The agent's own condition, in claims and renewals. The service validates it separately and ignores a malformed one, because
 * jobs and leases are more important.
 */
export const AgentCondition = Type.Object({
  /** The raised guards. */
  guards: Type.Array(
    Type.Object({
      name: Type.String({ maxLength: 64 }),
      /** The reason and the remedy, scrubbed. */
      message: Type.String({ maxLength: protocolLimits.guardChars + 1 }),
      /** The agent takes no jobs while it is raised. */
      stopsJobs: Type.Boolean(),
    }),
    { maxItems: protocolLimits.guards },
  ),
  /** Results that the service has not acknowledged. `oldestSeconds`: how long the oldest one waits. */
  outbox: Type.Object({
    results: Type.Integer({ minimum: 0 }),
    bytes: Type.Number({ minimum: 0 }),
    oldestSeconds: Type.Number({ minimum: 0 }),
  }),
});
export type AgentCondition = Static<typeof AgentCondition>;

export const ClaimRequest = Type.Object({
  agentId: Uuid,
  free: Type.Partial(Type.Object({ uptime: Slots, browser: Slots, suite: Slots })),
  waitSeconds: Type.Number({ minimum: 0, maximum: protocolLimits.claimWaitSeconds }),
  /** An AgentCondition. */
  condition: Type.Optional(Type.Unknown()),
  /** The claim is for the checks that the agent holds, not for jobs. Its answer always has `keeping`. */
  keeping: Type.Optional(KeepingRequest),
});
/**
 * Jobs are not validated here, so that one malformed job does not affect the others. The agent parses each one
 * separately.
 */
export const ClaimResponse = Type.Object({
  jobs: Type.Array(Type.Unknown()),
  keeping: Type.Optional(KeepingAnswer),
});

export const RenewRequest = Type.Object({
  agentId: Uuid,
  leases: Type.Array(
    Type.Object({
      jobId: Uuid,
      leaseToken: Uuid,
      stage: Type.Optional(Type.String({ maxLength: 64 })),
      /** Scrubbed lines of the run's log since the last renewal; only suites send any. */
      log: Type.Optional(
        Type.Array(Type.String({ maxLength: protocolLimits.logLineChars }), {
          maxItems: protocolLimits.logLines,
        }),
      ),
    }),
    { maxItems: 10_000 },
  ),
  /** An AgentCondition. */
  condition: Type.Optional(Type.Unknown()),
});
export const RenewResponse = Type.Object({
  /** Job ids. */
  renewed: Type.Array(Uuid),
  lost: Type.Array(Uuid),
  cancel: Type.Array(Uuid),
  leaseExpiresAt: Type.String(),
});

export const ResultsRequest = Type.Object({
  agentId: Uuid,
  results: Type.Array(Type.Unknown(), { minItems: 1, maxItems: protocolLimits.batchItems }),
});
export const ResultsResponse = Type.Object({
  /** One item per result, in order. */
  items: Type.Array(
    Type.Object({
      jobId: Type.String(),
      attempt: Type.Integer(),
      outcome: StringEnum(['stored', 'duplicate', 'superseded', 'rejected']),
      reason: Type.Optional(Type.String()),
    }),
  ),
});

export const ReleaseRequest = Type.Object({
  leaseToken: Uuid,
  /** Short reason: draining, retry-elsewhere, type-unavailable… */
  reason: Type.String({ maxLength: 256 }),
  /** The attempt that the next agent starts with; absent = the one that was claimed. */
  nextAttempt: Type.Optional(Type.Integer({ minimum: 1 })),
  notBefore: Type.Optional(Type.String({ maxLength: 40 })),
  otherLocation: Type.Optional(Type.Boolean()),
  /** Start of attempt 1, ISO; absent if none has started. */
  firstAttemptAt: Type.Optional(Nullable(Type.String({ maxLength: 40 }))),
});
export const ReleaseResponse = Type.Object({ outcome: StringEnum(['released', 'lost']) });

export const EventsRequest = Type.Object({
  agentId: Uuid,
  events: Type.Array(
    Type.Object({
      time: Type.String({ maxLength: 40 }),
      message: Type.String({ maxLength: 4096 }),
      stack: Type.Optional(Type.String({ maxLength: 16_384 })),
      version: Type.String({ maxLength: 64 }),
      platform: Type.String({ maxLength: 128 }),
      runtime: Type.String({ maxLength: 64 }),
    }),
    { minItems: 1, maxItems: 100 },
  ),
});
export const EventsResponse = Type.Object({ accepted: Type.Integer() });

/** Files of a result that will not be sent after all. */
export const ArtifactStatesRequest = Type.Object({
  agentId: Uuid,
  artifacts: Type.Array(
    Type.Object({
      jobId: Uuid,
      attempt: Type.Integer({ minimum: 1, maximum: 100 }),
      leaseToken: Uuid,
      name: Type.String({ pattern: '^[A-Za-z0-9._-]{1,200}$' }),
      type: Type.String({ maxLength: 64 }),
      state: StringEnum(['refused', 'lost']),
    }),
    { minItems: 1, maxItems: protocolLimits.artifactStates },
  ),
});
export const ArtifactStatesResponse = Type.Object({ accepted: Type.Integer() });

/** Answer to a PUT of an artifact: how much of it the service has. */
export type ArtifactAnswer = { state: 'stored' | 'pending'; size: number };

type Route = { method: 'POST'; path: string; request: TSchema; response: TSchema };

export const agentRoutes = {
  hello: { ...agentCalls.hello, request: HelloRequest, response: HelloResponse },
  claim: { ...agentCalls.claim, request: ClaimRequest, response: ClaimResponse },
  renew: { ...agentCalls.renew, request: RenewRequest, response: RenewResponse },
  results: { ...agentCalls.results, request: ResultsRequest, response: ResultsResponse },
  release: { ...agentCalls.release, request: ReleaseRequest, response: ReleaseResponse },
  events: { ...agentCalls.events, request: EventsRequest, response: EventsResponse },
  artifactStates: {
    ...agentCalls.artifactStates,
    request: ArtifactStatesRequest,
    response: ArtifactStatesResponse,
  },
} as const satisfies Record<string, Route>;

export type AgentRoute = keyof typeof agentRoutes;
export type RequestOf<R extends AgentRoute> = Static<(typeof agentRoutes)[R]['request']>;
export type ResponseOf<R extends AgentRoute> = Static<(typeof agentRoutes)[R]['response']>;
