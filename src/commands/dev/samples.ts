import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { ApiClient } from './api.ts';
import { sampleTag, type SampleCheck } from './sample-checks.ts';

/** Values that may differ between starts: the targets' ports and everything that contains them. */
const renewed = ['request', 'script', 'codeBundlePath', 'environmentVariables', 'privateLocations'];

export type KnownCheck = { id: string; name: string };
/** `isNew`: it was created just now. */
export type SyncedCheck = KnownCheck & { isNew: boolean };

/** A busy machine may be too slow for a request while everything starts at once. */
const tries = 3;
const pauseMs = 1000;

/**
 * Creates the sample checks that are missing and updates the target addresses of the others. All other changes that a
 * user made are kept. Returns all of them. Requests without an answer are repeated unless `stopped` fires.
 */
export async function syncSamples(
  api: ApiClient,
  samples: readonly SampleCheck[],
  stopped: AbortSignal,
): Promise<SyncedCheck[]> {
  const created = new Set<string>();
  for (let left = tries - 1; ; left--) {
    try {
      return await syncOnce(api, samples, created);
    } catch (error: unknown) {
      if (left === 0 || stopped.aborted || !(error instanceof ServiceError) || !error.retryable) throw error;
      await pause(pauseMs, undefined, { signal: stopped });
    }
  }
}

/** `created`: the names of checks that were missing. A request without an answer may have created one. */
async function syncOnce(
  api: ApiClient,
  samples: readonly SampleCheck[],
  created: Set<string>,
): Promise<SyncedCheck[]> {
  // The answer of our own API; no other check has this tag.
  const existing = (await api.get(`/v1/checks?limit=100&tag=${sampleTag}`)) as (KnownCheck & {
    checkType: string;
  })[];
  const result: SyncedCheck[] = [];
  for (const { type, name, body } of samples) {
    const path = `/v1/checks/${type.toLowerCase().replace('_', '')}`;
    const known = existing.find((check) => check.name === name && check.checkType === type);
    if (known === undefined) created.add(name);
    const check = (
      known === undefined
        ? await api.post(path, body)
        : await api.put(
            `${path}/${known.id}`,
            Object.fromEntries(renewed.filter((field) => field in body).map((field) => [field, body[field]])),
          )
    ) as KnownCheck; // as above
    result.push({ id: check.id, name: check.name, isNew: created.has(name) });
  }
  return result;
}

/** Same as `syncSamples`, and runs new checks at once: their first scheduled run may be a minute or ten away. */
export async function startSamples(
  api: ApiClient,
  samples: readonly SampleCheck[],
  stopped: AbortSignal,
): Promise<SyncedCheck[]> {
  const made = await syncSamples(api, samples, stopped);
  const checkId = made.filter(({ isNew }) => isNew).map(({ id }) => id);
  if (checkId.length > 0) await api.post('/v2/check-sessions/trigger', { target: { checkId } });
  return made;
}
