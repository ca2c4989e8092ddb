/** Hides secret values of a form's content before it is shown, copied or saved as a file. */

export const mask = '*********';

/** Headers whose values are always secret; the service masks the same ones. */
export const sensitiveHeaders: readonly string[] = [
  'authorization',
  'cookie',
  'set-cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
];

type Fields = { readonly [name: string]: unknown };
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a variable, header or parameter has a secret value. Variables may be secret by their name. */
const isSecretPair = (pair: Fields, field: string): boolean =>
  typeof pair['key'] === 'string' &&
  (pair['secret'] === true ||
    pair['locked'] === true ||
    pair['key'].startsWith('SERVICE_SECRET_') ||
    (field === 'headers' && sensitiveHeaders.includes(pair['key'].toLowerCase())));

/** The user's part of a URL may have a password. */
const withoutPassword = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#:@\s]*:)[^/?#@\s]+@/i, `$1${mask}@`);

/** The content with a mask in place of each secret value. Empty values stay empty: they keep the stored value. */
export function masked(value: unknown, field = ''): unknown {
  if (typeof value === 'string') return withoutPassword(value);
  if (Array.isArray(value)) return value.map((item) => masked(item, field));
  if (!isFields(value)) return value;
  const isHidden = isSecretPair(value, field);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isSecret = (isHidden && name === 'value') || (field === 'basicAuth' && name === 'password');
      return [name, isSecret ? (inner === '' ? '' : mask) : masked(inner, name)];
    }),
  );
}

const variableName = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toUpperCase() || 'VALUE';

/** Masked content for a file: each secret value is read from a variable of the environment when the file is applied. */
export function withEnvironment(value: unknown, path: readonly string[]): unknown {
  if (value === mask) return { env: variableName(path.join('_')) };
  if (Array.isArray(value)) return value.map((item) => withEnvironment(item, path));
  if (!isFields(value)) return value;
  const { key } = value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isStored = name === 'value' && inner === '' && value['secret'] === true;
      if (name === 'value' && typeof key === 'string')
        return [name, isStored || inner === mask ? { env: variableName(key) } : inner];
      return [name, withEnvironment(inner, [...path, name])];
    }),
  );
}
