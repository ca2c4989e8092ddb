/**
 * What an agent must know of the protocol before it has anything to validate: an idle agent never loads the schema
 * library. `routes.ts` builds the whole table, with its schemas, upon these rows.
 */

/** Version of the protocol within /agent/v1; grows when an optional field or call is added. */
export const protocolMinor = 3;

export const protocolLimits = {
  /** Longest wait of one claim. */
  claimWaitSeconds: 25,
  leaseSeconds: 30,
  renewSeconds: 5,
  /** Serialised size of one result, and of one batch of results, in bytes. */
  resultBytes: 2 * 1024 * 1024,
  batchBytes: 16 * 1024 * 1024,
  batchItems: 500,
  /** Jobs in one claim's answer. */
  claimJobs: 500,
  /** One artifact, as it is sent; files of one attempt, and their bytes. */
  artifactBytes: 150 * 1024 * 1024,
  artifactsOfAttempt: 100,
  attemptArtifactBytes: 2 * 1024 * 1024 * 1024,
  /** Lines of a run's log in one renewal, and characters of each. */
  logLines: 200,
  logLineChars: 8192,
  /** What became of artifacts, in one call. */
  artifactStates: 200,
} as const;

/** Method and path of each call; `:jobId` stands for a parameter. */
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
 * PUT brings a file of an attempt or the rest of one, HEAD tells how much of it is there. The only calls that are not JSON;
 * `docs/agent-protocol.md` has their rules.
 */
export const artifactPath = '/agent/v1/jobs/:jobId/attempts/:attempt/artifacts/:name';

/** GET brings the code bundle of a suite, or with `range` a part of it; the answer has `repr-digest`. */
export const bundlePath = '/agent/v1/bundles/:key';

/** Headers of the artifact calls beside content-type, content-length and content-range. */
export const artifactHeaders = {
  leaseToken: 'lease-token',
  type: 'artifact-type',
  /** RFC 9530, of the whole file: `sha-256=:<base64>:`. */
  digest: 'repr-digest',
  /** Of the answer to HEAD: bytes that are there, and stored, pending, refused or lost. */
  length: 'artifact-length',
  state: 'artifact-state',
} as const;

export const artifactNamePattern = /^[A-Za-z0-9._-]{1,200}$/;
