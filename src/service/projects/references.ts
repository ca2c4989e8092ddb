import { isFields, type Fields } from '../../json-values.ts';
import type { Problems } from '../http/problems.ts';
import { typeOfField, type ResourceType } from './kinds.ts';

/** References between the resources of a project, which are written by logical id. */

/** A resource whose value is not known yet. */
export const unknownYet = Symbol('unknown yet');

/** Returns the value by which a resource is named: `unknownYet`, or undefined if the project has none of this id. */
export type Lookup = (type: ResourceType, logicalId: string) => unknown;

type Options = { payload: Fields; at: string; lookup: Lookup; problems: Problems };

/**
 * The payload with ids in place of `{ref}` and `{fromId}`. `waits`: a resource that it names is not written, so it
 * cannot be written either.
 */
export function resolved({ payload, at, lookup, problems }: Options): { payload: Fields; waits: boolean } {
  let waits = false;
  const visit = (value: unknown, field: string, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item, index) => visit(item, field, `${path}.${index}`));
    if (!isFields(value)) return value;
    const type = typeOfField[field];
    if (type !== undefined && isReference(value)) {
      if ('fromId' in value) return value['fromId'];
      const named = lookup(type, String(value['ref']));
      if (named === undefined)
        problems.add(path, `names no ${type} of this project (${String(value['ref'])})`);
      if (named === undefined || named === unknownYet) waits = true;
      return named === unknownYet ? null : named;
    }
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, visit(member, name, `${path}.${name}`)]),
    );
  };
  const entries = Object.entries(payload).map(([name, value]) => [name, visit(value, name, `${at}.${name}`)]);
  return { payload: Object.fromEntries(entries) as Fields, waits };
}

function isReference(value: Fields): boolean {
  const [name, ...others] = Object.keys(value);
  return others.length === 0 && (name === 'ref' || name === 'fromId');
}
