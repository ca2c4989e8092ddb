import type { ApiClient } from './api.ts';
import { sampleTag, type SampleCheck } from './sample-checks.ts';

/** Values that may differ between starts: the targets' ports and everything that contains them. */
const renewed = ['request', 'script', 'codeBundlePath', 'environmentVariables', 'privateLocations'];

export type KnownCheck = { id: string; name: string };
/** `isNew`: it was created just now. */
export type SyncedCheck = KnownCheck & { isNew: boolean };

/**
 * Creates the sample checks that are missing and updates the target addresses of the others. All other changes that a
 * user made are kept. Returns all of them.
 */
export async function syncSamples(api: ApiClient, samples: readonly SampleCheck[]): Promise<SyncedCheck[]> {
  // The answer of our own API; no other check has this tag.
  const existing = (await api.get(`/v1/checks?limit=100&tag=${sampleTag}`)) as (KnownCheck & {
    checkType: string;
  })[];
  const result: SyncedCheck[] = [];
  for (const { type, name, body } of samples) {
    const path = `/v1/checks/${type.toLowerCase().replace('_', '')}`;
    const known = existing.find((check) => check.name === name && check.checkType === type);
    const check = (
      known === undefined
        ? await api.post(path, body)
        : await api.put(
            `${path}/${known.id}`,
            Object.fromEntries(renewed.filter((field) => field in body).map((field) => [field, body[field]])),
          )
    ) as KnownCheck; // as above
    result.push({ id: check.id, name: check.name, isNew: known === undefined });
  }
  return result;
}

/** Same as `syncSamples`, and runs new checks at once: their first scheduled run may be a minute or ten away. */
export async function startSamples(api: ApiClient, samples: readonly SampleCheck[]): Promise<SyncedCheck[]> {
  const made = await syncSamples(api, samples);
  const checkId = made.filter(({ isNew }) => isNew).map(({ id }) => id);
  if (checkId.length > 0) await api.post('/v2/check-sessions/trigger', { target: { checkId } });
  return made;
}
