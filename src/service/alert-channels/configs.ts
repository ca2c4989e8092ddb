import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import type { Encryption } from '../engine/encryption.ts';
import { mask } from '../../secrets/secret.ts';
import { mayAct, type Role } from '../http/fields/roles.ts';

/** The `config` of each alert channel type (facts, 4.3) and its secret values. */

const urlDescription =
  'Keys that cannot write read ********* in its place. In a change, that text keeps the stored URL.';
const Url = Type.String({ minLength: 1, maxLength: 4096, description: urlDescription });
const PlainUrl = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: '^(https?://[^\\s]+|\\*{9})$',
  description: `Begins with http:// or https://. ${urlDescription}`,
});
const Name = Type.String({ maxLength: 256, default: '' });
const secretDescription =
  'Kept encrypted and never returned: it reads as *********. In a change, that or an empty text keeps the stored one.';
const PhoneNumber = Type.String({
  pattern: '^\\+?[0-9][0-9 ().-]{2,30}$',
  description: 'With its country code, like +31612345678.',
});

const Pair = Type.Object({
  key: Type.String({ minLength: 1, maxLength: 256 }),
  value: Type.String({ maxLength: 4096, default: '', description: `Of a locked one: ${secretDescription}` }),
  locked: Type.Boolean({ default: false }),
});
const HeaderPair = Type.Object({
  ...Pair.properties,
  key: Type.String({ maxLength: 256, pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" }),
});

const phone = { number: PhoneNumber, name: Name };

export const channelConfigs = {
  EMAIL: Type.Object({
    address: Type.String({ format: 'email', maxLength: 320 }),
  }),
  CHAT_A: Type.Object({ url: PlainUrl, channel: Type.String({ maxLength: 256, default: '' }) }),
  CHAT_A_APP: Type.Object({
    channels: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 20,
      uniqueItems: true,
    }),
  }),
  WEBHOOK: Type.Object({
    name: Name,
    url: Url,
    method: StringEnum(['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'], { default: 'POST' }),
    template: Nullable(Type.String({ maxLength: 65_536 }), {
      default: '',
      description: 'The body, a Handlebars template. Empty = that of the webhookType, else an empty body.',
    }),
    headers: Type.Array(HeaderPair, { maxItems: 50, default: [] }),
    queryParameters: Type.Array(Pair, { maxItems: 50, default: [] }),
    webhookSecret: Nullable(Type.String({ maxLength: 1024 }), {
      default: null,
      description: `With it, x-service-signature is the HMAC-SHA256 of the body as it is sent. Null = none. ${secretDescription}`,
    }),
    webhookType: Nullable(Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_-]*$' }), {
      default: null,
      description:
        'What receives it. JSON, TEXT, CONTENT and CARD stand for a body where there is no template; other names are kept.',
    }),
  }),
  SMS: Type.Object(phone),
  PAGING_A: Type.Object({
    account: Name,
    serviceName: Name,
    serviceKey: Type.String({ minLength: 0, maxLength: 512, description: secretDescription }),
  }),
  PAGING_B: Type.Object({
    name: Name,
    apiKey: Type.String({ minLength: 0, maxLength: 512, description: secretDescription }),
    region: StringEnum(['US', 'EU'], { default: 'US' }),
    priority: StringEnum(['P1', 'P2', 'P3', 'P4', 'P5'], { default: 'P3' }),
  }),
  CALL: Type.Object(phone),
} as const;

export type ChannelType = keyof typeof channelConfigs;
/** In the order of the table above, which the OpenAPI document shows. */
export const channelTypes = Object.keys(channelConfigs) as ChannelType[]; // the keys of that table

export type ChannelConfig<T extends ChannelType = ChannelType> = Static<(typeof channelConfigs)[T]>;

/** Config fields that are secret as a whole, by type. */
const secretFields: { readonly [T in ChannelType]: readonly string[] } = {
  EMAIL: [],
  CHAT_A: [],
  CHAT_A_APP: [],
  WEBHOOK: ['webhookSecret'],
  SMS: [],
  PAGING_A: ['serviceKey'],
  PAGING_B: ['apiKey'],
  CALL: [],
};
const pairFields = ['headers', 'queryParameters'];

type Config = { [field: string]: unknown };
type Pair = Static<typeof Pair>;
type PathOf = (...parts: readonly string[]) => string;
const pathOf: PathOf = (...parts) => parts.join('.');

