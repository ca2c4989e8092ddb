import { maxNetworkEntries, parseNetworkEntry } from '../addresses/network-entry.ts';
import { toError } from '../errors.ts';
import { fail, text, type Environment } from './read.ts';
import type { VariableName } from './variables.ts';

/** A comma-separated list of networks; null = not set. Throws FatalError (78). */
export function networkList(env: Environment, name: VariableName): readonly string[] | null {
  const value = text(env, name);
  if (value === null) return null;
  const entries = value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  if (entries.length > maxNetworkEntries) fail(`${name} must have at most ${maxNetworkEntries} networks`);
  for (const entry of entries) {
    try {
      parseNetworkEntry(entry);
    } catch (error: unknown) {
      fail(`${name}: ${toError(error).message}`);
    }
  }
  return Object.freeze(entries);
}
