import { isFields, type Fields } from '../../json-values.ts';
import { shortened } from '../../shortened.ts';
import { mask } from './states.ts';

/** Differences between two states of a resource, property by property. */

/** A secret is named, and its values are never shown. */
export type Difference =
  { property: string; before: unknown; after: unknown } | { property: string; isSecret: true };

/** Longest text that a difference shows. */
const longestText = 300;
/** Differences of one resource. */
const most = 100;

const shown = (value: unknown): unknown => {
  if (value === undefined) return null;
  if (typeof value === 'string') return shortened(value, longestText);
  const text = JSON.stringify(value);
  return typeof value === 'object' && text.length > longestText ? shortened(text, longestText) : value;
};

/** Members by name: fields, or the entries of a list by their `key` where each has one. */
function members(value: unknown): Map<string, unknown> | null {
  if (isFields(value)) return new Map(Object.entries(value));
  if (!Array.isArray(value) || value.length === 0) return null;
  const keys = value.map((item: unknown) => (isFields(item) ? item['key'] : undefined));
  const areKeys =
    keys.every((key) => typeof key === 'string' && key !== '') && new Set(keys).size === keys.length;
  return areKeys ? new Map(value.map((item: unknown, index) => [String(keys[index]), item])) : null;
}

/** The properties in which two states differ. */
export function differencesOf(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = [];
  const visit = (old: unknown, now: unknown, path: string): void => {
    if (found.length >= most || JSON.stringify(old) === JSON.stringify(now)) return;
    const [from, to] = [members(old), members(now)];
    if (from !== null && to !== null) {
      for (const name of new Set([...from.keys(), ...to.keys()])) {
        visit(from.get(name), to.get(name), path === '' ? name : `${path}.${name}`);
      }
      return;
    }
    if (canonicalEqual(old, now)) return;
    if (old === mask || now === mask) found.push({ property: path, isSecret: true });
    else found.push({ property: path, before: shown(old), after: shown(now) });
  };
  visit(before, after, '');
  return found;
}

/** Equal although the order of the fields differs. */
const canonicalEqual = (one: unknown, other: unknown): boolean =>
  isFields(one) && isFields(other) && Object.keys(one).length === 0 && Object.keys(other).length === 0;

/** Secret properties whose values differ between two payloads. `state` shows which properties are secret. */
export function changedSecrets(old: Fields, now: Fields, state: Fields): Difference[] {
  const found: Difference[] = [];
  const visit = (from: unknown, to: unknown, at: unknown, path: string): void => {
    if (at === mask) {
      if (from !== to && typeof to === 'string' && to !== '' && to !== mask) {
        found.push({ property: path, isSecret: true });
      }
      return;
    }
    const [names, toMembers, fromMembers] = [members(at), members(to), members(from)];
    if (names === null || toMembers === null) return;
    for (const [name, member] of names) {
      visit(fromMembers?.get(name), toMembers.get(name), member, path === '' ? name : `${path}.${name}`);
    }
  };
  visit(old, now, state, '');
  return found;
}
