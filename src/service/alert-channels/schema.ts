import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { channelConfigs, channelTypes } from './configs.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { ignored, ignoredStamps } from '../http/fields/ignored-fields.ts';

/** The bodies of alert channels and subscriptions (specification, "Alert channel"). */

const configTitles = {
  EMAIL: 'EmailConfig',
  CHAT_A: 'ChatAConfig',
  CHAT_A_APP: 'ChatAAppConfig',
  WEBHOOK: 'WebhookConfig',
  SMS: 'SmsConfig',
  CALL: 'CallConfig',
  PAGING_A: 'PagingAConfig',
  PAGING_B: 'PagingBConfig',
} as const;

/** The config of each type as clients send it. It is validated separately, by the `type` next to it. */
export const configSchemas = Object.fromEntries(
  channelTypes.map((type) => [type, strict(Type.Object({ config: channelConfigs[type] }))]),
);

/** The configs in the OpenAPI document: one schema per type. */
export const ChannelConfigs = channelTypes.map((type) => ({
  ...strict(Type.Object(channelConfigs[type].properties)),
  $id: configTitles[type],
  title: configTitles[type],
}));

const groupId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const subscription = {
  activated: Type.Boolean(),
  checkId: Type.Optional(
    Nullable(Type.String({ maxLength: 64 }), { description: 'Either this or groupId.' }),
  ),
  groupId: Type.Optional(Nullable(groupId, { description: 'Either this or checkId.' })),
};

/** The body of one subscription. */
export const SubscriptionBody = strict(
  Type.Object({ ...subscription, id: ignored, alertChannelId: ignored }),
);
export type SubscriptionBody = Static<typeof SubscriptionBody>;

export const AlertChannelSubscription = open(
  Type.Object(
    {
      id: Type.Integer(),
      alertChannelId: Type.Integer(),
      activated: Type.Boolean(),
      checkId: Nullable(Type.String({ format: 'uuid' })),
      groupId: Nullable(Type.Integer()),
    },
    { $id: 'AlertChannelSubscription', title: 'AlertChannelSubscription' },
  ),
);

/** Limit of subscriptions in one body and in one shown channel. */
export const maxSubscriptions = 2000;

const flags = {
  sendRecovery: Type.Boolean({ default: true }),
  sendFailure: Type.Boolean({ default: true }),
  sendDegraded: Type.Boolean({ default: false }),
  sslExpiry: Type.Boolean({ default: false, description: 'Alert on SSL certificates that expire.' }),
  sslExpiryThreshold: Type.Integer({
    minimum: 1,
    maximum: 30,
    default: 30,
    description: 'Days before a certificate expires.',
  }),
  autoSubscribe: Type.Boolean({ default: false, description: 'Subscribe newly created checks.' }),
};

const fields = {
  type: StringEnum(channelTypes),
  // The document lists the schemas of all types; `type` selects the one that applies.
  config: Type.Unsafe<{ [field: string]: unknown }>({
    type: 'object',
    additionalProperties: true,
    description: `By the type: ${Object.values(configTitles).join(', ')}.`,
  }),
  ...flags,
};

const subscriptions = Type.Optional(
  Type.Array(SubscriptionBody, {
    maxItems: maxSubscriptions,
    description:
      'Checks and groups that are subscribed; in a change they take the place of all that there are.',
  }),
);

export const CreateChannel = strict(Type.Object({ ...fields, subscriptions }));
export type CreateChannel = Static<typeof CreateChannel>;

export const ChangeChannel = strictPartial(
  Type.Object({
    ...fields,
    subscriptions,
    isPartial: Type.Optional(
      Type.Boolean({
        description:
          'As read: subscriptions are not all that there are, and are left alone; so is what the config leaves out.',
      }),
    ),
    ...ignoredStamps,
  }),
);
export type ChangeChannel = Static<typeof ChangeChannel>;

export const AlertChannel = open(
  Type.Object(
    {
      id: Type.Integer(),
      type: fields.type,
      config: Type.Union(
        Object.values(configTitles).map((title) => Type.Ref(title)),
        { description: 'Secret values are masked.' },
      ),
      subscriptions: Type.Array(Type.Ref('AlertChannelSubscription')),
      isPartial: Type.Optional(
        Type.Boolean({
          description:
            'There are more subscriptions than are shown (read them at the path of subscriptions), or, in a list, a config ' +
            'is too long and shown without template, headers and queryParameters.',
        }),
      ),
      ...flags,
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'AlertChannel', title: 'AlertChannel' },
  ),
);
