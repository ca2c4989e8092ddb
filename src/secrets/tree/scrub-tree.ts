import { isSensitiveHeader } from '../../sensitive-headers.ts';
import { mask } from '../secret.ts';
import { isObject } from '../../json-values.ts';

/** How the strings, numbers and bytes of a tree are judged. */
export type TreeRules = {
  /** Shorter strings contain no secret, but may be a whole one. */
  readonly shortestText: number;
  /** Whether any of these texts, joined by NUL, contains a secret. */
  holdsSecret(joined: string): boolean;
  text(text: string): string;
  /** Whether a text must change although no secret is seen in it: it was cut within one, or has colours or headers. */
  hidesSecret(text: string): boolean;
  bytes(bytes: Buffer): Buffer;
  /** Texts that are masked if they are a whole value. */
  readonly exactTexts: ReadonlySet<string>;
  /** Length of the longest of them, in UTF-16 units. */
  readonly maxExactLength: number;
  readonly exactNumbers: ReadonlySet<number>;
  /** Called once for each value that was masked as a whole. */
  masked(): void;
};

// Deeper trees come only from hostile input, and would overflow the stack.
const maxDepth = 400;

type Entry = { readonly [key: string]: unknown };
const asEntry = (value: object): Entry => value as Entry; // any object can be read by key

/** A possible value of a sensitive header: a string or number, or a list of them. */
const isHeaderValue = (value: unknown): boolean =>
  (typeof value === 'string' && value !== mask) ||
  typeof value === 'number' ||
  (Array.isArray(value) &&
    value.some((item) => typeof item === 'number' || (typeof item === 'string' && item !== mask)));

/** The name in `{name, value}` or `{key, value}` if it is a sensitive header's. */
function namesSensitive(entry: Entry): boolean {
  const value = entry['value'];
  if (value === undefined) return false;
  const { name, key } = entry;
  return (
    (typeof name === 'string' && isSensitiveHeader(name)) ||
    (typeof key === 'string' && isSensitiveHeader(key))
  );
}

/** Whether `list[index]` is a value in a flat list of names and values. */
function followsSensitiveName(list: readonly unknown[], index: number): boolean {
  const name = list[index - 1];
  const value = list[index];
  return (
    index % 2 === 1 &&
    typeof name === 'string' &&
    isSensitiveHeader(name) &&
    !(typeof value === 'string' && isSensitiveHeader(value)) &&
    isHeaderValue(value)
  );
}

// A shorter list cannot contain a secret that is masked within other text.
const shortestByteList = 6;

/** Whether `list` has the form of bytes, as `Buffer.toJSON` writes them. */
export function isByteList(list: readonly unknown[]): list is readonly number[] {
  return (
    list.length >= shortestByteList &&
    list.every((item) => typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255)
  );
}

function isWhole(text: string, rules: TreeRules): boolean {
  return text.length <= rules.maxExactLength && rules.exactTexts.has(text);
}

/**
 * `tree` without secrets: a copy where something changed, the same reference elsewhere. Strings, keys, numbers and
 * bytes are checked; sensitive headers are masked in header maps, in lists of {name or key, value} and in flat lists of
 * names and values.
 */
export function scrubTree(tree: unknown, rules: TreeRules): unknown {
  const texts: string[] = [];
  if (!hasWork(tree, rules, texts, 0)) {
    if (texts.length === 0 || !rules.holdsSecret(texts.length === 1 ? (texts[0] ?? '') : texts.join('\0')))
      return tree;
  }
  return rebuild(tree, rules, []);
}

