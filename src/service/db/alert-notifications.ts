import { uuidv7 } from '../ids.ts';
import type { Queryable } from './database.ts';

/** Statements on the log of notifications. */

export type NotificationStatus = 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE' | 'RATE_LIMITED';

/** Secret values and what is long: the log shows neither (SQL on a channel's row `c`). */
const shownConfig = `case c.type
    when 'WEBHOOK' then c.config - '{webhookSecret,template,headers,queryParameters}'::text[]
    else c.config - '{apiKey,serviceKey}'::text[] end`;

/** A notification of an alert, in progress; its id, or null when the account has no such channel or alert. */
export async function insertNotification(
  tx: Queryable,
  { accountId, channelId, alertId }: { accountId: string; channelId: number; alertId: string },
): Promise<string | null> {
  const id = uuidv7();
  const rows = await tx.query(
    `insert into alert_notifications (id, account_id, channel_id, channel_type, alert_id, alert_type, check_id,
       alert_config, created_at)
     select $1, a.account_id, c.id, c.type, a.id, a.alert_type, a.check_id, ${shownConfig}, a.created_at
     from alerts a join alert_channels c on c.account_id = a.account_id
     where a.account_id = $2 and a.id = $3 and c.id = $4
     returning id`,
    [id, accountId, alertId, channelId],
  );
  return rows.length > 0 ? id : null;
}
