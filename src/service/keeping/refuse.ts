import type { Db } from '../db/database.ts';
import type { Partitions } from '../db/partitions.ts';
import { lockChecksOf } from '../scheduling/missed.ts';
import { factsOf } from './check-facts.ts';
import { keepFormerSchedules } from './former-schedules.ts';
import { handedOutSchedule, isEdited, type HandedOut } from './handed-out-schedule.ts';
import { giveBack } from './take-back.ts';

/**
 * A check for which no job can be built goes back to the scheduler, whose runs then say why, with all that is owed of it. Its holder
 * has not run the moments since it got the check, unless it had another form before: the results of those it delivers.
 */
export async function refuseCheck(
  tx: Db,
  options: {
    accountId: string;
    checkId: string;
    agentId: string;
    location: { locationId: string; slug: string };
    now: number;
    partitions: Partitions;
  },
): Promise<void> {
  const { accountId, checkId, agentId, location, now, partitions } = options;
  const [row] = await tx.query<HandedOut & { owedFrom: Date }>(
    `update kept_checks set is_refused = true, dropped_at = $3
     where check_id = $1 and agent_id = $2 and dropped_at is null
     returning owed_from as "owedFrom", interval_seconds as "intervalSeconds", offset_seconds as "offsetSeconds"`,
    [checkId, agentId, new Date(now)],
  );
  if (row === undefined) return;
  // Against an edit at this moment.
  await lockChecksOf(tx, [checkId]);
  const check = (await factsOf(tx, [checkId])).get(checkId);
  if (check === undefined) return;
  const owed = row.owedFrom.getTime();
  const moment = check.nextDueAt;
  if (moment === null) {
    await giveBack(tx, { accountId, checks: [{ check, ...location, owed }], now, partitions });
  } else if (isEdited(row, moment)) {
    // The scheduler has the first moment of the next schedule already.
    const { locationId } = location;
    const owedTo = Math.min(now, moment.getTime() - 1);
    const former = { ...handedOutSchedule(row, check), checkId, agentId, locationId, owedFrom: owed, owedTo };
    await keepFormerSchedules(tx, { accountId, rows: [former] });
  }
}
