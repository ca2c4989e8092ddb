import { createHash } from 'node:crypto';
import { fieldsOf, isFields, itemsOf, type Fields } from '../../json-values.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import { isIgnored } from '../http/fields/ignored-fields.ts';
import { kinds, type ResourceType } from './kinds.ts';
import type { Caller, Replay } from './replay.ts';

/** The state of resources, as the API shows them: only fields that a client may set, and no secret values. */

/** Shown in place of a secret value. */
export const mask = '*********';

/** A resource of the account, read through its own route. */
export type Shown = {
  /** What a client may set. */
  state: Fields;
  /** The value by which others name it. */
  name: unknown;
  /** Changes with each write. */
  stamp: string;
};

/** Lists are read instead of single resources from this number on. */
const listFrom = 20;
const pageSize = 100;

/** Whether a value is hidden from readers: secret or locked variables, headers and query parameters. */
export const isHiddenPair = (item: Fields): boolean =>
  typeof item['value'] === 'string' &&
  (item['locked'] === true || item['secret'] === true || String(item['key']).startsWith('SERVICE_SECRET_'));

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (!isFields(value)) return value;
  const hides = isHiddenPair(value);
  return Object.fromEntries(
    Object.entries(value).map(([field, member]) =>
      (hides && field === 'value') || (field === 'password' && member !== '')
        ? [field, mask]
        : [field, masked(member)],
    ),
  );
}

/** Keeps the members that the schema of a body names. Those that the service sets are described as ignored. */
function picked(value: unknown, schema: Fields): unknown {
  const properties = fieldsOf(schema['properties']);
  if (!isFields(value) || Object.keys(properties).length === 0) return value;
  const names = Object.keys(properties).filter(
    (name) => value[name] !== undefined && !isIgnored(properties[name]),
  );
  return Object.fromEntries(names.map((name) => [name, picked(value[name], fieldsOf(properties[name]))]));
}

/** The state in an answer of a route. */
export function stateOf(replay: Replay, type: ResourceType, answer: Fields): Shown {
  const kind = kinds[type];
  const path = kind.create(answer);
  const own = Object.fromEntries(
    Object.entries(answer).filter(([name]) => kind.foreign?.includes(name) !== true),
  );
  const state =
    kind.shows === undefined
      ? picked(own, path === null ? {} : replay.schemaAt(path))
      : Object.fromEntries(kind.shows.map((name) => [name, answer[name]]));
  return {
    state: {
      ...(type === 'check' ? { checkType: answer['checkType'] } : {}),
      ...fieldsOf(masked(withoutEmptyLists(state))),
    },
    name: kind.nameOf === undefined ? kind.idOf(answer) : kind.nameOf(answer),
    stamp: createHash('sha256').update(canonical(answer)).digest('base64url'),
  };
}

/** Lists of checks leave out dependencies, which are empty as a rule. */
function withoutEmptyLists(state: unknown): Fields {
  return Object.fromEntries(
    Object.entries(fieldsOf(state)).filter(
      ([name, value]) => name !== 'dependencies' || (Array.isArray(value) && value.length > 0),
    ),
  );
}

/** Reads resources of one type, by their ids. Those that do not exist are left out. */
export async function readStates(
  replay: Replay,
  by: Caller,
  {
    type,
    ids,
    isComplete,
  }: { type: ResourceType; ids: readonly string[]; isComplete: (id: string) => boolean },
): Promise<Map<string, Shown>> {
  const { list, item, idOf } = kinds[type];
  const found = new Map<string, Shown>();
  const listed = list === null || ids.length < listFrom ? [] : await readList(replay, by, list);
  const partial = new Set<string>();
  const wanted = new Set(ids);
  for (const entry of listed) {
    const id = idOf(entry);
    if (!wanted.has(id)) continue;
    if (entry['isPartial'] === true || !isComplete(id)) partial.add(id);
    else found.set(id, stateOf(replay, type, entry));
  }
  for (const id of listed.length === 0 ? ids : partial) {
    const { status, body } = await replay.send(by, { method: 'GET', path: item(id) });
    if (status === 200) found.set(id, stateOf(replay, type, body));
    else if (status !== 404) throw new Error(`${item(id)} answered ${status}`);
  }
  return found;
}

/** Types whose lists leave out a part that has no mark: scripts and the files that they load. */
const hasCode = ({ checkType }: Fields): boolean =>
  typeof checkType === 'string' && (serviceCheckType(checkType)?.code ?? 'none') !== 'none';

/** Answers for all resources of a type, whole; of types without a list, those with these ids. */
export async function allOfType(
  replay: Replay,
  by: Caller,
  { type, ids }: { type: ResourceType; ids: readonly string[] },
): Promise<Fields[]> {
  const { list, item, idOf } = kinds[type];
  const listed = list === null ? [] : await readList(replay, by, list);
  const paths = list === null ? ids.map(item) : listed.map((entry) => item(idOf(entry)));
  const answers: Fields[] = [];
  for (const [index, path] of paths.entries()) {
    const entry = listed[index];
    if (entry !== undefined && entry['isPartial'] !== true && !hasCode(entry)) {
      answers.push(entry);
      continue;
    }
    const { status, body } = await replay.send(by, { method: 'GET', path });
    if (status === 200) answers.push(body);
    else if (status !== 404) throw new Error(`${path} answered ${status}`);
  }
  return answers;
}

async function readList(
  replay: Replay,
  by: Caller,
  { path, form }: { path: string; form: 'page' | 'cursor' },
): Promise<Fields[]> {
  const all: Fields[] = [];
  let next = '';
  for (let page = 1; ; page++) {
    const at = form === 'page' ? `page=${page}` : next;
    const { body } = await replay.send(by, { method: 'GET', path: `${path}?limit=${pageSize}&${at}` });
    const entries = itemsOf(body['entries']).map(fieldsOf);
    all.push(...entries);
    if (form === 'page' ? entries.length < pageSize : body['nextId'] === null) return all;
    next = `nextId=${String(body['nextId'])}`;
  }
}

/** JSON with sorted fields: equal values have equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isFields(value)) return JSON.stringify(value) ?? 'null';
  const fields = Object.keys(value)
    .sort()
    .filter((name) => value[name] !== undefined);
  return `{${fields.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}
