import { fieldsOf, isFields, itemsOf, type Fields } from '../../json-values.ts';
import type { Queryable } from '../db/database.ts';
import { withoutDefaults } from '../http/fields/defaults.ts';
import { listedTriggers } from '../triggers/statements.ts';
import { kinds, resourceTypes, typeOfField, type ResourceType } from './kinds.ts';
import { givenIds } from './given-ids.ts';
import type { Caller, Replay } from './replay.ts';
import { allOfType, stateOf } from './states.ts';
import { bindingsOfAccount } from './statements.ts';

/** The resources of an account as a deployment takes them: small, with references, and without secret values. */

export type Described = {
  type: ResourceType;
  logicalId: string;
  physicalId: string;
  /** The project that owns it; null = none. */
  project: string | null;
  protected: boolean;
  /** The body that creates it. Fields with default values are left out, and secret values are masked. */
  payload: Fields;
};

/** `project`: only the resources that it owns; null = those of no project; undefined = all. */
export type Choice = { project?: string | null };

type Found = Omit<Described, 'logicalId'> & { logicalId: string | null; name: unknown };

/** Describes resources, in the order of types and logical ids. */
export async function inventory(replay: Replay, by: Caller, { project }: Choice): Promise<Described[]> {
  const owned = new Map(
    (await bindingsOfAccount(by.tx, by.accountId)).map((one) => [keyOf(one.type, one.physicalId), one]),
  );
  const found: Found[] = [];
  for (const type of resourceTypes) {
    const ids = [...owned.values()].filter((one) => one.type === type).map(({ physicalId }) => physicalId);
    for (const answer of await answersOf(replay, by, { type, ids })) {
      const { state, name } = stateOf(replay, type, answer);
      const physicalId = kinds[type].idOf(answer);
      const owner = owned.get(keyOf(type, physicalId));
      found.push({
        type,
        physicalId,
        project: owner?.project ?? null,
        logicalId: owner?.logicalId ?? null,
        protected: owner?.isProtected ?? false,
        payload: state,
        name,
      });
    }
  }
  const chosen = found.filter((one) => project === undefined || one.project === project);
  const autoSubscribed = found.filter(
    ({ type, payload }) => type === 'alert-channel' && payload['autoSubscribe'] === true,
  );
  return described(replay, givenIds(chosen), autoSubscribed);
}

const keyOf = (type: string, id: string) => `${type}/${id}`;

/** Answers of the routes of all resources of a type. `ids`: of those that projects own. */
async function answersOf(
  replay: Replay,
  by: Caller,
  { type, ids }: { type: ResourceType; ids: readonly string[] },
): Promise<Fields[]> {
  if (type === 'check-trigger' || type === 'check-group-trigger')
    return triggersOf(by.tx, by.accountId, type);
  return allOfType(replay, by, { type, ids });
}

async function triggersOf(tx: Queryable, accountId: string, type: ResourceType): Promise<Fields[]> {
  const rows = await listedTriggers(tx, accountId);
  return rows.flatMap(({ checkId, groupId }): Fields[] =>
    type === 'check-trigger'
      ? checkId === null
        ? []
        : [{ checkId }]
      : groupId === null
        ? []
        : [{ groupId }],
  );
}

type Known = Omit<Found, 'logicalId'> & { logicalId: string };

function described(replay: Replay, known: readonly Known[], autoSubscribed: readonly Found[]): Described[] {
  const byName = new Map(known.map((one) => [keyOf(one.type, String(one.name)), one.logicalId]));
  const separate = new Set(
    known
      .filter(({ type }) => type === 'alert-channel-subscription')
      .map(
        ({ payload: { alertChannelId, checkId, groupId } }) =>
          `${String(alertChannelId)} ${String(checkId ?? groupId)}`,
      ),
  );
  return known
    .map(({ name: _name, ...one }): Described => {
      const { type, payload, physicalId } = one;
      const whole =
        type === 'check' || type === 'check-group'
          ? withSubscriptions(payload, {
              auto: type === 'check' ? autoSubscribed.map((channel) => Number(channel.physicalId)) : [],
              isSeparate: (channel) => separate.has(`${channel} ${physicalId}`),
            })
          : payload;
      const path = kinds[type].create(payload);
      const { checkType, ...body } = fieldsOf(
        withoutDefaults(path === null ? {} : replay.schemaAt(path), whole),
      );
      return {
        ...one,
        payload: {
          ...(checkType === undefined ? {} : { checkType }),
          ...fieldsOf(withReferences(body, '', byName)),
        },
      };
    })
    .sort((a, b) => rank(a) - rank(b) || (a.logicalId < b.logicalId ? -1 : 1));
}

const rank = ({ type }: Described) => resourceTypes.indexOf(type);

/**
 * The subscriptions that files name: not those that a channel with autoSubscribe makes, nor those that are resources of
 * their own. Where such a channel has no subscription, one that is switched off keeps it away.
 */
function withSubscriptions(
  payload: Fields,
  { auto, isSeparate }: { auto: readonly number[]; isSeparate: (channel: number) => boolean },
): Fields {
  const own = itemsOf(payload['alertChannelSubscriptions']).map(fieldsOf);
  const named = own.map(({ alertChannelId }) => Number(alertChannelId));
  const alertChannelSubscriptions = [
    ...own.filter(
      ({ alertChannelId, activated }) =>
        !isSeparate(Number(alertChannelId)) && !(activated === true && auto.includes(Number(alertChannelId))),
    ),
    ...auto
      .filter((id) => !named.includes(id))
      .map((alertChannelId) => ({ alertChannelId, activated: false })),
  ];
  return { ...payload, alertChannelSubscriptions };
}

/** Subscriptions have no order of their own, so they are sorted by what they name. */
const unordered = 'alertChannelSubscriptions';

function withReferences(value: unknown, field: string, byName: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => withReferences(item, field, byName));
    return field === unordered
      ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : items;
  }
  if (isFields(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, withReferences(member, name, byName)]),
    );
  }
  const type = typeOfField[field];
  if (type === undefined || value === null || value === undefined) return value;
  const ref = byName.get(keyOf(type, String(value)));
  if (ref !== undefined) return { ref };
  // A private location is named by its slug, which may also exist elsewhere.
  return type === 'private-location' ? value : { fromId: value };
}
