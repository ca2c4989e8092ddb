import {
  helperNames,
  helperOf,
  isTruthy,
  TemplateError,
  textOf,
  workOf,
  type Value,
} from './template-helpers.ts';

/**
 * Handlebars templates of webhooks. The library parses; what it parsed is read here instead of being compiled into code:
 * there are the variables, the helpers of template-helpers.ts, if, unless, each and with, and nothing else to reach. Steps
 * and output are counted, so that no template goes on for ever or becomes too large.
 */

/** How `{{X}}` is written where it stands. `{{{X}}}` is always raw. */
export type Escaping = 'uri' | 'json' | 'html';

export type Variables = { readonly [name: string]: Value };

type Expression =
  | { type: 'PathExpression'; data: boolean; depth: number; parts: unknown[]; original: string }
  | { type: 'StringLiteral' | 'NumberLiteral' | 'BooleanLiteral'; value: string | number | boolean }
  | { type: 'UndefinedLiteral' | 'NullLiteral' }
  | ({ type: 'SubExpression' } & Call);
type Call = {
  path: Expression;
  params: Expression[];
  hash?: { pairs: { key: string; value: Expression }[] };
};
type Statement =
  | { type: 'ContentStatement'; value: string }
  | { type: 'CommentStatement' }
  | ({ type: 'MustacheStatement'; escaped: boolean } & Call)
  | ({ type: 'BlockStatement'; program?: Program; inverse?: Program } & Call)
  | { type: 'PartialStatement' | 'PartialBlockStatement' | 'Decorator' | 'DecoratorBlock' };
export type Program = { body: Statement[]; blockParams?: string[] };

const mostExpressions = 1000;
const mostDepth = 32;
const mostSteps = 20_000;
/** Characters that helpers look at, all together: some hundredths of a second, whatever they look for. */
const mostWork = 20_000_000;
/** Characters of what a template renders to. */
const mostOutput = 256 * 1024;

let parse: ((template: string) => unknown) | null = null;

/** Parses a template and refuses what is not known here. Throws TemplateError. */
export async function parseTemplate(template: string): Promise<Program> {
  if (!template.includes('{{')) return { body: [{ type: 'ContentStatement', value: template }] };
  if (template.split('{{').length - 1 > mostExpressions) {
    throw new TemplateError(`must not have more than ${mostExpressions} expressions`);
  }
  // The parser takes minutes for thousands of them within each other.
  if (template.split('(').length - 1 > mostExpressions) {
    throw new TemplateError(`must not have more than ${mostExpressions} opening parentheses`);
  }
  parse ??= (await import('handlebars/dist/cjs/handlebars/compiler/base.js')).parse;
  let program: Program;
  try {
    program = parse(template) as Program; // the shape of the pinned library's syntax tree
  } catch (error) {
    // "Parse error on line 1:" with a drawing below.
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new TemplateError(`is not a valid template: ${message.replace(/:$/, '').slice(0, 200)}`);
  }
  checkProgram(program, 0);
  return program;
}

const blocks = ['if', 'unless', 'each', 'with'];

function checkProgram(program: Program | undefined, depth: number): void {
  if (depth > mostDepth) throw new TemplateError(`must not nest blocks deeper than ${mostDepth}`);
  for (const statement of program?.body ?? []) {
    switch (statement.type) {
      case 'ContentStatement':
      case 'CommentStatement':
        break;
      case 'MustacheStatement':
        checkCall(statement, depth);
        break;
      case 'BlockStatement': {
        const name = nameOf(statement.path);
        if (!blocks.includes(name)) checkCall(statement, depth);
        else if (statement.params.length !== 1) throw new TemplateError(`{{#${name}}} takes one argument`);
        for (const param of statement.params) checkExpression(param, depth);
        checkProgram(statement.program, depth + 1);
        checkProgram(statement.inverse, depth + 1);
        break;
      }
      default:
        throw new TemplateError('must not have partials or decorators');
    }
  }
}

function checkCall({ path, params }: Call, depth: number): void {
  if (params.length > 0 && helperOf(nameOf(path)) === undefined) {
    throw new TemplateError(
      `there is no helper ${nameOf(path).slice(0, 100)}; there are ${[...blocks, ...helperNames].join(', ')}`,
    );
  }
  for (const param of params) checkExpression(param, depth);
}

function checkExpression(expression: Expression, depth: number): void {
  if (depth > mostDepth) throw new TemplateError(`must not nest expressions deeper than ${mostDepth}`);
  if (expression.type === 'SubExpression') checkCall(expression, depth + 1);
}

/** What `this` is, the names that blocks have given, and what `@index` and the like are. */
type Scope = {
  self: Value;
  named: { readonly [name: string]: Value };
  data: { readonly [name: string]: Value };
  parent: Scope | null;
};
type Rendering = {
  variables: Variables;
  escaping: Escaping;
  now: () => number;
  parts: string[];
  length: number;
  steps: number;
  work: number;
};

/** Renders a parsed template. Throws TemplateError: too long, too large, a helper that was used wrongly. */
export function renderTemplate(
  program: Program,
  { variables, escaping, now }: { variables: Variables; escaping: Escaping; now: () => number },
): string {
  const rendering: Rendering = { variables, escaping, now, parts: [], length: 0, steps: 0, work: 0 };
  write(program, { self: undefined, named: {}, data: {}, parent: null }, rendering);
  return rendering.parts.join('');
}

function put(text: string, rendering: Rendering): void {
  rendering.length += text.length;
  if (rendering.length > mostOutput) {
    throw new TemplateError(`the template renders to more than ${mostOutput} characters`);
  }
  rendering.parts.push(text);
}

