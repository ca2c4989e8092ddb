import type { Fields } from '../../json-values.ts';
import type { ResourceType } from './kinds.ts';

/** Logical ids for resources that have none, from what people call them. */

type Named = {
  type: ResourceType;
  logicalId: string | null;
  physicalId: string;
  payload: Fields;
  name: unknown;
};

/** Longest id that is made from a name. */
const longest = 100;

/** Letters, digits and hyphens of a text. */
const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, longest)
    .replace(/-+$/, '');

const channelName = ({ type, config }: Fields): string => {
  const { address, name, channels, number, serviceName } = { ...(config as Fields | undefined) };
  const list = Array.isArray(channels) ? channels.join('-') : undefined;
  return [type, address ?? (name || undefined) ?? serviceName ?? list ?? number ?? ''].map(String).join('-');
};

/** What a resource is called. The URL of a webhook may be a secret, so no id contains one. */
const nameOf: { readonly [T in ResourceType]: (payload: Fields) => unknown } = {
  'private-location': ({ slugName }) => slugName,
  variable: ({ key }) => key,
  snippet: ({ name }) => name,
  'alert-channel': channelName,
  'status-page-service': ({ name }) => name,
  'check-group': ({ name }) => name,
  check: ({ name }) => name,
  'status-page': ({ url }) => url,
  'maintenance-window': ({ name }) => name,
  'alert-channel-subscription': ({ alertChannelId, checkId, groupId }) =>
    `${String(alertChannelId)}-${String(checkId ?? groupId)}`,
  'check-trigger': ({ checkId }) => checkId,
  'check-group-trigger': ({ groupId }) => groupId,
};

/** The type whose id a trigger shares, so that it is the same in every account. */
const triggered = { 'check-trigger': 'check', 'check-group-trigger': 'check-group' } as const;

/**
 * Each resource with a logical id that is unique for its type. Ids that projects gave come first; the others are made
 * from names, with numbers for equal names in the order of `resources`.
 */
export function givenIds<R extends Named>(resources: readonly R[]): (R & { logicalId: string })[] {
  const taken = new Set<string>();
  const ids = new Map<R, string>();
  const give = (one: R, wanted: string) => {
    let id = wanted;
    for (let number = 2; taken.has(`${one.type}/${id}`); number++) id = `${wanted}-${number}`;
    taken.add(`${one.type}/${id}`);
    ids.set(one, id);
  };
  for (const one of resources) if (one.logicalId !== null) give(one, one.logicalId);
  for (const one of resources) {
    if (one.logicalId !== null) continue;
    const { type, payload } = one;
    const subject =
      type === 'check-trigger' || type === 'check-group-trigger'
        ? resources.find((other) => other.type === triggered[type] && other.physicalId === one.physicalId)
        : undefined;
    give(one, (subject && ids.get(subject)) ?? (slugOf(String(nameOf[type](payload))) || type));
  }
  return resources.map((one) => ({ ...one, logicalId: ids.get(one) ?? one.type }));
}
