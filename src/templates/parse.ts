import type { Dialect } from './dialect.ts';
import { loadTemplateParser } from './handlebars-parser.ts';
import type { Program } from './syntax.ts';
import { TemplateError } from './template-error.ts';

/**
 * Parses Handlebars templates. The library is used only for parsing: compiling would turn a customer's text into code
 * of this process, without limits on its time or output (docs/dependencies.md).
 */

/** Parses one template of a dialect. Throws TemplateError. */
export type Parse = (template: string, dialect: Dialect) => Program;

const maxExpressions = 1000;
const maxParentheses = 1000;
/** Nested parentheses of one expression. The interpreter allows fewer; this limits the parser. */
const maxNesting = 100;
const maxCached = 64;
const maxCachedLength = 65_536;

let library: ((template: string) => unknown) | null = null;
/** Parsed templates, least recently used first. */
const cache = new Map<string, Program>();

/** Whether a text has to go through the interpreter at all. */
export function isTemplate(text: string): boolean {
  return text.includes('{{');
}

/** Loads the library's parser at the first call, because most processes never need it. */
export async function loadParser(): Promise<Parse> {
  library ??= await loadTemplateParser();
  return parse;
}

function parse(template: string, dialect: Dialect): Program {
  if (!isTemplate(template)) return { body: [{ type: 'ContentStatement', value: template }] };
  const known = cache.get(template);
  if (known !== undefined) {
    cache.delete(template);
    cache.set(template, known);
    return known;
  }
  checkSize(template, dialect);
  let program: Program;
  try {
    program = library?.(template) as Program; // the pinned library's syntax tree has this shape
  } catch (error) {
    // The first line has the position; the drawing below it quotes the template, which may contain secrets.
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new TemplateError(dialect.messages.syntax(message.replace(/:$/, '')));
  }
  if (template.length <= maxCachedLength) {
    cache.set(template, program);
    const [oldest] = cache.keys();
    if (cache.size > maxCached && oldest !== undefined) cache.delete(oldest);
  }
  return program;
}

/** Limits the time of parsing in advance, because it runs on the thread that measures and answers others. */
function checkSize(template: string, { messages }: Dialect): void {
  const [, ...parts] = template.split('{{');
  if (parts.length > maxExpressions) {
    throw new TemplateError(messages.tooMany('expressions', maxExpressions));
  }
  // The library's time grows with the square of the nesting: 8000 parentheses take half a minute, 600 a second.
  const expressions = parts.map((part) => {
    // The last `}}`, not the first: the first one may be inside a string of the expression.
    const end = part.lastIndexOf('}}');
    return end === -1 ? part : part.slice(0, end);
  });
  const parentheses = expressions.reduce((sum, expression) => sum + expression.split('(').length - 1, 0);
  if (parentheses > maxParentheses) {
    throw new TemplateError(messages.tooMany('opening parentheses', maxParentheses));
  }
  if (expressions.some((expression) => nestingOf(expression) > maxNesting)) {
    throw new TemplateError(messages.tooMany('nested parentheses', maxNesting));
  }
}

/** How deep parentheses are nested outside of closed strings. */
function nestingOf(expression: string): number {
  let [depth, deepest] = [0, 0];
  for (const [token] of expression.matchAll(/"[^"]*"|'[^']*'|[()]/g)) {
    if (token === '(') depth += 1;
    else if (token === ')') depth -= 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
