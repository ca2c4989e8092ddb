import type { Job } from '../../protocol/job.ts';
import { likelySecrets } from '../../secrets/likely-secrets.ts';
import type { Attempted } from './attempted.ts';
import { jobTypeOf } from '../job-types/table.ts';
import type { JobScrubber } from '../scrubbing/own-secrets.ts';

/** Maximum number of characters to search, because the search runs on the main thread. */
const maxText = 1024 * 1024;
const maxLine = 16 * 1024;

/**
 * Masks text that looks like a credential even if no variable declares it (DETECT_SECRETS): in the script, its files
 * and variables, and in the outcome and log of the attempt. Call it before anything of the attempt is scrubbed.
 */
export function maskCredentials(
  job: Job,
  { outcome, log }: Pick<Attempted, 'outcome' | 'log'>,
  scrubber: JobScrubber,
): void {
  let left = maxText;
  const search = (text: string): void => {
    const part = text.slice(0, left);
    left -= part.length;
    for (const { kind, value } of likelySecrets(part)) scrubber.add(kind, value);
  };
  for (const text of jobTypeOf(job).scriptTextsOf(job)) search(text);
  for (const { key, value } of job.environmentVariables) search(`${key}=${value}`);
  for (const { msg } of log) search(msg);
  // Search the values' own text: in JSON an escaped quote would end a password early.
  for (const text of textsIn(outcome.details, 0)) search(text);
}

/** Masks credential-like text in one line from now on, for lines that are sent while the run is in progress. */
export function maskCredentialsIn(line: string, scrubber: Pick<JobScrubber, 'add'>): void {
  for (const { kind, value } of likelySecrets(line.slice(0, maxLine))) scrubber.add(kind, value);
}

function* textsIn(value: unknown, depth: number): Generator<string> {
  if (typeof value === 'string') yield value;
  if (typeof value !== 'object' || value === null || depth > 12) return;
  for (const [key, inner] of Object.entries(value)) {
    // `{"password": "…"}` is an assignment, too.
    if (typeof inner === 'string' && !Array.isArray(value)) yield `${key}=${inner}`;
    else yield* textsIn(inner, depth + 1);
  }
}
