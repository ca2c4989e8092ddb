/** Files that may hold somebody's secrets: told by their names, and by what stands in them as far as that is looked at. */

/** Bytes of a file's beginning that are looked at. */
export const lookedAtBytes = 64 * 1024;

const privateKey = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/;
const tokens: readonly [RegExp, string][] = [
  [privateKey, 'holds a private key'],
  [/\bAKIA[0-9A-Z]{16}\b/, 'holds the key of a cloud account'],
  [/\bgh[pousr]_[A-Za-z0-9]{36,}/, 'holds an access token'],
  [/\bgithub_pat_\w{50,}/, 'holds an access token'],
  [/\bglpat-[\w-]{20,}/, 'holds an access token'],
  [/\bnpm_[A-Za-z0-9]{36}\b/, 'holds a token of a package registry'],
  [/\bxox[abprs]-[\w-]{20,}/, 'holds an access token'],
  [/"private_key_id"\s*:\s*"[0-9a-f]{20,}"/, 'holds the key of a service account'],
];

/** Settings of package managers with a token that is written out instead of being named as a variable. */
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
/** Names that show what a file would look like, and public halves. */
const harmless = /\.(?:example|sample|template|dist|defaults?|pub)$/;

/** Why a file looks as if it held a secret, or null. `beginning`: its first bytes, as many as were looked at. */
export function secretIn(path: string, beginning: Buffer): string | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const text = beginning.toString('latin1');
  if (literalTokens[name]?.test(text))
    return 'holds a token that is written out; name a variable instead: ${NAME}';
  for (const [pattern, words] of tokens) if (pattern.test(text)) return words;
  // A certificate is nobody's secret, and a key in this form has been seen above.
  const lower = name.toLowerCase();
  if (names.some((pattern) => pattern.test(lower)) && !harmless.test(lower))
    return 'looks like a file of secrets';
  return null;
}

/** Whether a file would be warned of for its name alone. */
export function hasSecretName(path: string): boolean {
  return secretIn(path, Buffer.alloc(0)) !== null;
}
