import { maxDepth, type Dialect } from '../../templates/dialect.ts';
import type { Escaping } from '../../templates/escaping.ts';
import { loadParser } from '../../templates/parse.ts';
import { render } from '../../templates/render.ts';
import { readPath, type Variables } from '../../templates/scope.ts';
import { nameOf, type Call, type Expression, type Program } from '../../templates/syntax.ts';
import { TemplateError } from '../../templates/template-error.ts';
import { isTruthy } from '../../templates/values.ts';
import { helpers, workOf } from './template-helpers.ts';

/**
 * Handlebars templates of webhooks: the variables of an alert, the helpers in template-helpers.ts, and if, unless,
 * each, with.
 */

const blocks = ['if', 'unless', 'each', 'with'];

const alertTemplates: Dialect = {
  helpers,
  workOf,
  isTruthy,
  check: (statement, depth) => {
    switch (statement.type) {
      case 'ContentStatement':
      case 'CommentStatement':
        return;
      case 'MustacheStatement':
        return checkCall(statement, depth);
      case 'BlockStatement': {
        const name = nameOf(statement.path);
        if (!blocks.includes(name)) return checkCall(statement, depth);
        if (statement.params.length !== 1) throw new TemplateError(`{{#${name}}} takes one argument`);
        return checkArguments(statement, depth);
      }
      default:
        throw new TemplateError('must not have partials or decorators');
    }
  },
  maxOutput: 256 * 1024,
  messages: {
    syntax: (problem) => `is not a valid template: ${problem.slice(0, 200)}`,
    tooMany: (things, max) => `must not have more than ${max} ${things}`,
    tooDeep: (max) => `must not nest blocks deeper than ${max}`,
    tooLarge: (max) => `the template renders to more than ${max} characters`,
  },
};

function checkCall(call: Call, depth: number): void {
  if (call.params.length > 0 && !helpers.has(nameOf(call.path))) {
    throw new TemplateError(
      `there is no helper ${nameOf(call.path).slice(0, 100)}; use one of ${[...blocks, ...helpers.keys()].join(', ')}`,
    );
  }
  checkArguments(call, depth);
}

function checkArguments({ params }: Call, depth: number): void {
  for (const param of params) checkExpression(param, depth);
}

function checkExpression(expression: Expression, depth: number): void {
  if (depth > maxDepth) throw new TemplateError(`must not nest expressions deeper than ${maxDepth}`);
  if (expression.type === 'SubExpression') checkCall(expression, depth + 1);
}

/** Parses a template and refuses unknown elements at any depth. Throws TemplateError. */
export async function parseTemplate(template: string): Promise<Program> {
  const program = (await loadParser())(template, alertTemplates);
  checkProgram(program, 0);
  return program;
}

function checkProgram(program: Program | undefined, depth: number): void {
  if (depth > maxDepth) throw new TemplateError(alertTemplates.messages.tooDeep(maxDepth));
  for (const statement of program?.body ?? []) {
    alertTemplates.check(statement, depth);
    if (statement.type !== 'BlockStatement') continue;
    checkProgram(statement.program, depth + 1);
    checkProgram(statement.inverse, depth + 1);
  }
}

/** Renders a parsed template. Throws TemplateError: too long, too large, or a helper with wrong arguments. */
export function renderTemplate(
  program: Program,
  { variables, escaping, now }: { variables: Variables; escaping: Escaping; now: () => number },
): string {
  return render(program, {
    dialect: alertTemplates,
    escaping,
    now,
    read: (path, scope) => readPath(path, scope, variables),
    shadows: (name) => Object.hasOwn(variables, name),
  });
}
