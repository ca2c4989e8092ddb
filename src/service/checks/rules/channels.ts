import {
  channelDetails,
  shareLockChannels,
  type OwnSubscription,
} from '../../alert-channels/subscription-statements.ts';
import type { Db } from '../../db/database.ts';
import { hideConfig, type ChannelConfig } from '../../alert-channels/configs.ts';
import type { Role } from '../../http/fields/roles.ts';
import type { Problems } from '../../http/problems.ts';
import Type from 'typebox';
import { strict } from '../../http/fields/strict-schema.ts';

/** Alert channels of a check or a group: its subscriptions, and the parts of the channels that it shows. */

const autoAssignQuery = (isDefault: boolean, description: string) =>
  strict(Type.Object({ autoAssignAlerts: Type.Boolean({ default: isDefault, description }) }));

/**
 * Query schemas of routes that write checks and groups. A change of a check and any write of a group subscribe only
 * if the request sets the parameter.
 */
export const autoAssignAlerts = {
  newCheck: autoAssignQuery(true, 'Subscribe the new check to all existing alert channels.'),
  onDemand: autoAssignQuery(
    false,
    'Subscribe it to all existing alert channels, too. Subscriptions that it has stay as they are.',
  ),
};

/** Whether a request sets autoAssignAlerts; its route has a query of `autoAssignAlerts`. */
export const assignsAlerts = ({ query }: { query: unknown }): boolean =>
  (query as { autoAssignAlerts: boolean }).autoAssignAlerts;

/**
 * Subscriptions to channels that the account does not have are problems. The other channels are locked against
 * deletion until `tx` ends.
 */
export async function checkSubscriptions(
  tx: Db,
  options: { accountId: string; subscriptions: readonly OwnSubscription[]; problems: Problems },
): Promise<void> {
  const { accountId, subscriptions, problems } = options;
  const ids = subscriptions.map(({ alertChannelId }) => alertChannelId);
  const known = new Set(await shareLockChannels(tx, { accountId, ids }));
  for (const [index, id] of ids.entries()) {
    const field = `alertChannelSubscriptions.${index}.alertChannelId`;
    if (!known.has(id)) problems.add(field, `names no alert channel of this account (${id})`);
    else if (ids.indexOf(id) < index) problems.add(field, `is given twice (${id})`);
  }
}

/** `alertChannels` of a check (specification, "Check"). */
export type AlertChannels = {
  email: { address: string }[];
  webhook: Pick<ChannelConfig<'WEBHOOK'>, 'url' | 'name' | 'method' | 'headers' | 'queryParameters'>[];
  chat_a: { url: string }[];
  sms: { number: string; name: string }[];
};

/** Channels for the checks of one answer. */
export type ShownChannels = {
  add: { readonly [id: number]: ((to: AlertChannels) => void) | undefined };
  lengths: { readonly [id: number]: number | undefined };
  /** Characters of channels that the answer may still hold. */
  left: number;
};

/** Limit for a whole page, because a hundred checks may each be subscribed to hundreds of channels. */
const listedLength = 512 * 1024;

/** Loads the channels that the checks of an answer show, in one statement. */
export async function loadChannels(
  db: Db,
  options: {
    accountId: string;
    role: Role;
    /** Checks and groups. */
    of: readonly { subscriptions: readonly OwnSubscription[] }[];
    isList: boolean;
  },
): Promise<ShownChannels> {
  const ids = new Set(
    options.of.flatMap(({ subscriptions }) => subscriptions.map(({ alertChannelId }) => alertChannelId)),
  );
  const rows = await channelDetails(db, { accountId: options.accountId, ids: [...ids] });
  const add: { [id: number]: (to: AlertChannels) => void } = {};
  const lengths: { [id: number]: number } = {};
  for (const { id, type, config } of rows) {
    add[id] = adder(type, config, options.role);
    lengths[id] = JSON.stringify(config).length;
  }
  return { add, lengths, left: options.isList ? listedLength : Number.POSITIVE_INFINITY };
}

function adder(type: string, config: object, role: Role): (to: AlertChannels) => void {
  switch (type) {
    case 'EMAIL': {
      const { address } = config as ChannelConfig<'EMAIL'>; // the config of its type, as in all cases
      return ({ email }) => email.push({ address });
    }
    case 'WEBHOOK': {
      const { url, name, method, headers, queryParameters } = hideConfig(
        'WEBHOOK',
        config as ChannelConfig<'WEBHOOK'>,
        role,
      );
      return ({ webhook }) => webhook.push({ url, name, method, headers, queryParameters });
    }
    case 'CHAT_A': {
      const { url } = hideConfig('CHAT_A', config as ChannelConfig<'CHAT_A'>, role);
      return (to) => to.chat_a.push({ url });
    }
    default: {
      const { number, name } = config as ChannelConfig<'SMS'>;
      return ({ sms }) => sms.push({ number, name });
    }
  }
}

/** `alertChannels` of one check. `isPartial`: some did not fit into the list. */
export function presentChannels(
  subscriptions: readonly OwnSubscription[],
  channels: ShownChannels,
): { alertChannels: AlertChannels; isPartial: boolean } {
  const alertChannels: AlertChannels = { email: [], webhook: [], chat_a: [], sms: [] };
  let isPartial = false;
  for (const { alertChannelId, activated } of subscriptions) {
    const add = channels.add[alertChannelId];
    if (!activated || add === undefined) continue;
    channels.left -= channels.lengths[alertChannelId] ?? 0;
    if (channels.left < 0) isPartial = true;
    else add(alertChannels);
  }
  return { alertChannels, isPartial };
}
