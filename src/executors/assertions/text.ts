import { shortened } from '../../shortened.ts';

/** Maximum size in bytes of a found value in a result. */
export const actualLimitBytes = 10 * 1024;

/** Maximum length of a value in a message. */
const shownLength = 200;

/** A found value for a result: the value itself if its JSON text takes at most 10 KB, else the start of that text. */
export function actualOf(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value === 'string') return cutText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  const json = new JsonStart(actualLimitBytes + 1);
  json.write(value, 0);
  const cut = cutText(json.text);
  return cut.length === json.text.length && json.plain ? value : cut;
}

/** The start of a text for a result; the mark tells the scrubber where it was cut. */
function cutText(text: string): string {
  const cut = cutBytes(text, actualLimitBytes - 3);
  return cut.length === text.length ? text : shortened(text, cut.length);
}

/** A value for a message: JSON text, cut to 200 characters. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const json = new JsonStart(shownLength + 1);
  json.write(value, 0);
  return shortened(json.text, shownLength);
}

/**
 * The JSON text of a JSON value; bigints as their digits. If it is longer than `limit`, at least its first `limit`
 * characters.
 */
export function jsonStart(value: unknown, limit: number): string {
  const json = new JsonStart(limit);
  json.write(value, 0);
  return json.text;
}

/** The longest start of `text` that takes at most `limitBytes` in UTF-8 and splits no character. */
export function cutBytes(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes) return text; // UTF-8 takes at most three bytes per UTF-16 unit
  if (text.length <= limitBytes && Buffer.byteLength(text) <= limitBytes) return text;
  const bytes = Buffer.from(text.slice(0, limitBytes));
  let end = Math.min(limitBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--; // a continuation byte does not start a character
  return bytes.toString('utf8', 0, end);
}

/** Writes JSON text until it is long enough, so that a document of 25 MB costs no more than the part that is shown. */
class JsonStart {
  text = '';
  /** True while the value can be passed to JSON.stringify unchanged. */
  plain = true;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  write(value: unknown, depth: number): void {
    if (typeof value === 'string') {
      // One character of text makes at least one of JSON, so a cut beyond the limit is never visible.
      this.text += JSON.stringify(value.length > this.#limit ? value.slice(0, this.#limit) : value);
    } else if (typeof value === 'bigint') {
      this.plain = false;
      this.text += String(value);
    } else if (typeof value !== 'object' || value === null) {
      this.text += String(value);
    } else if (depth > 200) {
      this.plain = false; // deeper text does not help a reader
      this.text += '…';
    } else if (Array.isArray(value)) {
      this.text += '[';
      for (let i = 0; i < value.length && this.text.length < this.#limit; i++) {
        if (i > 0) this.text += ',';
        this.write(value[i], depth + 1);
      }
      this.text += ']';
    } else {
      this.text += '{';
      let first = true;
      for (const key in value) {
        if (this.text.length >= this.#limit) break;
        if (!first) this.text += ',';
        first = false;
        this.text += `${JSON.stringify(key)}:`;
        this.write((value as Record<string, unknown>)[key], depth + 1); // a key of the object itself
      }
      this.text += '}';
    }
  }
}
