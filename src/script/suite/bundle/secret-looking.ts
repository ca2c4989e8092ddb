/** Detects files that may contain secrets, by their names and by the beginning of their content. */

/** Bytes at a file's beginning that are checked. */
export const inspectedBytes = 64 * 1024;

const privateKey = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/;
const tokens: readonly [RegExp, string][] = [
  [privateKey, 'contains a private key'],
  [/\bAKIA[0-9A-Z]{16}\b/, 'contains the key of a cloud account'],
  [/\bgh[pousr]_[A-Za-z0-9]{36,}/, 'contains an access token'],
  [/\bgithub_pat_\w{50,}/, 'contains an access token'],
  [/\bglpat-[\w-]{20,}/, 'contains an access token'],
  [/\bnpm_[A-Za-z0-9]{36}\b/, 'contains a token of a package registry'],
  [/\bxox[abprs]-[\w-]{20,}/, 'contains an access token'],
  [/"private_key_id"\s*:\s*"[0-9a-f]{20,}"/, 'contains the key of a service account'],
];

/** Settings of package managers with a literal token instead of the name of a variable. */
const literalTokens: { readonly [name: string]: RegExp } = {
  '.npmrc': /^[^#;\n]*(?:_authToken|_auth|_password)\s*=\s*["']?(?!["']?\$\{)[^\s"']/m,
  '.yarnrc': /^[^#\n]*(?:_authToken|_auth|_password)"?\s+["']?(?!["']?\$\{)[^\s"']/m,
  '.yarnrc.yml': /^[^#\n]*(?:npmAuthToken|npmAuthIdent)["']?\s*:\s*["']?(?!["']?\$\{)[^\s"'#]/m,
  'bunfig.toml': /^[^#\n]*(?:token|password)\s*=\s*["'](?!\$)[^"']/m,
};

const names: readonly RegExp[] = [
  /^\.env(?:\..+|rc)?$/,
  /\.(?:key|p12|pfx|jks|keystore|kdbx|ppk)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /^credentials(?:\.json)?$/,
  /^service[-_]account.*\.json$/,
  /^\.(?:netrc|pgpass|htpasswd)$/,
];
/** Names of examples and public keys. */
const harmless = /\.(?:example|sample|template|dist|defaults?|pub)$/;

/** The reason why a file looks secret, or null. `beginning`: its first bytes, as many as are checked. */
export function secretIn(path: string, beginning: Buffer): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const text = beginning.toString('latin1');
  if (literalTokens[name]?.test(text)) return 'contains a literal token; use a variable instead: ${NAME}';
  for (const [pattern, words] of tokens) if (pattern.test(text)) return words;
  // A certificate is not a secret, and a private key in this file would have been found above.
  const lower = name.toLowerCase();
  if (names.some((pattern) => pattern.test(lower)) && !harmless.test(lower))
    return 'looks like a file of secrets';
  return null;
}

/** Whether the name of a file is enough for a warning. */
export function hasSecretName(path: string): boolean {
  return secretIn(path, Buffer.alloc(0)) !== null;
}
