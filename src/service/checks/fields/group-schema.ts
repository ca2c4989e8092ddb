import Type, { type Static } from 'typebox';
import { ApiAssertion } from '../../../protocol/assertions.ts';
import { ApiRequest } from '../../../protocol/requests.ts';
import { Nullable } from '../../../protocol/schema.ts';
import { RuntimeId } from '../../../protocol/script.ts';
import { isPartial } from './schema.ts';
import { open, strict, strictPartial } from '../../http/fields/strict-schema.ts';
import {
  placeWarnings,
  alertChannelSubscriptions,
  ListOrNull,
  phaseFields,
  placeFields,
  PublicRetryStrategy,
  PublicVariable,
  tags,
} from './fields.ts';
import { AlertSettings } from '../../accounts/alert-settings.ts';
import { ignored, ignoredStamps } from '../../http/fields/ignored-fields.ts';

/**
 * The bodies of check groups, in two generations. In `/v1` groups, some settings always replace the checks' own; in
 * `/v2` groups, a setting that is null leaves them unchanged. Stored and returned groups are the same.
 */

const { headers, queryParameters, basicAuth } = ApiRequest.properties;

const ApiCheckDefaults = Type.Object({
  url: Type.String({ maxLength: 2048, default: '', description: 'GROUP_BASE_URL of its API checks.' }),
  headers,
  queryParameters,
  basicAuth,
  assertions: Type.Array(ApiAssertion, { maxItems: 100, default: [] }),
});

// One schema with three types, because defaults within a union are not filled in.
const RetryStrategyOrFallback = Type.Unsafe<Static<typeof PublicRetryStrategy> | 'FALLBACK' | null>({
  ...strict(PublicRetryStrategy),
  type: ['object', 'string', 'null'],
  pattern: '^FALLBACK$',
  default: null,
  description: 'an object, null, or "FALLBACK" (what each check says)',
});

// One schema with three types, because errors of a union name each branch.
const BrowserCheckDefaults = Type.Unsafe<object | string | null>({
  type: ['string', 'object', 'null'],
  maxLength: 10_000,
  default: '',
  description: 'Stored and returned; has no effect. Null is returned as an empty text.',
});

const shared = {
  name: Type.String({ minLength: 1, maxLength: 1024 }),
  activated: Type.Boolean({ default: true, description: 'False = none of its checks runs.' }),
  muted: Type.Boolean({ default: false }),
  tags,
  ...placeFields,
  concurrency: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 3,
    description: 'Checks that run at a time when the group is triggered.',
  }),
  apiCheckDefaults: Nullable(ApiCheckDefaults, {
    default: {},
    description: 'Null is returned as an object with its defaults.',
  }),
  browserCheckDefaults: BrowserCheckDefaults,
  environmentVariables: ListOrNull(PublicVariable, { maxItems: 100 }),
  alertSettings: AlertSettings,
  alertChannelSubscriptions,
  runtimeId: Nullable(RuntimeId, { default: null }),
  retryStrategy: RetryStrategyOrFallback,
  ...phaseFields,
};

const first = {
  ...shared,
  runParallel: Nullable(Type.Boolean(), { default: false }),
  useGlobalAlertSettings: Nullable(Type.Boolean(), { default: true }),
  doubleCheck: Nullable(Type.Boolean(), {
    default: true,
    deprecated: true,
    description: 'One retry at once, where retryStrategy is null.',
  }),
};
const second = {
  ...shared,
  doubleCheck: Nullable(Type.Boolean(), {
    default: false,
    deprecated: true,
    description: 'True = one retry at once, where retryStrategy is null. False = what each check says.',
  }),
  runParallel: Nullable(Type.Boolean(), { default: null, description: 'Null = what each check says.' }),
  useGlobalAlertSettings: Nullable(Type.Boolean(), {
    default: null,
    description: 'Null = what each check says.',
  }),
};

const ignoredOfGroups = { ...ignoredStamps, warnings: ignored };

export const groupSchemas = {
  v1: {
    create: strict(Type.Object(first)),
    change: strictPartial(Type.Object({ ...first, ...ignoredOfGroups })),
  },
  v2: {
    create: strict(Type.Object(second)),
    change: strictPartial(Type.Object({ ...second, ...ignoredOfGroups })),
  },
};

export type GroupBody = Static<typeof groupSchemas.v1.create>;
export type GroupChange = Static<typeof groupSchemas.v1.change>;

export const CheckGroup = open(
  Type.Object(
    {
      id: Type.Integer(),
      ...first,
      // Lists omit large fields.
      localSetupScript: Type.Optional(first.localSetupScript),
      localTearDownScript: Type.Optional(first.localTearDownScript),
      environmentVariables: Type.Optional(first.environmentVariables),
      apiCheckDefaults: Type.Optional(first.apiCheckDefaults),
      browserCheckDefaults: Type.Optional(first.browserCheckDefaults),
      isPartial,
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
      warnings: placeWarnings,
    },
    { $id: 'CheckGroup', title: 'CheckGroup' },
  ),
);
