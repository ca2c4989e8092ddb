import { isFields, parsedJson } from '../../json-values.ts';

/** The parts of a secret that are secret by themselves: its lines, and the credentials in a JSON document. */

/** Shorter lines are too common to be masked alone. */
const shortestLine = 8;
/** Lines of one secret that are masked alone; a longer file is masked by these and as a whole. */
const maxLines = 2000;

// The first and last lines of keys and certificates are the same in all of them.
const publicLine = /^-----(?:BEGIN|END) [A-Z0-9 ]{1,40}-----$/;
/** Names of members whose values are credentials. Addresses and names next to them are not. */
const credential = /key|secret|token|passw|passphrase|credential/i;
const notCredential = /(?:uri|url|type|name|alg|algorithm)$/i;

/**
 * Lines of 8 bytes and more of a secret of several lines, without the white space around them, and the values of
 * credentials if the secret is a JSON document. Line ends that are written as `\n` count too. The secret itself is not
 * among them; the list has no duplicates.
 */
export function secretParts(value: string): string[] {
  const parts = new Set<string>();
  for (const text of [value, ...credentialsIn(value)]) {
    if (text !== value) addPart(parts, text);
    for (const unescaped of [text, text.replaceAll('\\r', '').replaceAll('\\n', '\n')]) {
      if (!/[\r\n]/.test(unescaped)) continue;
      const lines = unescaped.split(/[\r\n]+/).slice(0, maxLines);
      for (const line of lines) addPart(parts, line);
    }
  }
  parts.delete(value.trim());
  return [...parts];
}

function addPart(parts: Set<string>, text: string): void {
  const trimmed = text.trim();
  if (Buffer.byteLength(trimmed) >= shortestLine && !publicLine.test(trimmed)) parts.add(trimmed);
}

function credentialsIn(value: string): string[] {
  if (!/^\s*\{/.test(value)) return [];
  const document = parsedJson(value);
  if (!isFields(document)) return [];
  return Object.entries(document).flatMap(([name, inner]) =>
    typeof inner === 'string' && credential.test(name) && !notCredential.test(name) ? [inner] : [],
  );
}
