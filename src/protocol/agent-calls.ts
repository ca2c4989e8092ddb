/**
 * What an agent must know of the protocol before it has anything to validate: an idle agent never loads the schema
 * library. `routes.ts` builds the whole table, with its schemas, upon these rows.
 */

/** Version of the protocol within /agent/v1; grows when an optional field or call is added. */
export const protocolMinor = 1;

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
} as const;

/** Method and path of each call; `:jobId` stands for a parameter. */
export const agentCalls = {
  hello: { method: 'POST', path: '/agent/v1/hello' },
  claim: { method: 'POST', path: '/agent/v1/jobs/claim' },
  renew: { method: 'POST', path: '/agent/v1/jobs/renew' },
  results: { method: 'POST', path: '/agent/v1/results' },
  release: { method: 'POST', path: '/agent/v1/jobs/:jobId/release' },
  events: { method: 'POST', path: '/agent/v1/events' },
} as const satisfies Record<string, { method: 'POST'; path: string }>;
