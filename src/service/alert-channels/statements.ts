import type { ChannelType } from './configs.ts';
import type { Queryable } from '../db/database.ts';
import { listedConfig, partialConfig } from '../db/listed-definition.ts';

/** Statements on alert channels. */

/** A row of `alert_channels`. Secret values of its config are encrypted. */
export type AlertChannelRow = {
  id: number;
  type: ChannelType;
  config: Record<string, unknown>;
  sendRecovery: boolean;
  sendFailure: boolean;
  sendDegraded: boolean;
  sslExpiry: boolean;
  sslExpiryThreshold: number;
  autoSubscribe: boolean;
  createdAt: Date;
  updatedAt: Date | null;
};

const columns = `id, type, config, send_recovery as "sendRecovery", send_failure as "sendFailure",
  send_degraded as "sendDegraded", ssl_expiry as "sslExpiry", ssl_expiry_threshold as "sslExpiryThreshold",
  auto_subscribe as "autoSubscribe", created_at as "createdAt", updated_at as "updatedAt"`;

export type AlertChannelWrite = Omit<AlertChannelRow, 'id' | 'createdAt' | 'updatedAt'> & {
  accountId: string;
  now: Date;
};

const values = (channel: AlertChannelWrite) => [
  channel.accountId,
  channel.type,
  JSON.stringify(channel.config),
  channel.sendRecovery,
  channel.sendFailure,
  channel.sendDegraded,
  channel.sslExpiry,
  channel.sslExpiryThreshold,
  channel.autoSubscribe,
  channel.now,
];

/** Returns the new id. */
export async function insertAlertChannel(tx: Queryable, channel: AlertChannelWrite): Promise<number> {
  const [row] = await tx.query<{ id: number }>(
    `insert into alert_channels (account_id, type, config, send_recovery, send_failure, send_degraded, ssl_expiry,
       ssl_expiry_threshold, auto_subscribe, created_at)
     values ($1, $2, $3::jsonb, $4, $5, $6, $7, $8, $9, $10) returning id`,
    values(channel),
  );
  if (row === undefined) throw new Error('the channel was not inserted');
  return row.id;
}

export async function updateAlertChannel(
  tx: Queryable,
  id: number,
  channel: AlertChannelWrite,
): Promise<void> {
  await tx.query(
    `update alert_channels set config = $3::jsonb, send_recovery = $4, send_failure = $5, send_degraded = $6,
       ssl_expiry = $7, ssl_expiry_threshold = $8, auto_subscribe = $9, updated_at = $10
     where account_id = $1 and type = $2 and id = $11`,
    [...values(channel), id],
  );
}

type Named = { accountId: string; id: number };

export async function findAlertChannel(
  db: Queryable,
  { accountId, id }: Named,
): Promise<AlertChannelRow | undefined> {
  const rows = await db.query<AlertChannelRow>(
    `select ${columns} from alert_channels where account_id = $1 and id = $2`,
    [accountId, id],
  );
  return rows[0];
}

/** Like findAlertChannel, but locks the row until the transaction ends. */
export async function lockAlertChannel(
  tx: Queryable,
  { accountId, id }: Named,
): Promise<AlertChannelRow | undefined> {
  const rows = await tx.query<AlertChannelRow>(
    `select ${columns} from alert_channels where account_id = $1 and id = $2 for update`,
    [accountId, id],
  );
  return rows[0];
}

const listedColumns = columns.replace(' config,', ` ${listedConfig}, ${partialConfig} as "isPartial",`);

/** A page of channels, oldest first. `isPartial`: long fields of the config were omitted. */
export async function listAlertChannels(
  db: Queryable,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<(AlertChannelRow & { isPartial: boolean })[]> {
  return db.query<AlertChannelRow & { isPartial: boolean }>(
    `select ${listedColumns} from alert_channels where account_id = $1 order by created_at, id limit $2 offset $3`,
    [accountId, limit, offset],
  );
}

/** Counts an account's channels. Within a transaction, concurrent callers wait until it ends. */
export async function lockChannelCount(tx: Queryable, accountId: string): Promise<number> {
  await tx.query('select id from accounts where id = $1 for no key update', [accountId]);
  const [row] = await tx.query<{ count: number }>(
    'select count(*) as count from alert_channels where account_id = $1',
    [accountId],
  );
  return row?.count ?? 0;
}

/** Returns false if there was no such channel. */
export async function deleteAlertChannel(tx: Queryable, { accountId, id }: Named): Promise<boolean> {
  const rows = await tx.query('delete from alert_channels where account_id = $1 and id = $2 returning id', [
    accountId,
    id,
  ]);
  return rows.length > 0;
}
