import { inspect } from 'node:util';

/**
 * The ways in which programs write a text inside another text, all string to string. The lists have duplicates for
 * values without special characters; the caller removes them.
 */

const unicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const upperHexDigits = (text: string): string =>
  text.replaceAll(/\\u[0-9a-f]{4}/g, (escape) => `\\u${escape.slice(2).toUpperCase()}`);

// Lower-case escapes for each character of a class; the classes below never match characters that JSON itself has
// escaped.
const escapeUnits = (text: string, units: RegExp): string => text.replaceAll(units, unicodeEscape);

const slashes = (text: string): string => text.replaceAll('/', '\\/');

// eslint-disable-next-line no-control-regex -- control characters are the point: JSON escapes them
const controlOrBackslash = /[\0-\x1f\\]/g;

/** The content of JSON.stringify's string, without its quotes. */
export const json = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Characters that serialisers for web pages escape in JSON, each set as some serialiser has it. */
const safeSets = [
  /</g,
  />/g,
  /&/g,
  /'/g,
  /[<&]/g,
  /[<>&]/g,
  /[<>'&\u2028\u2029]/g,
  /[\u2028\u2029]/g,
  /[<\u2028\u2029]/g,
  /[<>/\u2028\u2029]/g,
];

/** Escapes `text` as common JSON writers do: with escaped slashes, ASCII only, safe inside HTML, everything as \uXXXX. */
export function jsonWritings(text: string): string[] {
  const plain = json(text);
  const everything = escapeUnits(text, /[^]/g);
  const lower = [plain, escapeUnits(plain, /[^\0-\x7e]/g)];
  if (/[<>&'+=`"/\u2028\u2029]/.test(text)) {
    // The quote itself as \u0022: start from a text in which only control characters and backslashes are escaped.
    const noQuotes = text.replaceAll(controlOrBackslash, json);
    for (const safe of [
      escapeUnits(plain, /[<>&\u2028\u2029]/g),
      ...safeSets.map((set) => escapeUnits(plain, set)),
      escapeUnits(plain, /[<>]/g),
      escapeUnits(plain, /[<>&']/g),
      escapeUnits(plain, /[<>&'=]/g),
      escapeUnits(noQuotes, /[<>&'"]/g),
      escapeUnits(noQuotes, /[<>&'"+`]/g),
      escapeUnits(noQuotes, /[<>&'"=\-;`]/g),
    ]) {
      lower.push(safe, escapeUnits(safe, /[^\0-\x7e]/g));
    }
  }
  lower.push(...lower.map(slashes));
  return [...lower, ...lower.slice(1).map(upperHexDigits), everything, upperHexDigits(everything)];
}

/** JSON text as most serialisers for web pages write it. */
export const htmlSafeJson = (inJson: string): string => escapeUnits(inJson, /[<>&\u2028\u2029]/g);

const echoed: { readonly [letter: string]: string } = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

/**
 * Prints `text` like `echo` of a POSIX shell such as dash, and `printf %b`: its escapes are replaced by their
 * characters.
 */
export const echoWriting = (text: string): string =>
  text.replaceAll(/\\(?:0([0-7]{0,3})|([abfnrtv\\]))/g, (_, octal: string | undefined, letter: string) =>
    octal === undefined
      ? (echoed[letter] ?? letter)
      : String.fromCharCode(Number.parseInt(`0${octal}`, 8) & 0xff),
  );

// Names of U+00A0 to U+00FF, in order (HTML 4).
const latinNames = (
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro ' +
  'para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil ' +
  'Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave ' +
  'Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml ' +
  'igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute ' +
  'thorn yuml'
).split(' ');

const decimal = (char: string): string => `&#${char.codePointAt(0)};`;
const hexadecimal = (char: string): string => `&#x${char.codePointAt(0)?.toString(16)};`;
const upperReferences = (text: string): string =>
  text.replaceAll(/&#x([0-9a-f]+);/g, (_, digits: string) => `&#x${digits.toUpperCase()};`);

const markup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The most common form of HTML attribute values; used inside other encodings too. */
export const htmlAttribute = (text: string): string => markup(text).replaceAll('"', '&quot;');

/** Escapes `text` as common HTML and XML writers do: named, decimal and hexadecimal references. */
export function markupWritings(text: string): string[] {
  const everything = [text.replaceAll(/[^]/gu, decimal), text.replaceAll(/[^]/gu, hexadecimal)];
  const all = [...everything, ...everything.slice(1).map(upperReferences)];
  all.push(...all.slice(1).map((writing) => writing.replaceAll('&#x', '&#X')));
  if (/^[A-Za-z0-9 _.-]*$/.test(text)) return all;
  const named = markup(text);
  const quoted = htmlAttribute(text);
  const writings = [named, quoted];
  for (const apostrophe of ['&#39;', '&#039;', '&#x27;', '&apos;']) {
    const both = quoted.replaceAll("'", apostrophe);
    writings.push(both, named.replaceAll("'", apostrophe));
    writings.push(both.replaceAll('`', '&#x60;').replaceAll(/=/g, '&#x3D;'));
    writings.push(both.replaceAll('/', '&#x2F;'));
    writings.push(both.replaceAll('/', '&#x2F;').replaceAll('`', '&#x60;').replaceAll('=', '&#x3D;'));
    writings.push(both.replaceAll('+', '&#43;'), both.replaceAll('/', '&#47;'));
  }
  const numbered = named.replaceAll('"', '&#34;').replaceAll("'", '&#39;');
  writings.push(numbered, numbered.replaceAll('+', '&#43;'), numbered.replaceAll('`', '&#96;'));
  writings.push(named.replaceAll('"', '&#x22;').replaceAll("'", '&#x27;'));
  // Attributes as browsers serialize them: < and > are kept.
  const ampersands = text.replaceAll('&', '&amp;');
  writings.push(
    ampersands.replaceAll('"', '&quot;'),
    ampersands.replaceAll('"', '&quot;').replaceAll('<', '&lt;'),
  );
  writings.push(ampersands, ampersands.replaceAll('<', '&lt;'));
  for (const reference of [decimal, hexadecimal]) {
    writings.push(
      text.replaceAll(/[^A-Za-z0-9]/gu, reference),
      text.replaceAll(/[^A-Za-z0-9 ]/gu, reference),
    );
    writings.push(
      text.replaceAll(/[&<>"']|[^\0-\x7e]/gu, reference),
      text.replaceAll(/[&<>]|[^\0-\x7e]/gu, reference),
    );
    writings.push(text.replaceAll(/[&<>"]|[^\0-\x7e]/gu, reference));
    for (const writing of [
      named,
      quoted,
      quoted.replaceAll("'", '&#39;'),
      quoted.replaceAll("'", '&apos;'),
    ]) {
      writings.push(
        writing.replaceAll(/[^\0-\x7e]/gu, reference),
        writing.replaceAll(/[\t\n\r]/g, reference),
      );
    }
  }
  for (const writing of [named, quoted, quoted.replaceAll("'", '&#39;'), quoted.replaceAll("'", '&#039;')]) {
    writings.push(writing.replaceAll(/[\xa0-\xff]/g, (char) => `&${latinNames[char.charCodeAt(0) - 0xa0]};`));
    writings.push(writing.replaceAll('\xa0', '&nbsp;'), markup(writing));
  }
  return [...all, ...writings, ...writings.map(upperReferences)];
}

/** The content of a string as Node's `inspect` and Playwright's logs quote it, by each of the three quotes. */
function quotedWritings(text: string): string[] {
  const inspected = inspect(text, { breakLength: Infinity, maxStringLength: Infinity }).slice(1, -1);
  const bare = inspected.replaceAll(/\\(\\|['"`])/g, (escape, char: string) =>
    char === '\\' ? escape : char,
  );
  const plain = json(text).replaceAll('\\"', '"');
  return [inspected, bare, plain].flatMap((writing) => [
    writing,
    writing.replaceAll("'", "\\'"),
    writing.replaceAll('"', '\\"'),
    writing.replaceAll('`', '\\`'),
    writing.replaceAll('`', '\\`').replaceAll('${', '\\${'),
  ]);
}

const escapes: { readonly [char: string]: string } = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };

/** Quotes `text` like shells, SQL, source code and mail. */
export function sourceWritings(text: string): string[] {
  const units = Buffer.from(text).toString('latin1');
  const digits = (unit: string): string => unit.charCodeAt(0).toString(16).padStart(2, '0');
  const everything = units.replaceAll(/[^]/g, (unit) => `\\x${digits(unit)}`);
  if (/^[A-Za-z0-9_.-]*$/.test(text)) return [everything];
  const printable = units.replaceAll(/[^\x20-\x7e]|\\/g, (unit) => escapes[unit] ?? `\\x${digits(unit)}`);
  return [
    everything,
    ...quotedWritings(text),
    text.replaceAll("'", "''"),
    text.replaceAll('"', '""'),
    text.replaceAll("'", "\\'"),
    json(text).replaceAll('\\"', '"').replaceAll("'", "\\'"),
    text.replaceAll("'", "'\\''"),
    text.replaceAll("'", `'"'"'`),
    text.replaceAll(/[^A-Za-z0-9_\-.,:/@%+=\n]/gu, '\\$&'),
    text.replaceAll(/[\\"$`]/g, '\\$&'),
    printable,
    printable.replaceAll("'", "\\'"),
    units.replaceAll(/[^\x20-\x7e]|=/g, (unit) => `=${digits(unit).toUpperCase()}`),
  ];
}
