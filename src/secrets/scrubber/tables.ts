import { encodedForms, shortSecretBytes } from '../forms/forms.ts';
import { secretParts } from '../forms/parts.ts';
import { json } from '../forms/text-escapes.ts';
import { buildMatcherTables, type MatcherTables } from '../matcher/tables.ts';
import type { Pattern } from '../matcher/pattern-store.ts';
import { mask } from '../secret.ts';

/** A secret and the variable that contains it; the name may be shown, the value never. */
export type NamedSecret = { readonly name: string; readonly value: string };

/** Everything that a scrubber searches with. It can be cloned between threads. */
export type ScrubberTables = {
  readonly matcher: MatcherTables;
  /** Values that are masked if they are a whole text. */
  readonly exactTexts: ReadonlySet<string>;
  readonly warnings: readonly string[];
  /** Why nothing may leave: there are too many secrets to search for. Null = they are all in the tables. */
  readonly withheld: string | null;
};

/** Bytes of all values of one run. With more of them, everything is withheld. */
export const maxSecretBytes = 4 * 1024 * 1024;
/** Bytes of all forms of a run's secrets; beyond that, only the common forms of each further secret are added. */
export const maxFormBytes = 32 * 1024 * 1024;

// Too common to be secret, and some occur in every artifact.
const neverMasked = new Set(['/', '*', 'https://', 'http://', mask, '123']);

/**
 * The tables for `secrets`; skips empty values and values that would mask everything. Building them takes up to
 * several seconds for the largest sets (see table-thread.ts).
 */
export function buildTables(secrets: readonly NamedSecret[]): ScrubberTables {
  const valueBytes = secrets.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
  if (valueBytes > maxSecretBytes) return withheldTables(tooManyBytes);
  const warnings: string[] = [];
  const exactTexts = new Set<string>();
  const patterns: Pattern[] = [];
  const seen = new Set<string>();
  let formBytes = 0;

  const addForms = (value: string): void => {
    if (seen.has(value)) return;
    seen.add(value);
    for (const bytes of encodedForms(value, formBytes < maxFormBytes ? 'all' : 'common')) {
      formBytes += bytes.length;
      patterns.push({ bytes });
    }
  };

  for (const { name, value } of secrets) {
    if (value === '') continue;
    if (neverMasked.has(value) || value.trim() === '') {
      warnings.push(`${name}: the value is too common to be masked; choose another one`);
      continue;
    }
    const short =
      Buffer.byteLength(value.trim()) < shortSecretBytes && Buffer.byteLength(value) < shortSecretBytes;
    if (short) {
      warnings.push(
        `${name}: the value has fewer than ${shortSecretBytes} bytes and is masked only where it is a whole value; choose a longer one`,
      );
    }
    if (exactTexts.has(value)) continue;
    exactTexts.add(value);
    if (short) {
      patterns.push(...quotedForms(value));
      continue;
    }
    addForms(value);
    for (const part of secretParts(value)) addForms(part);
  }
  return { matcher: buildMatcherTables(patterns), exactTexts, warnings, withheld: null };
}

/** Tables without a secret, for a scrubber that lets nothing through. */
export function withheldTables(why: string): ScrubberTables {
  return { matcher: buildMatcherTables([]), exactTexts: new Set(), warnings: [], withheld: why };
}

const tooManyBytes = `the run has more than ${maxSecretBytes} bytes of secrets, the limit for masking them`;

/** A short value as a complete string of JSON text, if that is long enough to search for; the quotes are kept. */
function quotedForms(value: string): Pattern[] {
  return [
    ['"', json(value)],
    ['\\"', json(json(value))],
    ['&quot;', json(value)],
  ]
    .map(([quote = '', inner = '']) => ({
      bytes: Buffer.from(quote + inner + quote),
      lead: quote.length,
      trail: quote.length,
    }))
    .filter(({ bytes }) => bytes.length >= shortSecretBytes);
}
