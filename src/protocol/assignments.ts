import Type, { type Static } from 'typebox';

/**
 * Checks that an agent holds: it keeps their schedule itself and reports each run. One claim without slots renews all of
 * them and brings the changes.
 */

const Id = Type.String({ maxLength: 64 });
/** Milliseconds since the epoch, by the service's clock. */
const Moment = Type.Integer({ minimum: 0 });

/** In hello: the agent can hold checks. */
export const KeepingOffer = Type.Object({
  /** Earlier processes on the same data folder, by their agent ids, or by their instance ids: their checks are this one's. */
  continues: Type.Optional(Type.Array(Id, { maxItems: 16 })),
});

/** In a claim: renews the lease on all checks that the agent holds. */
export const KeepingRequest = Type.Object({
  /** How far the agent has read the changes; null = it has none yet, and gets everything. */
  cursor: Type.Union([Type.Null(), Type.String({ maxLength: 64 })]),
  /** Every run that was due up to here is reported and acknowledged; null = nothing is known yet. */
  reportedTo: Type.Union([Type.Null(), Moment]),
  /** The agent's protocol minor. Agents of minor 7 leave it out. */
  minor: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
  /** The tag of the account's variables that the agent has; null = it has none yet. Agents of minor 7 leave it out. */
  variables: Type.Optional(Type.Union([Type.Null(), Type.String({ maxLength: 64 })])),
  /** The agent stops: others may have its checks at once. */
  isLeaving: Type.Optional(Type.Boolean()),
});

/** The variables that all checks of the account use. Those in the job of a check take precedence. */
export const SharedVariables = Type.Object({
  tag: Type.String({ minLength: 1, maxLength: 64 }),
  list: Type.Array(Type.Unknown(), { maxItems: 1000 }),
});
export type SharedVariables = Static<typeof SharedVariables>;

/** In the answer to that claim. */
export const KeepingAnswer = Type.Object({
  /** The service no longer lets agents hold checks. */
  isOff: Type.Optional(Type.Boolean()),
  /** The agent stops while the service is away, instead of continuing. */
  stopsInOutages: Type.Optional(Type.Boolean()),
  /** The service sends the account's variables apart from the checks: here, whenever the agent has others. */
  sharesVariables: Type.Optional(Type.Boolean()),
  variables: Type.Optional(SharedVariables),
  epoch: Type.Integer(),
  cursor: Type.Union([Type.Null(), Type.String({ maxLength: 64 })]),
  /** The answer is the first of a complete list: the agent forgets what the list does not name. */
  isFirst: Type.Boolean(),
  /** There are more changes; the agent asks again at once. */
  hasMore: Type.Boolean(),
  /** Assignments; each is validated by itself. */
  checks: Type.Array(Type.Unknown()),
  /** Ids of checks that the agent holds no longer. */
  dropped: Type.Array(Id),
});
export type KeepingAnswer = Static<typeof KeepingAnswer>;

/** One check that an agent holds. */
export const Assignment = Type.Object({
  checkId: Id,
  /** The agent that holds it. Its results carry this id as their lease token. */
  holder: Id,
  locationId: Id,
  epoch: Type.Integer(),
  /** The first run that the holder owes. */
  from: Moment,
  intervalSeconds: Type.Number({ exclusiveMinimum: 0 }),
  offsetSeconds: Type.Number({ minimum: 0 }),
  /** Times from (inclusive) to (exclusive) in which maintenance pauses the check. */
  pauses: Type.Array(Type.Tuple([Moment, Moment])),
  /** The job is also without the variables of the account. */
  sharesVariables: Type.Optional(Type.Boolean()),
  /** A job without what only a run has: ids, lease and times. */
  job: Type.Record(Type.String(), Type.Unknown()),
});
export type Assignment = Static<typeof Assignment>;
