import type { Fields } from '../../json-values.ts';
import { isCheckType } from '../../protocol/check-types.ts';
import { checkPaths } from '../checks/fields/paths.ts';

/** Types of resources that a project may own, and the routes that write and read them. */

export const resourceTypes = [
  'private-location',
  'variable',
  'snippet',
  'alert-channel',
  'status-page-service',
  'check-group',
  'check',
  'status-page',
  'maintenance-window',
  'alert-channel-subscription',
  'check-trigger',
  'check-group-trigger',
] as const;
export type ResourceType = (typeof resourceTypes)[number];

export type Kind = {
  /** Path of the request that creates one; null = the payload names no possible one. */
  create: (payload: Fields) => string | null;
  /** Its method; absent = POST. */
  createMethod?: 'PUT';
  /** The body of both writes; absent = the payload. */
  body?: (payload: Fields) => Fields;
  /** Path of the PUT; null = it has nothing that can change. */
  change: (id: string, payload: Fields) => string | null;
  /** Path of GET and DELETE. */
  item: (id: string) => string;
  /** Where lists of all are, and their form; null = each one is read by its id. */
  list: { path: string; form: 'page' | 'cursor' } | null;
  /** The id in an answer of its routes. */
  idOf: (shown: Fields) => string;
  /** The value by which other resources name it; absent = its id. */
  nameOf?: (shown: Fields) => unknown;
  /** Its fields in answers; absent = those of the body that creates one. */
  shows?: readonly string[];
  /** Fields that another resource of the project may set. They are no part of this one. */
  foreign?: readonly string[];
};

const plain = (path: string, form: 'page' | 'cursor' = 'page'): Kind => ({
  create: () => path,
  change: (id) => `${path}/${id}`,
  item: (id) => `${path}/${id}`,
  list: { path, form },
  idOf: ({ id }) => String(id),
});

const trigger = (path: string, field: string): Kind => ({
  create: (payload) => `${path}/${String(payload[field])}`,
  change: () => null,
  item: (id) => `${path}/${id}`,
  list: null,
  body: () => ({}),
  shows: [field],
  idOf: (shown) => String(shown[field]),
});

const checkPath = ({ checkType }: Fields): string | null =>
  typeof checkType === 'string' && isCheckType(checkType) ? `/v1/checks/${checkPaths[checkType]}` : null;

/** Subscriptions are written by their channel and subscriber. */
const subscriptionPath = (id: string) => {
  const [channel = '', own = ''] = id.split('/');
  return `/v1/alert-channels/${channel}/subscriptions/${own}`;
};

/** Body of a check without its type, which the path names. */
const withoutType = ({ checkType: _type, ...body }: Fields): Fields => body;

export const kinds: { readonly [T in ResourceType]: Kind } = {
  'private-location': { ...plain('/v1/private-locations'), nameOf: ({ slugName }) => slugName },
  variable: {
    ...plain('/v1/variables'),
    change: (id) => `/v1/variables/${encodeURIComponent(id)}`,
    item: (id) => `/v1/variables/${encodeURIComponent(id)}`,
    idOf: ({ key }) => String(key),
  },
  snippet: { ...plain('/v1/snippets'), nameOf: ({ id }) => id },
  'alert-channel': {
    ...plain('/v1/alert-channels'),
    nameOf: ({ id }) => id,
    foreign: ['subscriptions'],
  },
  'status-page-service': plain('/v1/status-pages/services', 'cursor'),
  'check-group': { ...plain('/v2/check-groups'), nameOf: ({ id }) => id },
  check: {
    // Channels with autoSubscribe subscribe themselves; the others are named.
    create: (payload) => {
      const path = checkPath(payload);
      return path === null ? null : `${path}?autoAssignAlerts=false`;
    },
    change: (id, payload) => {
      const path = checkPath(payload);
      return path === null ? null : `${path}/${id}`;
    },
    item: (id) => `/v1/checks/${id}?includeDependencies=true`,
    body: withoutType,
    list: { path: '/v1/checks', form: 'page' },
    idOf: ({ id }) => String(id),
  },
  'status-page': plain('/v1/status-pages', 'cursor'),
  'maintenance-window': plain('/v1/maintenance-windows'),
  'alert-channel-subscription': {
    create: ({ alertChannelId }) => `/v1/alert-channels/${String(alertChannelId)}/subscriptions`,
    change: (_id, { alertChannelId }) => `/v1/alert-channels/${String(alertChannelId)}/subscriptions`,
    item: subscriptionPath,
    createMethod: 'PUT',
    body: ({ alertChannelId: _channel, ...body }) => body,
    shows: ['alertChannelId', 'checkId', 'groupId', 'activated'],
    list: null,
    idOf: ({ alertChannelId, id }) => `${String(alertChannelId)}/${String(id)}`,
  },
  'check-trigger': trigger('/v1/triggers/checks', 'checkId'),
  'check-group-trigger': trigger('/v1/triggers/check-groups', 'groupId'),
};

/**
 * The order of deletions. What nothing refers to goes before the writes, so that its name is free again; the rest goes
 * after them, when nothing uses it any more.
 */
export const deletedFirst: readonly ResourceType[] = [
  'check-group-trigger',
  'check-trigger',
  'alert-channel-subscription',
  'maintenance-window',
  'status-page',
  'variable',
];
export const deletedLast: readonly ResourceType[] = [
  'check',
  'status-page-service',
  'check-group',
  'alert-channel',
  'snippet',
  'private-location',
];

/** The type of resource that a field names. For lists, the name of the list. */
export const typeOfField: { readonly [field: string]: ResourceType | undefined } = {
  groupId: 'check-group',
  alertChannelId: 'alert-channel',
  setupSnippetId: 'snippet',
  tearDownSnippetId: 'snippet',
  serviceId: 'status-page-service',
  serviceIds: 'status-page-service',
  statusPageIds: 'status-page',
  checkId: 'check',
  checkIds: 'check',
  privateLocations: 'private-location',
};
