import Type from 'typebox';
import type { Fields } from '../../../json-values.ts';
import { isCheckType } from '../../../protocol/check-types.ts';
import { CreateSnippet } from '../../accounts/snippets/routes.ts';
import { CreateVariable } from '../../accounts/variables/routes.ts';
import { channelTypes, type ChannelType } from '../../alert-channels/configs.ts';
import { configSchemas, CreateChannel, SubscriptionBody } from '../../alert-channels/schema.ts';
import { groupSchemas } from '../../checks/fields/group-schema.ts';
import { checkSchemas } from '../../checks/fields/schema.ts';
import { strict } from '../../http/fields/strict-schema.ts';
import { CreateBody as CreateLocation } from '../../locations/private-schema.ts';
import { CreateWindowBody } from '../../maintenance/schema.ts';
import { CreateBody as CreatePage } from '../../status-pages/schema.ts';
import { CreateService } from '../../status-pages/service-routes.ts';
import type { ResourceType } from '../kinds.ts';

/** The schema of the payload of each type of resource: those of the routes that create them. */

const isChannelType = (type: unknown): type is ChannelType => channelTypes.some((known) => known === type);

const { subscriptions: _subscriptions, ...channelFields } = CreateChannel.properties;
const Channel = strict(Type.Object(channelFields));

/** The schema of a channel with the config of its type. */
function channelOf(type: unknown): object {
  const config = isChannelType(type) ? configSchemas[type] : undefined;
  if (config === undefined) return Channel;
  return { ...Channel, properties: { ...Channel.properties, ...config.properties } };
}

const { id: _id, ...subscriptionFields } = SubscriptionBody.properties;
/** Not made of the fields by Type.Object, which does not see that those of a strict schema are optional. */
const Subscription = {
  ...SubscriptionBody,
  properties: { ...subscriptionFields, alertChannelId: Type.Integer({ minimum: 1 }) },
  required: [...(SubscriptionBody.required ?? []), 'alertChannelId'],
};

/** The schema of a payload; null = its `checkType` is no type of check. A check's schema does not have `checkType`. */
export const bodySchemas: { readonly [T in ResourceType]: (payload: Readonly<Fields>) => object | null } = {
  'private-location': () => CreateLocation,
  variable: () => CreateVariable,
  snippet: () => CreateSnippet,
  'alert-channel': ({ type }) => channelOf(type),
  'status-page-service': () => CreateService,
  'check-group': () => groupSchemas.v2.create,
  check: ({ checkType }) =>
    typeof checkType === 'string' && isCheckType(checkType) ? checkSchemas[checkType].create : null,
  'status-page': () => CreatePage,
  'maintenance-window': () => CreateWindowBody,
  'alert-channel-subscription': () => Subscription,
  'check-trigger': () => strict(Type.Object({ checkId: Type.String() })),
  'check-group-trigger': () => strict(Type.Object({ groupId: Type.Integer() })),
};
