import Type, { type Static } from 'typebox';
import { maskKey, newLocationKey, hashToken } from '../engine/keys.ts';
import { uuidv7 } from '../engine/ids.ts';
import { insertLocationKey, keysOfLocations, type LocationKeyRow } from './statements.ts';
import type { Db } from '../db/database.ts';
import { conflict } from '../http/errors.ts';
import { open } from '../http/fields/strict-schema.ts';

/** Keys with which agents join a location, private or data-centre. */

/** Two, for rotation: add the second key, restart the agents with it, delete the first key. */
const maxKeys = 2;

export const LocationKey = Type.Object({
  id: Type.String({ format: 'uuid' }),
  maskedKey: Type.String({ examples: ['...6a1e'] }),
  created_at: Type.String({ format: 'date-time' }),
});
export type LocationKey = Static<typeof LocationKey>;

/** The only answer that contains the key itself. */
export const NewLocationKey = open(
  Type.Object(
    {
      ...LocationKey.properties,
      rawKey: Type.String({ description: "Shown this once: an agent's API_KEY." }),
    },
    { $id: 'NewLocationKey', title: 'NewLocationKey' },
  ),
);

export const presentKey = (row: LocationKeyRow): LocationKey => ({
  id: row.id,
  maskedKey: row.maskedKey,
  created_at: row.createdAt.toISOString(),
});

/** Adds a key to a location whose row the transaction has locked. Only the key's hash is stored. */
export async function addLocationKey(
  tx: Db,
  { locationId, now }: { locationId: string; now: number },
): Promise<Static<typeof NewLocationKey>> {
  const keys = await keysOfLocations(tx, [locationId]);
  if (keys.length >= maxKeys) {
    throw conflict(`A location has at most ${maxKeys} keys: delete one first.`, {
      keys: [
        `the location already has ${maxKeys} keys (${keys.map(({ maskedKey }) => maskedKey).join(', ')})`,
      ],
    });
  }
  const rawKey = newLocationKey();
  const key = { id: uuidv7(now), maskedKey: maskKey(rawKey), createdAt: new Date(now) };
  await insertLocationKey(tx, {
    id: key.id,
    locationId,
    keyHash: hashToken(rawKey),
    maskedKey: key.maskedKey,
    now: key.createdAt,
  });
  return { id: key.id, rawKey, maskedKey: key.maskedKey, created_at: key.createdAt.toISOString() };
}
