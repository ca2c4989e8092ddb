import { IntegerEnum, Nullable, StringEnum } from '../../../protocol/schema.ts';
import { AlertSettings } from '../../accounts/alert-settings.ts';
import Type, { type Static, type TSchema } from 'typebox';
import { dataCenterLocations } from '../../../protocol/check-types.ts';
import { EnvironmentVariable } from '../../../protocol/job.ts';
import { incidentSeverities } from '../../status-pages/incident-words.ts';
import { RuntimeId, scriptBytes } from '../../../protocol/script.ts';
import { defaultFrequency, frequencies } from '../schedule/rules.ts';
import { ignored } from '../../http/fields/ignored-fields.ts';
import { date, dateTime } from '../../http/fields/dates.ts';

/** Fields that checks of every type share (specification, "Check"), as clients send them. */

/** A list that may also be null; null is stored and returned as the empty list. */
export function ListOrNull<S extends TSchema>(items: S, options: Record<string, unknown> = {}) {
  return Nullable(Type.Array(items, options), { default: [] });
}

/** rules/rules.ts decides which of these fields a type may have and fills in their defaults. */
export const PublicRetryStrategy = Type.Object({
  type: StringEnum(['FIXED', 'LINEAR', 'EXPONENTIAL', 'SINGLE_RETRY'], { default: 'FIXED' }),
  baseBackoffSeconds: Type.Number({ minimum: 0, maximum: 3600, default: 60 }),
  maxRetries: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10, description: 'Default 2; not with SINGLE_RETRY.' }),
  ),
  maxDurationSeconds: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 600, description: 'Default 600; not with SINGLE_RETRY.' }),
  ),
  sameRegion: Type.Boolean({ default: true }),
  onlyOn: Type.Array(StringEnum(['NETWORK_ERROR']), {
    maxItems: 1,
    default: [],
    description: 'Retry only these failures; empty = every failure. API and URL checks only.',
  }),
});
export type PublicRetryStrategy = Static<typeof PublicRetryStrategy>;

export const PublicVariable = Type.Object({
  ...EnvironmentVariable.properties,
  value: Type.String({
    maxLength: 131_072,
    default: '',
    description:
      'Never returned when secret; in a change, an empty value of a known secret keeps the old one.',
  }),
});

const SnippetId = Nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), { default: null });
const LocalScript = Nullable(Type.String({ maxLength: scriptBytes }), { default: null });

/** Setup and teardown scripts of API checks: a snippet or a text each. */
export const phaseFields = {
  setupSnippetId: SnippetId,
  tearDownSnippetId: SnippetId,
  localSetupScript: LocalScript,
  localTearDownScript: LocalScript,
};

/** Location codes and slug names. */
export const placeFields = {
  locations: ListOrNull(StringEnum(dataCenterLocations), { maxItems: 22, uniqueItems: true }),
  privateLocations: ListOrNull(Type.String({ minLength: 1, maxLength: 30 }), {
    maxItems: 100,
    uniqueItems: true,
    description: 'Slug names of private locations of this account.',
  }),
};

export const alertChannelSubscriptions = Type.Array(
  Type.Object({
    alertChannelId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    activated: Type.Boolean({ default: true }),
  }),
  { maxItems: 1000, default: [] },
);

export const tags = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 200, default: [] });

export const sharedFields = {
  name: Type.String({ minLength: 1, maxLength: 1024 }),
  activated: Type.Boolean({ default: true }),
  muted: Type.Boolean({ default: false }),
  doubleCheck: Type.Boolean({
    default: true,
    deprecated: true,
    description: 'One retry at once; retryStrategy replaces it.',
  }),
  shouldFail: Type.Boolean({ default: false }),
  ...placeFields,
  tags,
  alertSettings: AlertSettings,
  useGlobalAlertSettings: Type.Boolean({ default: true }),
  groupId: Nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), { default: null }),
  groupOrder: Nullable(Type.Number({ minimum: 0 }), { default: null }),
  runtimeId: Nullable(RuntimeId, { default: null }),
  alertChannelSubscriptions,
  retryStrategy: Nullable(PublicRetryStrategy, { default: null }),
  triggerIncident: Nullable(
    Type.Object({
      serviceId: Type.String({ minLength: 1, maxLength: 64 }),
      severity: Type.Optional(
        StringEnum(incidentSeverities, { description: 'Of the incident; left out: MAJOR.' }),
      ),
      name: Type.String({ minLength: 1, maxLength: 1024 }),
      description: Type.String({ maxLength: 4096, default: '' }),
      notifySubscribers: Type.Boolean({ default: false }),
    }),
    { default: null },
  ),
  runParallel: Type.Boolean({ default: false }),
  description: Nullable(Type.String({ maxLength: 500 }), { default: null }),
  frequency: IntegerEnum(frequencies, {
    default: defaultFrequency,
    description: 'Minutes between runs; 0 = every frequencyOffset seconds.',
  }),
  frequencyOffset: Type.Optional(
    Nullable(Type.Integer({ minimum: 1 }), {
      description:
        'With frequency 0: 10, 20 or 30 (seconds between runs). With 1 to 60: 1 to 10 × frequency. ' +
        'Above 60: 1 to frequency / 60. Null or left out in a new check: spread by the id of the check.',
    }),
  ),
  scriptPath: Nullable(Type.String({ maxLength: 1024 }), { default: null }),
  environmentVariables: ListOrNull(PublicVariable, { maxItems: 100 }),
  ...phaseFields,
};

/** A response-time limit in milliseconds; null = no limit. */
export function ResponseTimeLimit(options: { default: number; maximum: number; effect: string }) {
  return Nullable(Type.Number({ minimum: 0, maximum: options.maximum }), {
    default: options.default,
    description: `Milliseconds; a run that takes at least this long ${options.effect}. Null = no limit.`,
  });
}

const ShownPair = Type.Object({ key: Type.String(), value: Type.String(), locked: Type.Boolean() });
const Subscribers = Type.Object({
  email: Type.Array(Type.Object({ address: Type.String() })),
  webhook: Type.Array(
    Type.Object({
      url: Type.String(),
      name: Type.String(),
      method: Type.String(),
      headers: Type.Array(ShownPair),
      queryParameters: Type.Array(ShownPair),
    }),
  ),
  chat_a: Type.Array(Type.Object({ url: Type.String() })),
  sms: Type.Array(Type.Object({ number: Type.String(), name: Type.String() })),
});

/** What a create or a change accepted although it does not work yet. */
const CheckWarning = Type.Object({
  field: Type.String({ description: 'Dotted path of the field, like locations.0.' }),
  message: Type.String(),
});
export type CheckWarning = Static<typeof CheckWarning>;

/** In answers of checks and of check groups. */
export const placeWarnings = Type.Optional(
  Type.Array(CheckWarning, {
    description:
      'Only in the answer to a create or a change: locations that no connected agent serves. Absent = none.',
  }),
);

/** Fields that the service sets. */
export const responseFields = {
  id: Type.String({ format: 'uuid' }),
  alertChannels: Subscribers,
  created_at: date,
  updated_at: Nullable(dateTime),
  warnings: placeWarnings,
};

/** Fields that a check has in the files of a project: the same file can be sent to the API. */
const inFiles = Type.Optional(Type.Unknown({ description: 'Of files of a project. Ignored here.' }));
export const fileFields = { kind: inFiles, logicalId: inFiles };

/** The fields that the service sets, in the body of a change. */
export const ignoredFields = {
  ...fileFields,
  id: ignored,
  checkType: ignored,
  alertChannels: ignored,
  created_at: ignored,
  updated_at: ignored,
  warnings: ignored,
};
