import type { CheckRow } from './statements.ts';
import type { Queryable } from '../../db/database.ts';
import { checksWithGroups, placesOfGroup } from './effective-checks.ts';

/** A check as the page shows it, with its group's settings applied. */
export type CheckInShort = Pick<
  CheckRow,
  | 'id'
  | 'checkType'
  | 'name'
  | 'activated'
  | 'muted'
  | 'tags'
  | 'locations'
  | 'privateLocations'
  | 'frequency'
  | 'frequencyOffset'
>;

/** A page of checks, oldest first, without definitions and scripts, because web pages poll every few seconds. */
export async function checksInShort(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<CheckInShort[]> {
  return db.query<CheckInShort>(
    `select c.id, c.check_type as "checkType", c.name, c.activated and g.activated is not false as activated,
       c.muted or g.muted is true as muted, c.tags,
       case when ${placesOfGroup} then g.locations else c.locations end as locations,
       case when ${placesOfGroup} then g.private_locations else c.private_locations end as "privateLocations",
       c.frequency, c.frequency_offset as "frequencyOffset"
     from ${checksWithGroups} where c.account_id = $1 order by c.created_at, c.id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}
