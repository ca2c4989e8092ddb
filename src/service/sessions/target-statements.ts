import { runnableTypes } from '../../protocol/check-types.ts';
import type { Queryable } from '../db/database.ts';
import {
  checksWithGroups,
  effectiveRunParallel,
  effectiveRuntimeId,
  effectiveSlugs,
} from '../checks/storage/effective-checks.ts';

/** A check that a session may run, with its group's settings applied. */
export type TargetCheck = {
  id: string;
  checkType: string;
  name: string;
  /** Null = its runs need none. */
  runtimeId: string | null;
  runParallel: boolean;
  rotation: number;
  /** Slugs: data-centre codes, then private locations. */
  slugs: string[];
  /** Tags of the check and its group. */
  tags: string[];
};

/**
 * Reads an account's runnable checks, oldest first; only these ids if any are given. Checks of one group are in its
 * order.
 */
export async function findTargetChecks(
  db: Queryable,
  options: {
    accountId: string;
    ids: readonly string[] | null;
    alsoDeactivated: boolean;
    groupId?: number | null;
  },
): Promise<TargetCheck[]> {
  return db.query<TargetCheck>(
    `select c.id, c.check_type as "checkType", c.name, ${effectiveRuntimeId} as "runtimeId",
       ${effectiveRunParallel} as "runParallel", c.rotation, ${effectiveSlugs} as slugs,
       c.tags || coalesce(g.tags, '{}') as tags
     from ${checksWithGroups}
     where c.account_id = $1 and ($2::uuid[] is null or c.id = any($2::uuid[]))
       and ($3 or (c.activated and g.activated is not false)) and c.check_type = any($4::text[])
       and ($5::bigint is null or c.group_id = $5)
     order by case when $5::bigint is not null then (c.definition->>'groupOrder')::float8 end nulls last, c.created_at, c.id`,
    [options.accountId, options.ids, options.alsoDeactivated, runnableTypes, options.groupId ?? null],
  );
}

/** Returns which of these checks or locations still exist, and locks them until the transaction ends. */
export async function shareLock(
  tx: Queryable,
  table: 'checks' | 'locations',
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `select id from ${table} where id = any($1::uuid[]) order by id for key share`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}
