import { maxDepth, type Dialect } from './dialect.ts';
import { escaped, type Escaping } from './escaping.ts';
import type { Scope } from './scope.ts';
import {
  nameOf,
  type Block,
  type Call,
  type Expression,
  type PathExpression,
  type Program,
} from './syntax.ts';
import { TemplateError } from './template-error.ts';
import { textOf, type Value } from './values.ts';

/**
 * The interpreter of Handlebars templates. It walks through the parsed tree, so a template can use only variables and
 * the helpers of its dialect. Steps, the work of helpers and the output are counted, so every template terminates soon.
 */

const maxSteps = 20_000;
/** Characters that all helpers together may process: some hundredths of a second, whatever they search for. */
const maxWork = 20_000_000;

export type RenderOptions = {
  dialect: Dialect;
  escaping: Escaping;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Returns the value of a name that is not called as a helper. */
  read: (path: PathExpression, scope: Scope) => Value;
  /** Whether `{{name}}` is a variable although a helper has the same name. */
  shadows: (name: string) => boolean;
};

type Rendering = RenderOptions & { parts: string[]; length: number; steps: number; work: number };

/** The text of a parsed template. Throws TemplateError: rejected by its dialect, too large, or too much work. */
export function render(program: Program, options: RenderOptions): string {
  const rendering: Rendering = { ...options, parts: [], length: 0, steps: 0, work: 0 };
  write(program, { self: undefined, named: {}, data: {}, parent: null, depth: 0 }, rendering);
  return rendering.parts.join('');
}

function put(text: string, rendering: Rendering): void {
  const { maxOutput, messages } = rendering.dialect;
  rendering.length += text.length;
  if (rendering.length > maxOutput) throw new TemplateError(messages.tooLarge(maxOutput));
  rendering.parts.push(text);
}

function step(rendering: Rendering): void {
  rendering.steps += 1;
  if (rendering.steps > maxSteps) throw new TemplateError(`the template takes more than ${maxSteps} steps`);
}

function write(program: Program | undefined, scope: Scope, rendering: Rendering): void {
  const { check, messages } = rendering.dialect;
  if (scope.depth > maxDepth) throw new TemplateError(messages.tooDeep(maxDepth));
  for (const statement of program?.body ?? []) {
    step(rendering);
    check(statement, scope.depth);
    if (statement.type === 'ContentStatement') put(statement.value, rendering);
    else if (statement.type === 'MustacheStatement') {
      const text = textOf(call(statement, scope, rendering));
      put(statement.escaped ? escaped(text, rendering.escaping) : text, rendering);
    } else if (statement.type === 'BlockStatement') writeBlock(statement, scope, rendering);
  }
}

function writeBlock(block: Block, scope: Scope, rendering: Rendering): void {
  const { isTruthy } = rendering.dialect;
  const choose = (holds: boolean): void =>
    write(holds ? block.program : block.inverse, { ...scope, depth: scope.depth + 1 }, rendering);
  const [param] = block.params;
  const argument = (): Value => (param === undefined ? undefined : evaluate(param, scope, rendering));
  switch (nameOf(block.path)) {
    case 'if': {
      const value = argument();
      return choose(isTruthy(value) || countsZero(block, value));
    }
    case 'unless': {
      const value = argument();
      return choose(!isTruthy(value) && !countsZero(block, value));
    }
    case 'each': {
      const value = argument();
      return eachOf(Array.isArray(value) ? value : [], block, scope, rendering);
    }
    case 'with': {
      const value = argument();
      if (!isTruthy(value)) return choose(false);
      return write(block.program, inner(scope, block.program, value, {}), rendering);
    }
    default: {
      // A list or a condition: {{#TAGS}} is {{#each TAGS}}, {{#eq a b}} is {{#if (eq a b)}}.
      const value = call(block, scope, rendering);
      return Array.isArray(value) ? eachOf(value, block, scope, rendering) : choose(isTruthy(value));
    }
  }
}

/** `{{#if X includeZero=true}}` */
const countsZero = ({ hash }: Call, value: Value): boolean =>
  value === 0 &&
  hash?.pairs.some(({ key, value: on }) => key === 'includeZero' && 'value' in on && on.value === true) ===
    true;

function eachOf(
  items: readonly Value[],
  { program, inverse }: Block,
  scope: Scope,
  rendering: Rendering,
): void {
  if (items.length === 0) return write(inverse, { ...scope, depth: scope.depth + 1 }, rendering);
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
  return { self, named, data: { ...scope.data, ...data }, parent: scope, depth: scope.depth + 1 };
}

/** The value of `name` or of `helper argument …`. */
function call({ path, params }: Call, scope: Scope, rendering: Rendering): Value {
  step(rendering);
  if (path.type !== 'PathExpression' || path.data) return evaluate(path, scope, rendering);
  const { dialect, now, shadows } = rendering;
  const name = nameOf(path);
  const helper = dialect.helpers.get(name);
  if (helper === undefined || (params.length === 0 && shadows(name))) return evaluate(path, scope, rendering);
  const values = params.map((param) => evaluate(param, scope, rendering));
  rendering.work += dialect.workOf(name, values);
  if (rendering.work > maxWork) {
    throw new TemplateError('the template compares or searches too many long texts');
  }
  return helper(values, { now });
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
    case 'PathExpression':
      return rendering.read(expression, scope);
  }
}
