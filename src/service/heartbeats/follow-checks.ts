import type { CheckWrite } from '../checks/storage/statements.ts';
import { isPinged } from '../checks/types/table.ts';
import type { Queryable } from '../db/database.ts';
import { saveHeartbeat } from './statements.ts';
import { secondsOf, type HeartbeatTiming } from '../checks/rules/service-checks.ts';

/** Saves the timer of a heartbeat, in the transaction that writes its check. Checks of other types have no timer. */
export async function writeHeartbeat(tx: Queryable, check: CheckWrite): Promise<void> {
  if (!isPinged(check.checkType)) return;
  const { period, grace } = secondsOf(check.definition['heartbeat'] as HeartbeatTiming); // settled by the check's rules
  await saveHeartbeat(tx, {
    checkId: check.id,
    accountId: check.accountId,
    periodSeconds: period,
    graceSeconds: grace,
    activated: check.activated,
  });
}
