import Type from 'typebox';
import { uuidPattern } from '../../engine/ids.ts';
import { strict } from './strict-schema.ts';

/** `:id` of a path. Any text is accepted: one that is no id names nothing, and the answer is 404. */
export const IdParams = strict(Type.Object({ id: Type.String() }));

/** Whether a text may be compared with an id column at all. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** The number that a text of a path is, of a resource with numbers for ids; null = none that could be one. */
export function numberId(text: string): number | null {
  return /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER ? Number(text) : null;
}