function step(rendering: Rendering): void {
  rendering.steps += 1;
  if (rendering.steps > mostSteps) throw new TemplateError(`the template takes more than ${mostSteps} steps`);
}

function write(program: Program | undefined, scope: Scope, rendering: Rendering): void {
  for (const statement of program?.body ?? []) {
    step(rendering);
    if (statement.type === 'ContentStatement') put(statement.value, rendering);
    else if (statement.type === 'MustacheStatement') {
      const text = textOf(call(statement, scope, rendering));
      put(statement.escaped ? escaped(text, rendering.escaping) : text, rendering);
    } else if (statement.type === 'BlockStatement') writeBlock(statement, scope, rendering);
  }
}

function writeBlock(
  block: Extract<Statement, { type: 'BlockStatement' }>,
  scope: Scope,
  rendering: Rendering,
): void {
  const { program, inverse } = block;
  const name = nameOf(block.path);
  if (!blocks.includes(name)) {
    // A list or a condition: {{#TAGS}} is {{#each TAGS}}, {{#eq a b}} is {{#if (eq a b)}}.
    const value = call(block, scope, rendering);
    if (Array.isArray(value)) eachOf(value, block, scope, rendering);
    else write(isTruthy(value) ? program : inverse, scope, rendering);
    return;
  }
  const [param] = block.params;
  const value = param === undefined ? undefined : evaluate(param, scope, rendering);
  if (name === 'each') eachOf(Array.isArray(value) ? value : [], block, scope, rendering);
  else if (name === 'with') {
    if (isTruthy(value)) write(program, inner(scope, program, value, {}), rendering);
    else write(inverse, scope, rendering);
  } else
    write(
      (isTruthy(value) || countsZero(block, value)) === (name === 'if') ? program : inverse,
      scope,
      rendering,
    );
}

/** `{{#if X includeZero=true}}` */
const countsZero = ({ hash }: Call, value: Value): boolean =>
  value === 0 &&
  hash?.pairs.some(({ key, value: on }) => key === 'includeZero' && 'value' in on && on.value === true) ===
    true;

function eachOf(
  items: readonly Value[],
  { program, inverse }: { program?: Program; inverse?: Program },
  scope: Scope,
  rendering: Rendering,
): void {
  if (items.length === 0) return write(inverse, scope, rendering);
  for (const [index, item] of items.entries()) {
    step(rendering);
    const data = { index, key: index, first: index === 0, last: index === items.length - 1 };
    write(program, inner(scope, program, item, data), rendering);
  }
}

function inner(scope: Scope, program: Program | undefined, self: Value, data: Scope['data']): Scope {
  const [item, index] = program?.blockParams ?? [];
  const named = {
    ...scope.named,
    ...(item === undefined ? {} : { [item]: self }),
    ...(index === undefined ? {} : { [index]: data['index'] }),
  };
  return { self, named, data: { ...scope.data, ...data }, parent: scope };
}

/** The value of `name` or of `helper argument …`. */
function call({ path, params }: Call, scope: Scope, rendering: Rendering): Value {
  step(rendering);
  const helper = path.type === 'PathExpression' && !path.data ? helperOf(nameOf(path)) : undefined;
  if (helper === undefined || (params.length === 0 && Object.hasOwn(rendering.variables, nameOf(path)))) {
    return evaluate(path, scope, rendering);
  }
  const values = params.map((param) => evaluate(param, scope, rendering));
  rendering.work += workOf(nameOf(path), values);
  if (rendering.work > mostWork) {
    throw new TemplateError('the template compares or searches too many long texts');
  }
  return helper(values, { now: rendering.now });
}

function evaluate(expression: Expression, scope: Scope, rendering: Rendering): Value {
  switch (expression.type) {
    case 'StringLiteral':
    case 'NumberLiteral':
    case 'BooleanLiteral':
      return expression.value;
    case 'UndefinedLiteral':
    case 'NullLiteral':
      return null;
    case 'SubExpression':
      return call(expression, scope, rendering);
    case 'PathExpression': {
      const [first, ...rest] = expression.parts.map(String);
      if (expression.data) return first === 'root' ? at(undefined, rest, rendering) : own(scope.data, first);
      let place: Scope | null = scope;
      for (let up = 0; up < expression.depth; up++) place = place?.parent ?? null;
      if (first === undefined) return place?.self;
      if (Object.hasOwn(scope.named, first)) return at(own(scope.named, first), rest, rendering);
      return at(undefined, [first, ...rest], rendering);
    }
  }
}

/** A variable, or a part of a list: `TAGS.[0]`, `TAGS.length`. */
function at(start: Value, path: readonly string[], rendering: Rendering): Value {
  let value = start;
  for (const [index, part] of path.entries()) {
    if (index === 0 && start === undefined) value = own(rendering.variables, part);
    else if (!Array.isArray(value)) return undefined;
    else if (part === 'length') value = value.length;
    else value = /^\d{1,4}$/.test(part) ? (value[Number(part)] as Value) : undefined;
  }
  return value;
}

const own = (of: { readonly [name: string]: Value }, name: string | undefined): Value =>
  name !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;

function nameOf(path: Expression): string {
  if (path.type !== 'PathExpression') throw new TemplateError('an expression must begin with a name');
  return path.parts.length === 0 ? 'this' : path.parts.map(String).join('.');
}

const htmlSigns: { readonly [sign: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
};

export function escaped(text: string, escaping: Escaping): string {
  if (escaping === 'json') return JSON.stringify(text).slice(1, -1);
  if (escaping === 'html') return text.replaceAll(/[&<>"']/g, (sign) => htmlSigns[sign] ?? sign);
  // Half of a surrogate pair has no UTF-8 form; the way through a Buffer replaces it.
  return encodeURIComponent(Buffer.from(text).toString());
}
