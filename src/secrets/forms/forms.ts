import { inspect } from 'node:util';
import {
  base64Cores,
  base64Writings,
  percentComponent,
  percentForm,
  percentStrict,
  percentWritings,
  utf16,
} from './byte-encodings.ts';
import { dnsWritings, numberLists, spacedHex } from './dumps.ts';
import {
  echoWriting,
  htmlAttribute,
  json,
  htmlSafeJson,
  jsonWritings,
  markupWritings,
  sourceWritings,
} from './text-escapes.ts';

/** All forms in which a secret's value may appear in an agent's output: the scrubber searches for them. */

/** Values of fewer bytes are masked only as whole values: inside a text they would mask half of it. */
export const shortSecretBytes = 6;

// Above this size the rarer combinations are omitted: each form costs several times the value's size to build.
const largeValueBytes = 4096;
// Above this one, also most variants of one encoding.
const hugeValueBytes = 16 * 1024;

/** How many forms of a value are searched for. */
export type FormDetail = 'all' | 'common';

/** Text forms as strings, others as bytes. */
type Forms = { readonly texts: Set<string>; readonly binaries: Buffer[] };

function addAll(forms: Forms, texts: readonly string[]): void {
  for (const text of texts) forms.texts.add(text);
}

function addAllForms(value: string, forms: Forms): void {
  const bytes = Buffer.from(value);
  if (bytes.length > largeValueBytes) {
    addLargeForms(value, bytes, forms);
    return;
  }
  forms.texts.add(value);
  addAll(forms, percentWritings(value));
  const escaped = [...new Set(jsonWritings(value))];
  addAll(forms, escaped);
  addAll(forms, escaped.map(json));
  addAll(forms, markupWritings(value));
  addWrittenForms(value, bytes, forms);
  const echoed = echoWriting(value);
  if (echoed !== value) addAll(forms, [echoed, json(echoed)]);
  addBinaryForms(value, bytes, forms);
  for (const core of base64Cores(bytes)) addAll(forms, base64Writings(Buffer.from(core.replace(/=+$/, ''))));
  const inJson = json(value);
  forms.texts.add(json(json(inJson)));
  addCombinations(value, inJson, forms);
}

/** Quoted and printed forms, and the same within JSON. */
function addWrittenForms(value: string, bytes: Buffer, forms: Forms): void {
  const written = [...sourceWritings(value), ...dnsWritings(bytes)];
  if (/\s\s|[^\S ]/.test(value)) written.push(value.replaceAll(/\s+/g, ' '));
  addAll(forms, written);
  addAll(forms, written.filter(needsEscape).map(json));
  addAll(forms, [...spacedHex(bytes), ...numberLists(bytes)]);
}

// eslint-disable-next-line no-control-regex -- control characters are among what JSON escapes
const needsEscape = (text: string): boolean => /[\0-\x1f"\\]/.test(text);

function addBinaryForms(value: string, bytes: Buffer, forms: Forms): void {
  addAll(forms, base64Writings(bytes));
  const hex = bytes.toString('hex');
  addAll(forms, [hex, hex.toUpperCase()]);
  for (const wide of utf16(value)) {
    forms.binaries.push(wide);
    addAll(forms, base64Writings(wide));
    forms.texts.add(wide.toString('hex'));
  }
  // UTF-8 read as Latin-1 and written again, as HTTP header values often are; and Latin-1 itself.
  const misread = bytes.toString('latin1');
  if (misread === value) return;
  const misreadJson = json(misread);
  addAll(forms, [misread, misreadJson, jsonAscii(misreadJson), json(misreadJson)]);
  const latin = Buffer.from(value, 'latin1');
  if (latin.toString('latin1') === value) forms.binaries.push(latin);
}

/** One encoding inside another, in combinations that occur in practice. */
function addCombinations(value: string, inJson: string, forms: Forms): void {
  const attribute = htmlAttribute(value);
  const inner = new Set([
    inJson,
    inJson.replaceAll('/', '\\/'),
    json(inJson),
    attribute,
    percentComponent(value),
    percentForm(value),
    percentStrict(value),
  ]);
  inner.delete(value);
  for (const text of inner) {
    const bytes = Buffer.from(text);
    addAll(forms, base64Writings(bytes));
    forms.texts.add(bytes.toString('hex'));
    forms.binaries.push(...utf16(text));
    const outer = htmlAttribute(text);
    addAll(forms, [outer, outer.replaceAll("'", '&#39;'), json(outer)]);
  }
  if (inJson !== value) {
    addAll(forms, percentWritings(inJson));
    addAll(forms, percentWritings(json(inJson)));
  }
  for (const markup of new Set([attribute, attribute.replaceAll("'", '&#39;')])) {
    addAll(forms, [
      json(markup),
      markup.replaceAll('&', '\\u0026'),
      percentStrict(markup),
      percentComponent(markup),
    ]);
  }
}

/** For large values: the writings of the value itself, but fewer of them within each other. */
function addLargeForms(value: string, bytes: Buffer, forms: Forms): void {
  const inJson = json(value);
  const ascii = jsonAscii(inJson);
  const attribute = htmlAttribute(value);
  addAll(forms, [value, inJson, ascii, json(inJson), json(ascii), inJson.replaceAll('/', '\\/')]);
  if (bytes.length <= hugeValueBytes) {
    addAll(forms, [...jsonWritings(value), ...percentWritings(value), ...markupWritings(value)]);
  } else {
    const triplets = [percentComponent(value), percentStrict(value), percentForm(value)];
    addAll(forms, triplets);
    addAll(
      forms,
      triplets.map((text) => text.replaceAll(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase())),
    );
    forms.texts.add(percentComponent(value).replaceAll('%', '%25'));
    addAll(forms, [attribute, attribute.replaceAll("'", '&#39;'), attribute.replaceAll('&gt;', '>')]);
    addAll(forms, [value.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), htmlSafeJson(inJson)]);
    addAll(forms, [inJson.replaceAll('<', '\\u003c'), inJson.replaceAll('<', '\\u003C')]);
  }
  addWrittenForms(value, bytes, forms);
  addBinaryForms(value, bytes, forms);
  if (inJson !== value) addAll(forms, base64Writings(Buffer.from(inJson)));
}

