import { createHash } from 'node:crypto';

/** Removes the variable parts of error messages, so that errors of the same kind have the same message. Pure. */

/** Limits in characters: of a raw message, of a cleaned message, and of a quoted value. */
const maxRaw = 8_192;
const maxCleaned = 500;
const maxQuoted = 60;

export const noMessage = 'an error without a message';

type Rule = readonly [pattern: RegExp, replacement: string];

const units =
  'ms|msecs?|milliseconds?|µs|us|ns|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|years?';
const bytes = 'bytes?|[kmgt]i?b';
/** The digits and parts are limited, so that the search is not repeated from each number of a list of thousands. */
const amount = String.raw`(?<![\w.])\d{1,40}(?:[.,]\d{1,40}){0,5}`;
const monthNames = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec';
const dayNames = 'mon|tue|wed|thu|fri|sat|sun';

/** Text around the message: call logs, stack frames, lines of code. */
const surroundings: readonly Rule[] = [
  [/\n\s*Call log:[^]*$/i, ''],
  [/^[ \t]+at [^\n]*$/gm, ''],
  [/^[ \t]*>?[ \t]*\d*[ \t]*\|[^\n]*$/gm, ''],
];

/** The order matters: longer and more specific patterns come first. */
const rules: readonly Rule[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+\b/g, '<email>'],
  // Times: ISO 8601, RFC 7231, and dates or times without the other part.
  [
    /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: ?(?:Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?/g,
    '<time>',
  ],
  [
    new RegExp(
      `\\b(?:(?:${dayNames})[a-z]{0,6},? )?(?:\\d{1,2}[ -](?:${monthNames})[a-z]{0,6}|(?:${monthNames})[a-z]{0,6} \\d{1,2}(?:st|nd|rd|th)?\\b),?(?:[ -]\\d{4})?(?:,? (?:at )?\\d{1,2}:\\d\\d(?::\\d\\d)?(?: ?[ap]m)?)?(?: (?:GMT|UTC)(?:[+-]\\d{4})?(?: \\([a-z][a-z ]{2,40}\\))?)?`,
      'gi',
    ),
    '<time>',
  ],
  [/\b\d{1,4}[/.]\d{1,2}[/.]\d{4}\b|\b\d{4}\/\d{1,2}\/\d{1,2}\b/g, '<time>'],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[ap]m)?\b/gi, '<time>'],
  [/\b\d{1,2}:\d\d ?[ap]m\b/gi, '<time>'],
  [/\b\d{8}T\d{4,6}(?:[.,]\d+)?(?:Z|[+-]\d{4})?\b/g, '<time>'],
  // IP addresses, with or without a port.
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '<address>'],
  [
    /\[[0-9a-f:]*:[0-9a-f:.]*\](?::\d{1,5})?|(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?:%\w{1,20})?(?![\w:])/gi,
    '<address>',
  ],
];

