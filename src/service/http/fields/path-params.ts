import Type from 'typebox';
import { uuidPattern } from '../../engine/ids.ts';
import { strict } from './strict-schema.ts';

/** `:id` of a path. Any text is accepted; a text that is not an id gets 404. */
export const IdParams = strict(Type.Object({ id: Type.String() }));

/** Whether a text may be compared with an id column. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** Parses the id of a resource with numeric ids; null = not a possible id. */
export function numberId(text: string): number | null {
  return /^[1-9]\d{0,15}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER ? Number(text) : null;
}
