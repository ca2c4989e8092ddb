import {
  base64Cores,
  base64Writings,
  percentComponent,
  percentForm,
  percentStrict,
  percentWritings,
  utf16,
} from './byte-encodings.ts';
import {
  echoWriting,
  htmlAttribute,
  json,
  jsonWritings,
  markupWritings,
  sourceWritings,
} from './text-escapes.ts';

/** All forms in which a secret's value may appear in an agent's output: the scrubber searches for them. */

/** Values of fewer bytes are masked only as whole values: inside a text they would mask half of it. */
export const shortSecretBytes = 6;

// Above this size the rarer combinations are omitted: each form costs several times the value's size to build.
const largeValueBytes = 4096;

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
  addAll(forms, sourceWritings(value));
  const echoed = echoWriting(value);
  if (echoed !== value) addAll(forms, [echoed, json(echoed)]);
  addBinaryForms(value, bytes, forms);
  for (const core of base64Cores(bytes)) addAll(forms, base64Writings(Buffer.from(core.replace(/=+$/, ''))));
  const inJson = json(value);
  forms.texts.add(json(json(inJson)));
  addCombinations(value, inJson, forms);
}

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

function addLargeForms(value: string, bytes: Buffer, forms: Forms): void {
  const inJson = json(value);
  const ascii = jsonAscii(inJson);
  const component = percentComponent(value);
  const texts = [value, inJson, ascii, json(inJson), json(ascii), inJson.replaceAll('/', '\\/')];
  texts.push(component, percentStrict(value), percentForm(value), component.replaceAll('%', '%25'));
  const attribute = htmlAttribute(value);
  texts.push(
    attribute,
    attribute.replaceAll("'", '&#39;'),
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
  );
  addAll(forms, texts);
  for (const text of [component, percentStrict(value), percentForm(value)]) {
    forms.texts.add(text.replaceAll(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase()));
  }
  addBinaryForms(value, bytes, forms);
  if (inJson !== value) addAll(forms, base64Writings(Buffer.from(inJson)));
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
  // Quoted, indented or wrapped, each line of a key is still a secret.
  for (const line of unix.split('\n')) {
    const text = line.trim();
    if (/^[A-Za-z0-9+/=_-]{20,}$/.test(text)) addAll(forms, [text, text.replaceAll('/', '\\/')]);
  }
}

/**
 * All forms of `value`, as bytes, without duplicates: raw, percent-encoded, JSON, HTML and XML, base64 at its three
 * offsets, hex, UTF-16, quoted as source code, with other line ends, and the combinations that occur in practice. White
 * space around the value is not part of them. For a short value (under `shortSecretBytes`) the caller decides how to
 * use them.
 */
export function encodedForms(value: string): Buffer[] {
  const trimmed = value.trim();
  const core = Buffer.byteLength(trimmed) >= shortSecretBytes ? trimmed : value;
  const forms: Forms = { texts: new Set(), binaries: [] };
  addAllForms(core, forms);
  if (/[\r\n]/.test(core)) addLineForms(core, forms);
  // A key on one line in a variable: programs turn its \n into line ends before they use it.
  if (core.includes('\\n')) addLineForms(core.replaceAll('\\r', '').replaceAll('\\n', '\n'), forms);
  for (const form of ['NFC', 'NFD'] as const) {
    const normalized = core.normalize(form);
    addAll(forms, [normalized, json(normalized)]);
  }
  // Forms shorter than any secret may be (Latin-1, joined lines) would mask ordinary words.
  const least = Math.min(shortSecretBytes, Buffer.byteLength(core));
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
