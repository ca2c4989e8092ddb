/**
 * `value` as JSON that PostgreSQL's jsonb accepts. JavaScript strings may hold NUL and unpaired surrogates, which
 * jsonb does not accept; both become U+FFFD.
 */
export function toJsonb(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  // JSON.stringify writes complete pairs unescaped, so an escaped surrogate is always unpaired.
  if (!text.includes('\\u')) return text;
  return text.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|[^])/g, (escape) =>
    escape === '\\u0000' || escape.startsWith('\\ud') ? '\\ufffd' : escape,
  );
}
