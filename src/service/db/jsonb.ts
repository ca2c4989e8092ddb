/**
 * `value` as JSON that PostgreSQL's jsonb takes: it has no NUL and no half of a surrogate pair, which JavaScript's
 * strings may hold. Either becomes U+FFFD.
 */
export function toJsonb(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  // JSON.stringify writes whole pairs as they are: an escaped surrogate is always half of one.
  if (!text.includes('\\u')) return text;
  return text.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|[^])/g, (escape) =>
    escape === '\\u0000' || escape.startsWith('\\ud') ? '\\ufffd' : escape,
  );
}
