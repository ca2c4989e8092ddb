/** Headers whose values never leave, whether or not they are a known secret. */

const sensitive = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
]);

const lengths = [...sensitive].reduce((bits, name) => bits | (1 << name.length), 0);

/** Whether a header's value is always masked; names are compared without case. */
export function isSensitiveHeader(name: string): boolean {
  // Most names differ in length already: this runs for every key of every result.
  return name.length < 32 && (lengths & (1 << name.length)) !== 0 && sensitive.has(name.toLowerCase());
}
