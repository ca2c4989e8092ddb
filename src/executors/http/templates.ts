import { randomInt, randomUUID } from 'node:crypto';
import { HttpFailure } from './failures.ts';
import { loadTemplateParser } from './handlebars-parser.ts';
import { formatMoment, momentOf } from '../../protocol/template-dates.ts';
import { shortened } from '../interface/shorten.ts';

/**
 * Handlebars templates of API checks. The library parses; what it parsed is read here instead of being compiled into
 * code, so that a template can name variables, ask `#if` and `#unless` of them, and call the built-in helpers, and there
 * is nothing else to reach.
 */

/** How `{{X}}` is written into its field. `{{{X}}}` is always raw. */
export type Escaping = 'uri' | 'raw';

export type TemplateScope = {
  /** Variables by name; an unknown one renders as nothing. */
  variables: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Told the names of variables that are not set. */
  onMissing?: (name: string) => void;
};

/** Renders one field. `field` names it in messages. Throws HttpFailure TEMPLATE_INVALID. */
export type Renderer = (field: string, template: string, escaping?: Escaping) => string;

type Expression =
  | { type: 'PathExpression'; parts: unknown[]; original: string }
  | { type: 'StringLiteral' | 'NumberLiteral' | 'BooleanLiteral'; value: string | number | boolean }
  | { type: 'SubExpression' | 'UndefinedLiteral' | 'NullLiteral' };

/** The nodes of a parsed template, as far as they are read here. */
type Statement =
  | { type: 'ContentStatement'; value: string }
  | { type: 'CommentStatement' }
  | {
      type: 'MustacheStatement';
      path: Expression;
      params: Expression[];
      hash?: { pairs: unknown[] };
      escaped: boolean;
    }
  | {
      type: 'BlockStatement';
      path: Expression;
      params: Expression[];
      hash?: { pairs: unknown[] };
      program?: Program;
      inverse?: Program;
    }
  | { type: 'PartialStatement' | 'PartialBlockStatement' | 'Decorator' | 'DecoratorBlock' };
type Program = { body: Statement[] };

const maxOutput = 2 * 1024 * 1024;
const maxExpressions = 1000;
const maxDepth = 32;
const maxCached = 64;
const maxCachedLength = 65_536;

let parse: ((template: string) => unknown) | null = null;
/** Parsed templates, least recently used first. */
const cache = new Map<string, Program>();

/** True when a text has to go through a renderer at all. */
export function isTemplate(text: string): boolean {
  return text.includes('{{');
}

/** A renderer for one attempt; loads the parser when first needed. */
export async function createRenderer(scope: TemplateScope): Promise<Renderer> {
  parse ??= await loadTemplateParser();
  return (field, template, escaping = 'uri') => {
    if (!isTemplate(template)) return template;
    const output = new Output(field);
    write(parsed(field, template), { scope, escaping, output, field, depth: 0 });
    return output.text();
  };
}

