/** What differs between two JSON documents: a pure function, and the counterpart of `overlaid` in SQL. */

type Fields = { [key: string]: unknown };

/** Parts that a difference always has in full, because statements read them without the base (analytics/measures.ts). */
const kept = new Set(['/timings', '/details/response/status', '/details/packetLoss', '/details/latency']);

/**
 * The object that, laid over `base`, gives `body`. Undefined: there is none, because `body` lacks something that `base`
 * has.
 */
export function differenceOf(base: unknown, body: unknown): unknown {
  return isFields(base) && isFields(body) ? fieldsOf(base, body, '') : undefined;
}

function fieldsOf(base: Fields, body: Fields, path: string): Fields | undefined {
  for (const key of Object.keys(base)) if (!Object.hasOwn(body, key)) return undefined;
  // Without a prototype, so that any key is a key like others.
  const difference = Object.create(null) as Fields;
  for (const [key, value] of Object.entries(body)) {
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    const own = `${path}/${key}`;
    if (isFields(before) && isFields(value)) {
      const inner = fieldsOf(before, value, own);
      if (inner === undefined) return undefined;
      if (kept.has(own)) difference[key] = value;
      else if (Object.keys(inner).length > 0) difference[key] = inner;
    } else if (kept.has(own) || JSON.stringify(before) !== JSON.stringify(value)) difference[key] = value;
  }
  return difference;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
