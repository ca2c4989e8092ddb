import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Texts that break programs: the list of https://github.com/minimaxir/big-list-of-naughty-strings, 1.0.0 (MIT).
 */
export const naughtyStrings = JSON.parse(
  readFileSync(join(import.meta.dirname, '../fixtures/naughty-strings/blns.json'), 'utf8'),
) as readonly string[]; // a list of texts
