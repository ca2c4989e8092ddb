/**
 * JSON.parse that keeps integers above 2^53 (up to 1000 digits) as bigints, so that an assertion on a long id
 * compares every digit. Throws SyntaxError as JSON.parse does. Use the result only for assertions: JSON.stringify
 * refuses bigints.
 */
export function parseJsonDocument(text: string): unknown {
  const document: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return document;
  try {
    return withIntegers(text);
  } catch (error: unknown) {
    // Documents that are nested too deeply, or contain a text with too many escapes, are parsed normally.
    if (error instanceof RangeError) return document;
    throw error;
  }
}

function withIntegers(text: string): unknown {
  const marked = text.replace(token, (found) => {
    if (found.startsWith('"') || !/^-?\d+$/.test(found) || Number.isSafeInteger(Number(found))) return found;
    // The time to parse digits grows with the square of their number.
    return found.length > maxIntegerDigits ? found : `"${mark}${found}"`;
  });
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) && /^-?\d+$/.test(value.slice(mark.length))
      ? BigInt(value.slice(mark.length))
      : value,
  );
}

const maxIntegerDigits = 1000;

/** A string or a number of valid JSON. Strings are matched so that digits within them stay unchanged. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** From Unicode's private use area: a document contains it only on purpose, and then affects only itself. */
const mark = '\uf8ffinteger:';
