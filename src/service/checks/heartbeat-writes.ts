import { isPinged } from '../check-type-table.ts';
import type { CheckWrite } from './storage/statements.ts';
import type { Queryable } from '../db/database.ts';
import { saveHeartbeat } from '../heartbeats/statements.ts';
import { secondsOf, type HeartbeatTiming } from './rules/service-checks.ts';

/** Within the transaction that writes the check: its timer follows. Checks of other types have none. */
export async function writeHeartbeat(tx: Queryable, check: CheckWrite): Promise<void> {
  if (!isPinged(check.checkType)) return;
  const { period, grace } = secondsOf(check.definition['heartbeat'] as HeartbeatTiming); // of a settled heartbeat
  await saveHeartbeat(tx, {
    checkId: check.id,
    accountId: check.accountId,
    periodSeconds: period,
    graceSeconds: grace,
    activated: check.activated,
  });
}