/** Whether something certainly has to change; otherwise `texts` has all strings that are long enough for a secret. */
function hasWork(value: unknown, rules: TreeRules, texts: string[], depth: number): boolean {
  if (typeof value === 'string') {
    if (value.length * 3 >= rules.shortestText) texts.push(value);
    return isWhole(value, rules) || rules.hidesSecret(value);
  }
  if (typeof value === 'number') return rules.exactNumbers.size > 0 && rules.exactNumbers.has(value);
  if (!isObject(value)) return typeof value === 'bigint';
  if (depth > maxDepth) return true;
  if (Array.isArray(value)) {
    if (isByteList(value)) texts.push(value.join(','));
    for (let i = 0; i < value.length; i++) {
      if (followsSensitiveName(value, i) || hasWork(value[i], rules, texts, depth + 1)) return true;
    }
    return false;
  }
  const entry = asEntry(value);
  if (value instanceof Uint8Array || typeof entry['toJSON'] === 'function') return true;
  for (const key of Object.keys(entry)) {
    const item = entry[key];
    if (key.length * 3 >= rules.shortestText) texts.push(key);
    if (isSensitiveHeader(key) && isHeaderValue(item)) return true;
    if (key === 'value' && namesSensitive(entry) && isHeaderValue(item)) return true;
    if (hasWork(item, rules, texts, depth + 1)) return true;
  }
  return false;
}

function rebuild(value: unknown, rules: TreeRules, ancestors: object[]): unknown {
  if (typeof value === 'string') {
    if (!isWhole(value, rules)) return rules.text(value);
    rules.masked();
    return mask;
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    const whole =
      typeof value === 'number' ? rules.exactNumbers.has(value) : rules.exactTexts.has(String(value));
    if (!whole)
      return typeof value === 'bigint' && rules.text(String(value)) !== String(value) ? mask : value;
    rules.masked();
    return mask;
  }
  if (!isObject(value)) return value;
  // A circular or absurdly deep value could not be sent anyway.
  if (ancestors.length > maxDepth || ancestors.includes(value)) return mask;
  if (value instanceof Uint8Array) return rebuildBytes(value, rules);
  const { toJSON } = asEntry(value);
  ancestors.push(value);
  try {
    if (typeof toJSON === 'function') {
      const plain: unknown = toJSON.call(value, '');
      const clean =
        plain === value ? rebuildObject(value, rules, ancestors) : rebuild(plain, rules, ancestors);
      return clean === plain ? value : clean;
    }
    return Array.isArray(value)
      ? rebuildList(value, rules, ancestors)
      : rebuildObject(value, rules, ancestors);
  } finally {
    ancestors.pop();
  }
}

function rebuildBytes(value: Uint8Array, rules: TreeRules): Uint8Array {
  const bytes = Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const clean = rules.bytes(bytes);
  return clean === bytes ? value : clean;
}

function rebuildList(list: readonly unknown[], rules: TreeRules, ancestors: object[]): readonly unknown[] {
  if (isByteList(list)) {
    const bytes = Buffer.from(list);
    const clean = rules.bytes(bytes);
    if (clean !== bytes) return [...clean];
  }
  let copy: unknown[] | null = null;
  for (let i = 0; i < list.length; i++) {
    const clean = followsSensitiveName(list, i)
      ? maskHeader(list[i], rules)
      : rebuild(list[i], rules, ancestors);
    if (clean === list[i]) continue;
    copy ??= [...list];
    copy[i] = clean;
  }
  return copy ?? list;
}

function rebuildObject(value: object, rules: TreeRules, ancestors: object[]): object {
  const entry = asEntry(value);
  const masksValue = namesSensitive(entry);
  const entries: [string, unknown][] = [];
  const taken = new Set<string>();
  let changed = false;
  for (const key of Object.keys(entry)) {
    const item = entry[key];
    const header = (isSensitiveHeader(key) || (masksValue && key === 'value')) && isHeaderValue(item);
    const clean = header ? maskHeader(item, rules) : rebuild(item, rules, ancestors);
    let name = rules.text(key);
    if (name !== key || clean !== item) changed = true;
    // Two keys may become the same mask; neither entry may be lost.
    while (taken.has(name)) name += '*';
    taken.add(name);
    entries.push([name, clean]);
  }
  return changed ? Object.fromEntries(entries) : value;
}

/** A header's values as masks; a list remains a list. */
function maskHeader(value: unknown, rules: TreeRules): unknown {
  if (Array.isArray(value)) return value.map((item) => maskHeader(item, rules));
  if (value === mask) return value;
  rules.masked();
  return mask;
}