/** The forms that nearly all output uses, for values beyond the limits of a run. */
function addCommonForms(value: string, forms: Forms): void {
  const bytes = Buffer.from(value);
  const inJson = json(value);
  addAll(forms, [
    value,
    inJson,
    json(inJson),
    inspect(value, { breakLength: Infinity, maxStringLength: Infinity }).slice(1, -1),
  ]);
  addAll(forms, [percentStrict(value), percentComponent(value), percentForm(value), htmlAttribute(value)]);
  for (const core of base64Cores(bytes))
    addAll(forms, [core, core.replaceAll('+', '-').replaceAll('/', '_')]);
  forms.texts.add(bytes.toString('hex'));
}

const jsonAscii = (inJson: string): string =>
  inJson.replaceAll(/[^\0-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The line ends of a key over several lines, as terminals, forms, logs and variables change them. */
function addLineForms(value: string, forms: Forms): void {
  const unix = value.replaceAll(/\r*\n|\r/g, '\n');
  addAllForms(unix, forms);
  addAllForms(unix.replaceAll('\n', '\r\n'), forms);
  for (const end of ['\r\r\n', '\r', ' ', '', '\\n', '\\r\\n', '\\\\n', '\n\n']) {
    const joined = unix.replaceAll('\n', end);
    addAll(forms, [joined, json(joined)]);
  }
}

/**
 * All forms of `value`, as bytes, without duplicates: raw, percent-encoded, JSON, HTML and XML, base64 at its three
 * offsets, hex, UTF-16, quoted as source code, as printed buffers and DNS strings, with other line ends, and the
 * combinations that occur in practice; `common`: only those that nearly all output uses. White space around the value
 * is not part of them. For a short value (under `shortSecretBytes`) the caller decides how to use them.
 */
export function encodedForms(value: string, detail: FormDetail = 'all'): Buffer[] {
  const trimmed = value.trim();
  const core = Buffer.byteLength(trimmed) >= shortSecretBytes ? trimmed : value;
  const forms: Forms = { texts: new Set(), binaries: [] };
  if (detail === 'common') {
    addCommonForms(core, forms);
    return distinct(forms, Math.min(shortSecretBytes, Buffer.byteLength(core)));
  }
  addAllForms(core, forms);
  if (/[\r\n]/.test(core)) addLineForms(core, forms);
  // A key on one line in a variable: programs turn its \n into line ends before they use it.
  if (core.includes('\\n')) addLineForms(core.replaceAll('\\r', '').replaceAll('\\n', '\n'), forms);
  // Half of a surrogate pair has no UTF-8 form: programs write U+FFFD in its place, and go on from there.
  const sent = inUtf8(core);
  if (sent !== core) addAllForms(sent, forms);
  for (const form of ['NFC', 'NFD'] as const) {
    const normalized = core.normalize(form);
    addAll(forms, [normalized, json(normalized)]);
  }
  // Of these, several texts have the same bytes.
  const texts = sent === core ? forms.texts : new Set([...forms.texts].map(inUtf8));
  // Forms shorter than any secret may be (Latin-1, joined lines) would mask ordinary words.
  return distinct({ ...forms, texts }, Math.min(shortSecretBytes, Buffer.byteLength(core)));
}

/** The text with U+FFFD for each half of a surrogate pair. */
const inUtf8 = (text: string): string => Buffer.from(text).toString();

function distinct(forms: Forms, least: number): Buffer[] {
  const texts: Buffer[] = [];
  const unique = new Map<string, Buffer>();
  for (const bytes of forms.binaries) unique.set(bytes.toString('latin1'), bytes);
  for (const text of forms.texts) {
    const bytes = Buffer.from(text);
    if (unique.size > 0) unique.delete(bytes.toString('latin1'));
    if (bytes.length >= least && bytes.length > 0) texts.push(bytes);
  }
  return [...texts, ...[...unique.values()].filter((bytes) => bytes.length >= least)];
}