const url = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)([^\s"'`<>()\\]+)/gi;
const fileUrl = /\bfile:\/\/\/?[^\s"'`<>()]+/gi;
const path =
  /(?<![\w<>:/.-])(?:(?:[a-z]:|\\\\[\w.$-]+)\\(?:[\w .$@-]+\\)*[\w.$@-]+|[a-z]:\/(?:[\w.$@%+~-]+\/)*[\w.$@%+~-]+|(?:~|\.{1,2})?\/(?:[\w.$@%+~-]+\/)+[\w.$@%+~-]*)(?::\d+){0,2}/gi;
const sourceFile =
  /\b([\w$@-]{1,80}(?:\.[\w$@-]{1,40}){0,4}\.(?:[cm]?[jt]sx?|py|go|java|rb|php|html?))(?::\d+){1,2}/g;

const laterRules: readonly Rule[] = [
  [/\bline \d+(?:,? col(?:umn)? \d+)?/gi, 'line <number>'],
  [/\b0x[0-9a-f]+\b/gi, '<id>'],
  // Hexadecimal numbers that contain a digit, and long tokens of letters and digits.
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b/gi, '<id>'],
  [/(?<![\w<-])(?=[\w-]{0,199}\d)(?=[\w-]{0,199}[a-z])[\w-]{20,}/gi, '<id>'],
  // A series of durations is replaced by one: `1h 30m`, `1m30s`.
  [/(?<![\w.])\d+(?:\.\d+)?[dhm](?:\d+(?:\.\d+)?(?:ms|[hms])){1,4}\b/gi, '<duration>'],
  [new RegExp(`${amount} ?(?:${units})\\b(?: ${amount} ?(?:${units})\\b){0,4}`, 'gi'), '<duration>'],
  [new RegExp(`${amount} ?(?:${bytes})\\b`, 'gi'), '<size>'],
];

/** Names that contain a digit but are no numbers. */
const named = String.raw`\b(?:IPv[46]|HTTP\/[123](?:\.[01])?|UTF-?(?:8|16)|SHA-?(?:1|256|384|512)|TLS ?v?1\.[0-3]|SSLv[23]|X\.?509|base64|OAuth2|h[23]|ES\d{1,4}|PKCS#?\d\d?|MD5|S3|EC2)\b`;
const number = new RegExp(String.raw`(${named})|[-+]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?%?`, 'gi');

/** At least two characters between quotes, whose opening quote does not follow a letter or digit. */
const quoted = /(?<![\w])(["'`])((?:(?!\1)[^\n\\]|\\.){1,2000}?)\1(?!\w)/g;
/** Words before a quoted text that mark it as the received value, not the expected one. */
const found =
  /(?:received|actual(?: value)?|got|found|but (?:is|was|it is|it was)|returned|answered)(?: (?:string|value))?:? ?$/i;

/**
 * Removes colours, ids, numbers, times, durations, addresses, variable parts of URLs, paths, positions in files and
 * received values. Returns one line of at most 500 characters; never empty.
 */
export function cleanMessage(raw: string | null): string {
  let text = plain(raw ?? '');
  for (const [pattern, replacement] of surroundings) text = text.replace(pattern, replacement);
  text = text.replace(fileUrl, '<path>');
  text = text.replace(url, (_all, scheme: string, rest: string) => scheme.toLowerCase() + cleanUrl(rest));
  for (const [pattern, replacement] of rules) text = text.replace(pattern, replacement);
  text = text.replace(path, '<path>').replace(sourceFile, '$1');
  for (const [pattern, replacement] of laterRules) text = text.replace(pattern, replacement);
  text = text
    .replace(number, (_all, name: string | undefined) => name ?? '<number>')
    .replace(quoted, (all: string, quote: string, value: string, at: number) => {
      const isVariable = value.length > maxQuoted || found.test(text.slice(Math.max(0, at - 40), at));
      return isVariable ? `${quote}<value>${quote}` : all;
    })
    .replace(/\s+/g, ' ')
    .trim();
  return text === '' ? noMessage : cutAt(text, maxCleaned);
}

/** The key of a group: SHA-256 in hex. */
export function hashOfMessage(cleaned: string): string {
  return createHash('sha256').update(cleaned).digest('hex');
}

// oxlint-disable-next-line eslint/no-control-regex -- these characters are removed
const colours = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
// oxlint-disable-next-line eslint/no-control-regex -- these characters are removed
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** Collapses blanks and empty lines, because patterns that begin with them would search each series repeatedly. */
function plain(raw: string): string {
  return (
    raw
      .slice(0, maxRaw)
      .replace(colours, '')
      .replace(controls, ' ')
      .replace(/\p{Surrogate}/gu, ' ')
      // Digits of other scripts count as digits.
      .replace(/(?![0-9])\p{Nd}/gu, '0')
      .replace(/[ \t]+/g, ' ')
      .replace(/\n(?: ?\n)+/g, '\n')
  );
}

/** Keeps host and path of a URL, without the query. A path segment that contains a digit becomes `<id>`. */
function cleanUrl(rest: string): string {
  const [, host = '', pathname = '', end = ''] =
    /^([^/?#]*)([^?#]*?)(?:[?#].*?)?([.,:;!]*)$/.exec(rest) ?? [];
  const parts = pathname.split('/').map((part) => (/\d|%|^.{40}/.test(part) ? '<id>' : part));
  return host.replace(/^.*@/, '').replace(/:\d+$/, '') + parts.join('/') + end;
}

/** Shortens to `length` UTF-16 units without splitting a character. */
function cutAt(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
