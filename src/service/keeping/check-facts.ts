import type { Queryable } from '../db/database.ts';

/** The schedule of a check, and what a record of its runs needs. */
export type CheckFacts = {
  id: string;
  checkType: string;
  intervalSeconds: number;
  offsetSeconds: number;
  isActive: boolean;
  /** The scheduler's next moment. Of a held check: the first one of a schedule that was not handed out yet; otherwise null. */
  nextDueAt: Date | null;
};

export async function factsOf(tx: Queryable, ids: readonly string[]): Promise<Map<string, CheckFacts>> {
  const rows = await tx.query<CheckFacts>(
    `select id, check_type as "checkType", interval_seconds as "intervalSeconds", offset_seconds as "offsetSeconds",
       activated as "isActive", next_due_at as "nextDueAt" from checks where id = any($1::uuid[])`,
    [[...ids]],
  );
  return new Map(rows.map((row) => [row.id, row]));
}
