/**
 * The part of the protocol that an agent needs before it validates anything, because an idle agent never loads the
 * schema library. `routes.ts` builds the complete table, with schemas, from these rows.
 */

/** Version of the protocol within /agent/v1; increases when an optional field or call is added. */
export const protocolMinor = 9;
/** The first version with claims for checks that an agent holds. */
export const keepingMinor = 7;

export const protocolLimits = {
  /** Maximum waiting time of one claim. */
  claimWaitSeconds: 25,
  leaseSeconds: 30,
  renewSeconds: 5,
  /** Serialised size of one result, and of one batch of results, in bytes. */
  resultBytes: 2 * 1024 * 1024,
  batchBytes: 16 * 1024 * 1024,
  batchItems: 500,
  /** Maximum number of jobs in the answer to one claim. */
  claimJobs: 500,
  /** Maximum size of one artifact as it is sent; maximum number of files of one attempt, and of their bytes. */
  artifactBytes: 150 * 1024 * 1024,
  artifactsOfAttempt: 100,
  attemptArtifactBytes: 2 * 1024 * 1024 * 1024,
  /** Maximum number of log lines of a run in one renewal, and of characters in each. */
  logLines: 200,
  logLineChars: 8192,
  /** Maximum number of guards in a condition, and of characters in the words of each. */
  guards: 32,
  guardChars: 500,
  /**
   * Maximum waiting time of a claim with which an agent renews the checks that it holds. Its lease on them is that of
   * jobs, and starts with each of these claims.
   */
  keepingWaitSeconds: 10,
  /** Maximum number of checks in one answer to it. */
  keptChecks: 500,
  /** Of one report of missed runs, which the service compares with results. */
  missedMoments: 5_000,
  /** Maximum number of artifact states in one call. */
  artifactStates: 200,
} as const;

/** In answers: the service's clock (ISO 8601 with milliseconds), read as the answer is sent. */
export const serviceTimeHeader = 'service-time';

/** Method and path of each call; `:jobId` is a path parameter. */
export const agentCalls = {
  hello: { method: 'POST', path: '/agent/v1/hello' },
  claim: { method: 'POST', path: '/agent/v1/jobs/claim' },
  renew: { method: 'POST', path: '/agent/v1/jobs/renew' },
  results: { method: 'POST', path: '/agent/v1/results' },
  release: { method: 'POST', path: '/agent/v1/jobs/:jobId/release' },
  events: { method: 'POST', path: '/agent/v1/events' },
  artifactStates: { method: 'POST', path: '/agent/v1/artifacts/states' },
} as const satisfies Record<string, { method: 'POST'; path: string }>;

/**
 * PUT uploads an artifact or the rest of one; HEAD returns how much of it the service has. These are the only calls
 * that are not JSON; `docs/agent-protocol.md` has their rules.
 */
export const artifactPath = '/agent/v1/jobs/:jobId/attempts/:attempt/artifacts/:name';

/** GET downloads the code bundle of a suite, or with `range` a part of it; the answer has `repr-digest`. */
export const bundlePath = '/agent/v1/bundles/:key';

/** Headers of the artifact calls besides content-type, content-length and content-range. */
export const artifactHeaders = {
  leaseToken: 'lease-token',
  type: 'artifact-type',
  /** RFC 9530, of the complete file: `sha-256=:<base64>:`. */
  digest: 'repr-digest',
  /**
   * In the answer to HEAD: the number of bytes that the service has, and the state: stored, pending, refused or lost.
   */
  length: 'artifact-length',
  state: 'artifact-state',
} as const;

export const artifactNamePattern = /^[A-Za-z0-9._-]{1,200}$/;
