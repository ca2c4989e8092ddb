import { HttpError, badRequest } from './errors.ts';
import { maxDepth, maxValues } from './input-limits.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Limits on the shape of a JSON body, checked before the body is parsed; absent = not checked. */
    shape?: BodyShape;
  }
}

/**
 * Checks the shape of a JSON text before it is parsed. Parsing and validating millions of small values blocks the
 * service for seconds; a few long texts, such as scripts, cost little. The text is not validated: the parser does that.
 */

export type BodyShape = {
  /** Levels of lists and objects; the innermost level may be empty. */
  depth: number;
  /** Values in all. Empty lists and objects count twice. */
  values: number;
  /** Characters outside long texts, without white space, which costs the parser next to nothing. */
  plain: number;
};

/** Bodies of the public API. Its exact check of values runs after parsing. */
export const apiShape: BodyShape = { depth: maxDepth + 1, values: 2 * maxValues, plain: 256 * 1024 };
/** Texts above this many characters count with `longTextCost` only. */
const longText = 1024;
const longTextCost = 128;

const [quote, backslash, comma, openBracket, closeBracket, openBrace, closeBrace] = [
  34, 92, 44, 91, 93, 123, 125,
];

const [tab, lineFeed, carriageReturn, space] = [9, 10, 13, 32];

/** Index of the quote that ends the text beginning at `from`; the length of `text` if there is none. */
function endOfText(text: string, from: number): number {
  let end = from;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
}

const notSpace = /[^ \t\n\r]/g;

/** Index of the first character from `from` that is no white space; the length of `text` if there is none. */
function endOfSpace(text: string, from: number): number {
  notSpace.lastIndex = from;
  return notSpace.test(text) ? notSpace.lastIndex - 1 : text.length;
}

/** Why a body is refused; null = it may be parsed. `turns` = steps of the scan, for tests. */
export function scanBody(
  text: string,
  shape: BodyShape = apiShape,
): { problem: 'deep' | 'values' | 'plain' | null; turns: number } {
  // Local, because this runs for each character.
  const { depth: maxLevels, values: valueLimit, plain: plainLimit } = shape;
  let depth = 0;
  let values = 1;
  let plain = 0;
  let turns = 0;
  for (let at = 0; at < text.length; at++) {
    turns += 1;
    const code = text.charCodeAt(at);
    if (code === space || code === lineFeed || code === carriageReturn || code === tab) {
      at = endOfSpace(text, at + 1) - 1;
      continue;
    }
    plain += 1;
    if (code === quote) {
      const end = endOfText(text, at);
      plain += end - at > longText ? longTextCost : end - at;
      at = end;
    } else if (code === comma) {
      values += 1;
    } else if (code === openBracket || code === openBrace) {
      values += 1;
      depth += 1;
      if (depth > maxLevels) return { problem: 'deep', turns };
    } else if (code === closeBracket || code === closeBrace) {
      depth -= 1;
    }
    if (values > valueLimit) return { problem: 'values', turns };
    if (plain > plainLimit) return { problem: 'plain', turns };
  }
  return { problem: null, turns };
}

/** Throws HttpError 400 or 413 for a body that is too deep, too wide or too large to be parsed. */
export function checkBodyShape(text: string, shape: BodyShape): void {
  const { problem } = scanBody(text, shape);
  if (problem === null) return;
  const levels = shape === apiShape ? maxDepth : shape.depth;
  const values = shape === apiShape ? maxValues : shape.values;
  if (problem === 'deep') throw badRequest({ body: [`must not be nested deeper than ${levels} levels`] });
  if (problem === 'values') throw badRequest({ body: [`must not hold more than ${values} values`] });
  throw new HttpError(
    413,
    `The body is too large: it may have ${shape.plain} characters besides long texts and white space.`,
    {
      body: [
        `must have at most ${shape.plain} characters besides white space and texts of more than ${longText} characters`,
      ],
    },
  );
}
