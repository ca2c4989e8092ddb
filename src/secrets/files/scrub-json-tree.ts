import type { ArtifactScrubbing } from './artifact-scrubbing.ts';
import { mask } from '../secret.ts';
import { isSensitiveHeader } from '../../sensitive-headers.ts';
import { maskHeaderLines, maskPrintedHeaders } from '../tree/sensitive-headers.ts';
import { isByteList } from '../tree/scrub-tree.ts';
import { isObject } from '../../json-values.ts';

export type TreeKind = {
  /** An event of a Playwright trace, whose references to files and pages must be kept for the trace to open. */
  readonly trace: boolean;
  /** Whether numbers that are a secret are masked. Times and sizes of traces never are. */
  readonly numbers: boolean;
  /** Whether texts must be searched; otherwise only headers. */
  readonly texts: boolean;
  /** Whether a text certainly contains no secret; null = this is not known for any text. */
  readonly isSure: ((text: string) => boolean) | null;
};

type Entry = { [key: string]: unknown };

// Deeper trees come only from hostile input, and would overflow the stack.
const maxDepth = 1000;

/** Keys of a trace whose values are references (field practice: traces with masks in them do not open). */
const referenceKey = /^(?:.*sha1|file|pageref|pageId|frameId|guid|downloadsPath|tracesDir)$/i;
/** The forms of references: a file by its digest, a page's id, a picture of a page, a folder. */
const reference =
  /^(?:(?:[a-z]+\/)?[0-9a-f]{40}(?:\.[A-Za-z0-9]{1,8})?|(?:[a-z]+\/)?[a-z]+@[0-9a-f]{32}(?:-\d+\.jpe?g)?|(?:\/|[A-Za-z]:\\).*)$/;
const folderKeys = new Set(['downloadsPath', 'tracesDir']);

/**
 * Masks secrets and the values of sensitive headers and cookies in `tree`, which is fresh from JSON.parse: in header
 * maps, in lists of {name or key, value}, in flat lists of names and values, and in request logs. Changes `tree` in
 * place.
 */
export function scrubJsonTree(tree: unknown, scrubbing: ArtifactScrubbing, kind: TreeKind): unknown {
  return clean(tree, '', 0);

  function clean(value: unknown, key: string, depth: number): unknown {
    if (typeof value === 'string') return cleanText(value, key, depth);
    if (typeof value === 'number') return kind.numbers ? scrubbing.scrubber.json(value) : value;
    if (!isObject(value)) return value;
    if (depth > maxDepth) {
      scrubbing.changed();
      return mask;
    }
    if (Array.isArray(value)) return cleanList(value, key, depth);
    return cleanObject(value as Entry, key, depth); // JSON has no other objects
  }

  function cleanText(text: string, key: string, depth: number): string {
    if (kind.trace && depth === 1 && key === 'type') return text;
    if (kind.trace && isReference(key, text)) return text;
    const shown = withoutHeaders(text, key);
    return kind.texts && kind.isSure?.(shown) !== true ? scrubbing.scrubber.json(shown) : shown;
  }

  /** Errors contain request logs, and `text` is output of a script or a page. */
  function withoutHeaders(text: string, key: string): string {
    if (kind.trace && key === 'message') return maskHeaderLines(text, scrubbing.headers);
    if (key !== 'text') return text;
    const shown = maskPrintedHeaders(text);
    if (shown !== text) scrubbing.headers.maskedCount++;
    return shown;
  }

  function isReference(key: string, text: string): boolean {
    if (!referenceKey.test(key) || !reference.test(text)) return false;
    if (text.startsWith('/') || text[1] === ':') return folderKeys.has(key);
    // Part of a digest may equal a short secret; only a secret of a digest's length is masked.
    const spans = scrubbing.scrubber.find(Buffer.from(text));
    return (spans[1] ?? 0) - (spans[0] ?? 0) < 32;
  }

  function cleanList(list: unknown[], key: string, depth: number): unknown[] {
    if (kind.texts && isByteList(list)) {
      const bytes = Buffer.from(list);
      const shown = scrubbing.scrubber.bytes(bytes);
      if (shown !== bytes) return [...shown];
    }
    const flatHeaders = /headers$/i.test(key) && !list.some((item) => typeof item !== 'string');
    for (let i = 0; i < list.length; i++) {
      const item = list[i];
      const name = list[i - 1];
      if (flatHeaders && i % 2 === 1 && typeof name === 'string' && isSensitiveHeader(name)) {
        list[i] = masked(item);
      } else if (/^cookies$/i.test(key) && isObject(item) && 'value' in item) {
        item.value = masked(item.value);
        list[i] = clean(item, '', depth + 1);
      } else {
        list[i] = clean(item, key, depth + 1);
      }
    }
    return list;
  }

  function cleanObject(entry: Entry, key: string, depth: number): Entry {
    const { name, key: keyName } = entry;
    const namesHeader =
      (typeof name === 'string' && isSensitiveHeader(name)) ||
      (typeof keyName === 'string' && isSensitiveHeader(keyName));
    let renamed: [string, unknown][] | null = null;
    const keys = Object.keys(entry);
    const taken = new Set<string>();
    for (const [i, property] of keys.entries()) {
      const value = entry[property];
      const hidden =
        (namesHeader && property === 'value') ||
        (isSensitiveHeader(property) && isHeaderValue(value)) ||
        (key === 'httpCredentials' && property === 'password');
      const next = hidden ? masked(value) : clean(value, property, depth + 1);
      // Names of the trace's own fields are never secrets, even if they match one.
      let shown = property;
      if (kind.texts && !(kind.trace && depth === 0) && kind.isSure?.(property) !== true) {
        shown = scrubbing.scrubber.text(property);
      }
      // Two keys may become the same mask; neither entry may be lost.
      while (taken.has(shown)) shown += '*';
      if (shown !== property) renamed ??= keys.slice(0, i).map((earlier) => [earlier, entry[earlier]]);
      taken.add(shown);
      if (renamed !== null) renamed.push([shown, next]);
      else if (next !== value) set(entry, property, next);
    }
    return renamed === null ? entry : (Object.fromEntries(renamed) as Entry);
  }

  function masked(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(masked);
    if (value === mask || !(typeof value === 'string' || typeof value === 'number')) return value;
    if (value === '') return value;
    scrubbing.headers.maskedCount++;
    return mask;
  }
}

const isHeaderValue = (value: unknown): boolean =>
  typeof value === 'string' ||
  typeof value === 'number' ||
  (Array.isArray(value) && value.every((item) => typeof item === 'string'));

/** Also works for a property called `__proto__`, which JSON may have. */
function set(entry: Entry, property: string, value: unknown): void {
  Object.defineProperty(entry, property, { value, enumerable: true, configurable: true, writable: true });
}