/** Applies `change` to each secret value of a config. `place` identifies the value and is the same in each version. */
function mapSecrets<C extends object>(
  type: ChannelType,
  config: C,
  change: (value: string, place: string) => string,
): C {
  const changed = { ...config } as Config; // any object has fields by name
  for (const field of secretFields[type]) {
    const value = changed[field];
    if (typeof value === 'string' && value !== '') changed[field] = change(value, pathOf(field));
  }
  if (type === 'WEBHOOK') {
    for (const field of pairFields) {
      // Lists omit the long fields of a config.
      if (changed[field] === undefined) continue;
      const pairs = changed[field] as Pair[]; // of the WEBHOOK schema
      changed[field] = pairs.map((pair) =>
        pair.locked && pair.value !== ''
          ? { ...pair, value: change(pair.value, pathOf(field, pair.key)) }
          : pair,
      );
    }
  }
  return changed as C; // the same fields, texts still texts
}

/** The config for storage, with secret values encrypted in place. */
export function sealConfig<C extends object>(type: ChannelType, config: C, encryption: Encryption): C {
  return mapSecrets(type, config, (value) => encryption.seal(value));
}

/** The config with secret values decrypted, for a delivery. Throws EncryptionError. */
export function openConfig<C extends object>(type: ChannelType, config: C, encryption: Encryption): C {
  return mapSecrets(type, config, (value) => encryption.open(value));
}

/**
 * The config as the API shows it, with secret values masked. Whoever knows the URL of a webhook or chat can post there, so
 * keys that cannot write see no URL, and of headers and query parameters only the names.
 */
export function hideConfig<C extends object>(type: ChannelType, config: C, role: Role): C {
  const hidden = { ...mapSecrets(type, config, () => mask) } as Config; // any object has fields by name
  if (!mayAct(role, 'READ_WRITE')) {
    if (hidden['url'] !== undefined) hidden['url'] = mask;
    for (const field of pairFields) {
      if (hidden[field] === undefined) continue;
      const pairs = hidden[field] as Pair[]; // of the WEBHOOK schema
      hidden[field] = pairs.map((pair) => (pair.value === '' ? pair : { ...pair, value: mask }));
    }
  }
  return hidden as C; // the same fields, texts still texts
}

/** All secret values of a decrypted config. */
export function secretsOfConfig(type: ChannelType, config: object): string[] {
  const values: string[] = [];
  mapSecrets(type, config, (value) => {
    values.push(value);
    return value;
  });
  return values;
}

/**
 * Merges a given config into the stored one (both decrypted). An empty or masked secret keeps the stored value.
 * `missing` names those without a stored value.
 */
export function keepConfigSecrets<C extends object>(
  type: ChannelType,
  given: C,
  stored: object | null,
): { config: C; missing: string[] } {
  const known = new Map<string, string>();
  if (stored !== null) {
    mapSecrets(type, stored, (value, place) => {
      // If two headers have the same name, the first counts.
      if (!known.has(place)) known.set(place, value);
      return value;
    });
  }
  const missing: string[] = [];
  const config = { ...given } as Config; // any object has fields by name
  if (config['url'] === mask) {
    const old = (stored as Config | null)?.['url'];
    if (old === undefined) missing.push('url');
    else config['url'] = old;
  }
  for (const field of secretFields[type]) {
    const value = config[field];
    const isKept = value === '' || value === mask || value === undefined;
    if (!isKept) continue;
    const old = known.get(field);
    if (old !== undefined) config[field] = old;
    // Only webhooks work without the secret.
    else if (type === 'WEBHOOK' && value !== mask) config[field] = null;
    else missing.push(field);
  }
  if (type === 'WEBHOOK') {
    const openPairs = (field: string) =>
      (((stored as Config | null)?.[field] ?? []) as Pair[]).filter(({ locked }) => !locked); // of the WEBHOOK schema
    for (const field of pairFields) {
      const pairs = (config[field] ?? []) as Pair[]; // of the WEBHOOK schema
      config[field] = pairs.map((pair, index) => {
        if (pair.value !== mask && !(pair.locked && pair.value === '')) return pair;
        const old = known.get(pathOf(field, pair.key));
        if (old !== undefined) return { ...pair, value: old, locked: true };
        // As a key that cannot write reads it.
        const open = openPairs(field).find(({ key }) => key === pair.key);
        if (pair.value === mask && open !== undefined) return { ...pair, value: open.value };
        if (pair.value === mask) missing.push(`${field}.${index}.value`);
        return pair;
      });
    }
  }
  return { config: config as C, missing };
}
