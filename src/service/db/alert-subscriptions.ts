import type { Queryable } from './database.ts';

/** Statements on subscriptions: which checks and groups tell which alert channels. */

export type ToldChannel = {
  id: number;
  type: string;
  sendFailure: boolean;
  sendRecovery: boolean;
  sendDegraded: boolean;
  sslExpiry: boolean;
  /** Days, 1 to 30. */
  sslExpiryThreshold: number;
};

/** Channels that are told of a check's alerts: with `ofGroup` those of its group alone, else its own alone. */
export async function channelsOf(
  tx: Queryable,
  {
    accountId,
    checkId,
    groupId,
    ofGroup,
  }: { accountId: string; checkId: string; groupId: number | null; ofGroup: boolean },
): Promise<ToldChannel[]> {
  return tx.query<ToldChannel>(
    `select c.id, c.type, c.send_failure as "sendFailure", c.send_recovery as "sendRecovery",
       c.send_degraded as "sendDegraded", c.ssl_expiry as "sslExpiry", c.ssl_expiry_threshold as "sslExpiryThreshold"
     from alert_subscriptions s join alert_channels c on c.id = s.channel_id
     where s.activated and c.account_id = $1 and ${ofGroup ? 's.group_id' : 's.check_id'} = $2
     order by c.id`,
    [accountId, ofGroup ? groupId : checkId],
  );
}
