import type { APIResponse } from 'playwright';

/**
 * Marks the check that runs as degraded. It counts when nothing failed hard; soft assertions that failed are then forgiven.
 * Does nothing outside of a run.
 */
export function markCheckAsDegraded(reason?: string): void;

/**
 * Milliseconds that a call of the `request` fixture took, from its start until the whole response was there. Throws TypeError
 * for anything that is not such a response.
 */
export function getAPIResponseTime(response: APIResponse): number;

/** Has a value that the script read or made replaced by asterisks in everything that leaves the run; returns it unchanged. */
export function secret(value: string): string;
