import type { CheckType } from '../../protocol/check-types.ts';
import type { Queryable } from '../db/database.ts';
import { connectedMs } from '../locations/agents.ts';
import { servedTypes } from '../locations/served-types.ts';
import type { CheckWarning } from './fields/fields.ts';
import type { CheckWrite } from './storage/statements.ts';
import { serviceCheckTypes } from './types/table.ts';

/** Warnings in the answer to a create or a change: what was accepted, but does not work yet. */

/** Finds the places of a written check where no connected agent runs its type. Absent = there is none. */
export async function warningsOf(
  db: Queryable,
  checkType: CheckType,
  { accountId, locations, privateLocations, now }: CheckWrite,
): Promise<{ warnings?: CheckWarning[] }> {
  if (!serviceCheckTypes[checkType].hasLocations) return {};
  const slugs = [...locations, ...privateLocations];
  const served = await servedTypes(db, {
    accountId,
    slugs,
    connectedSince: new Date(now.getTime() - connectedMs),
  });
  const warnings = Object.entries({ locations, privateLocations }).flatMap(([field, places]) =>
    places.flatMap((slug, index) => {
      const types = served.get(slug);
      if (types?.includes(checkType) === true) return [];
      const agent = types === undefined ? 'No agent serves' : `No agent that runs ${checkType} checks serves`;
      const message = `${agent} ${slug}: runs there are missed until one connects.`;
      return [{ field: `${field}.${index}`, message }];
    }),
  );
  return warnings.length === 0 ? {} : { warnings };
}
