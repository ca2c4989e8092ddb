/**
 * JSON.parse that keeps whole numbers above 2^53 (up to 1000 digits) as bigints, so that an assertion on a long id compares every digit.
 * Throws SyntaxError as JSON.parse does. The result is for assertions only: JSON.stringify refuses bigints.
 */
export function parseJsonDocument(text: string): unknown {
  const document: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return document;
  try {
    return withIntegers(text);
  } catch (error: unknown) {
    // What nests too deep, or has a text of too many escapes, for the careful way.
    if (error instanceof RangeError) return document;
    throw error;
  }
}

function withIntegers(text: string): unknown {
  const marked = text.replace(token, (found) => {
    if (found.startsWith('"') || !/^-?\d+$/.test(found) || Number.isSafeInteger(Number(found))) return found;
    // Reading digits takes time that grows with the square of their number.
    return found.length > longestInteger ? found : `"${mark}${found}"`;
  });
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) && /^-?\d+$/.test(value.slice(mark.length))
      ? BigInt(value.slice(mark.length))
      : value,
  );
}

const longestInteger = 1000;

/** A string or a number of valid JSON: strings are matched so that digits within them stay as they are. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** From Unicode's private use area: a document's own text begins with it by intent only, and then harms only itself. */
const mark = '\uf8ffinteger:';