/** Collects a rendered field, within its bound. */
class Output {
  readonly #field: string;
  readonly #parts: string[] = [];
  #length = 0;
  constructor(field: string) {
    this.#field = field;
  }
  write(part: string): void {
    this.#length += part.length;
    if (this.#length > maxOutput)
      throw invalid(this.#field, `it renders to more than ${maxOutput} characters`);
    this.#parts.push(part);
  }
  text(): string {
    return this.#parts.join('');
  }
}

function invalid(field: string, message: string): HttpFailure {
  return new HttpFailure('TEMPLATE_INVALID', `the template in ${field} is not valid: ${message}`);
}

function parsed(field: string, template: string): Program {
  const known = cache.get(template);
  if (known !== undefined) {
    cache.delete(template);
    cache.set(template, known);
    return known;
  }
  // Parsing takes time in proportion to the expressions, on the thread that measures others' times.
  if (template.split('{{').length - 1 > maxExpressions) {
    throw invalid(field, `it has more than ${maxExpressions} expressions`);
  }
  let program: Program;
  try {
    program = parse?.(template) as Program; // the shape of the pinned library's syntax tree
  } catch (error: unknown) {
    // "Parse error on line 1:" with a drawing below; the texts around it may hold secrets.
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw invalid(field, shortened(message.replace(/:$/, ''), 200));
  }
  if (template.length <= maxCachedLength) {
    cache.set(template, program);
    const [oldest] = cache.keys();
    if (cache.size > maxCached && oldest !== undefined) cache.delete(oldest);
  }
  return program;
}

type Writing = { scope: TemplateScope; escaping: Escaping; output: Output; field: string; depth: number };

function write(program: Program, writing: Writing): void {
  const { field, output } = writing;
  if (writing.depth > maxDepth) throw invalid(field, `its blocks are nested more than ${maxDepth} deep`);
  for (const statement of program.body) {
    switch (statement.type) {
      case 'ContentStatement':
        output.write(statement.value);
        break;
      case 'CommentStatement':
        break;
      case 'MustacheStatement': {
        refuseHash(statement.hash, field);
        const value = evaluate(statement.path, statement.params, writing);
        output.write(statement.escaped && writing.escaping === 'uri' ? encodeText(value) : value);
        break;
      }
      case 'BlockStatement': {
        refuseHash(statement.hash, field);
        const name = nameOf(statement.path, field);
        const [condition] = statement.params;
        if ((name !== 'if' && name !== 'unless') || condition === undefined || statement.params.length > 1) {
          throw invalid(field, `{{#${name}}} is not known here; there are {{#if X}} and {{#unless X}}`);
        }
        const holds = (argument(condition, writing) !== '') === (name === 'if');
        const chosen = holds ? statement.program : statement.inverse;
        if (chosen !== undefined) write(chosen, { ...writing, depth: writing.depth + 1 });
        break;
      }
      default:
        throw invalid(field, 'partials and decorators are not known here');
    }
  }
}

function refuseHash(hash: { pairs: unknown[] } | undefined, field: string): void {
  if (hash !== undefined && hash.pairs.length > 0)
    throw invalid(field, 'name=value arguments are not known here');
}

/** The value of `{{name}}` or `{{helper "argument" …}}`. */
function evaluate(path: Expression, params: readonly Expression[], writing: Writing): string {
  const { scope, field } = writing;
  if (path.type !== 'PathExpression') return argument(path, writing);
  const name = nameOf(path, field);
  const values = params.map((param) => argument(param, writing));
  switch (name) {
    case '$UUID':
      return randomUUID();
    case '$RANDOM_NUMBER':
      return String(randomInt(0, 10_001));
    case 'moment':
    case 'date': {
      if (values.length === 0 && scope.variables.has(name)) break;
      const [phrase = 'now', format = 'YYYY-MM-DDTHH:mm:ss[Z]'] = values;
      const time = momentOf(phrase, scope.now());
      if (time === null)
        throw invalid(field, `{{${name}}} does not understand the time "${shortened(phrase, 100)}"`);
      return formatMoment(time, format);
    }
    default:
      if (values.length > 0) {
        throw invalid(field, `there is no helper ${shortened(name, 100)}; there are moment and date`);
      }
  }
  return variable(name, scope);
}

function argument(expression: Expression, writing: Writing): string {
  switch (expression.type) {
    case 'PathExpression':
      return evaluate(expression, [], writing);
    case 'StringLiteral':
    case 'NumberLiteral':
    case 'BooleanLiteral':
      return String(expression.value);
    default:
      throw invalid(writing.field, 'expressions within expressions are not known here');
  }
}

function nameOf(path: Expression, field: string): string {
  if (path.type !== 'PathExpression') throw invalid(field, 'an expression must begin with a name');
  return path.parts.every((part) => typeof part === 'string') ? path.parts.join('.') : path.original;
}

function variable(name: string, scope: TemplateScope): string {
  const value = scope.variables.get(name);
  if (value === undefined) scope.onMissing?.(name);
  return value ?? '';
}

function encodeText(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    // Half of a surrogate pair has no UTF-8 form; the way through a Buffer replaces it.
    return encodeURIComponent(Buffer.from(value).toString());
  }
}
