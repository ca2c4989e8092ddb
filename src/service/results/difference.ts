/** What differs between two JSON documents: a pure function, and the counterpart of `overlaid` in SQL. */

type Fields = { [key: string]: unknown };

/** `true` = the difference always has this part in full. */
type Kept = { readonly [key: string]: Kept | true };

/** Statements read these parts without the base (analytics/measures.ts). */
const kept: Kept = {
  timings: true,
  details: { response: { status: true }, packetLoss: true, latency: true },
};
const nothingKept: Kept = {};

/**
 * The object that, laid over `base`, gives `body`. Undefined: there is none, because `body` lacks something that `base`
 * has.
 */
export function differenceOf(base: unknown, body: unknown): unknown {
  return isFields(base) && isFields(body) ? fieldsOf(base, body, kept) : undefined;
}

function fieldsOf(base: Fields, body: Fields, keptHere: Kept): Fields | undefined {
  for (const key of Object.keys(base)) if (!Object.hasOwn(body, key)) return undefined;
  // Without a prototype, so that any key is a key like others.
  const difference = Object.create(null) as Fields;
  for (const key of Object.keys(body)) {
    const value = body[key];
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    const own = Object.hasOwn(keptHere, key) ? keptHere[key] : undefined;
    if (isFields(before) && isFields(value)) {
      const inner = fieldsOf(before, value, own === true || own === undefined ? nothingKept : own);
      if (inner === undefined) return undefined;
      if (own === true) difference[key] = value;
      else if (Object.keys(inner).length > 0) difference[key] = inner;
    } else if (own === true || !isSame(before, value)) difference[key] = value;
  }
  return difference;
}

/** Whether two values of JSON are the same, of which at most one has fields. */
const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (Array.isArray(a) && Array.isArray(b) && JSON.stringify(a) === JSON.stringify(b));

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
