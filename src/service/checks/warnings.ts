import type { CheckType } from '../../protocol/check-types.ts';
import type { Queryable } from '../db/database.ts';
import { connectedMs } from '../locations/agents.ts';
import { servedTypes } from '../locations/served-types.ts';
import type { CheckWarning } from './fields/fields.ts';
import { serviceCheckTypes } from './types/table.ts';

/** Warnings in the answer to a create or a change: what was accepted, but does not work yet. */

/** Where a check or a group runs. */
export type Places = { locations: readonly string[]; privateLocations: readonly string[] };

/** Finds the check types that connected agents run at these places, by slug. */
export async function servedPlaces(
  db: Queryable,
  { accountId, places, now }: { accountId: string; places: readonly Places[]; now: Date },
): Promise<Map<string, string[]>> {
  const slugs = [...new Set(places.flatMap((one) => [...one.locations, ...one.privateLocations]))];
  return servedTypes(db, { accountId, slugs, connectedSince: new Date(now.getTime() - connectedMs) });
}

/** The places where no connected agent runs a type. `checkType` null = any type, of a check group. */
export function unservedPlaces(
  served: ReadonlyMap<string, readonly string[]>,
  checkType: CheckType | null,
  { locations, privateLocations }: Places,
): CheckWarning[] {
  if (checkType !== null && !serviceCheckTypes[checkType].hasLocations) return [];
  return Object.entries({ locations, privateLocations }).flatMap(([field, places]) =>
    places.flatMap((slug, index) => {
      const types = served.get(slug);
      if (types !== undefined && (checkType === null || types.includes(checkType))) return [];
      const agent = types === undefined ? 'No agent serves' : `No agent that runs ${checkType} checks serves`;
      const message = `${agent} ${slug}: runs there are missed until one connects.`;
      return [{ field: `${field}.${index}`, message }];
    }),
  );
}

/** The warnings of a written check or group. Absent = there is none. */
export async function warningsOf(
  db: Queryable,
  checkType: CheckType | null,
  written: Places & { accountId: string; now: Date },
): Promise<{ warnings?: CheckWarning[] }> {
  const { accountId, now, locations, privateLocations } = written;
  const places = { locations, privateLocations };
  const warnings = unservedPlaces(
    await servedPlaces(db, { accountId, places: [places], now }),
    checkType,
    places,
  );
  return warnings.length === 0 ? {} : { warnings };
}
