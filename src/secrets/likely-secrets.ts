/**
 * Optional detection of texts that look like credentials although nobody declared them as secrets. It guesses by form,
 * so it has false positives and misses credentials without a typical form. It is opt-in and never replaces declared
 * secrets.
 */

export type LikelySecret = { readonly kind: string; readonly value: string };

// The first group is the value. Quantifiers are bounded: the text may be hostile.
const forms: readonly (readonly [kind: string, form: RegExp])[] = [
  [
    'private key',
    /(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{20,20000}?-----END [A-Z ]{0,30}PRIVATE KEY-----)/g,
  ],
  ['JSON web token', /\b(eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{16,2000})/g],
  ['bearer token', /\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,4000}={0,2})/gi],
  ['basic credentials', /\bbasic\s{1,4}([A-Za-z0-9+/]{12,2000}={0,2})(?![A-Za-z0-9])/gi],
  ['access key id', /\b((?:AKIA|ASIA)[A-Z0-9]{16})\b/g],
  ['prefixed token', /\b((?:gh[opsur]_|glpat-|xox[abprs]-|sk_live_|rk_live_|npm_)[A-Za-z0-9_-]{16,255})/g],
  ['password in a URL', /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/"']{1,200}:([^\s@/"']{3,200})@/gi],
  [
    'assignment',
    /(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|credential)["']{0,2}\s{0,3}[:=]\s{0,3}["']{0,2}([^\s"'&;,<>{}()[\]]{8,400})/gi,
  ],
];

// Values from examples and code, not credentials.
const placeholder =
  /^(?:\*+|x+|<.*|\$.*|process\.env.*|undefined|null|true|false|(?:your|my|the)[_-].*|example.*|change.?me.*)$/i;

/** The likely credentials in `text`, without duplicates, at most `most`. */
export function likelySecrets(text: string, most = 100): LikelySecret[] {
  const found = new Map<string, LikelySecret>();
  for (const [kind, form] of forms) {
    for (const match of text.matchAll(form)) {
      if (found.size >= most) return [...found.values()];
      const value = match[1] ?? '';
      if (value !== '' && !placeholder.test(value) && !found.has(value)) found.set(value, { kind, value });
    }
  }
  return [...found.values()];
}
