import { shortened } from '../../shortened.ts';
import { HttpFailure } from './failures.ts';
import { dateHelper, randomHelpers } from '../../templates/common-helpers.ts';
import type { Dialect, Helper } from '../../templates/dialect.ts';
import type { Escaping } from '../../templates/escaping.ts';
import { loadParser } from '../../templates/parse.ts';
import { render } from '../../templates/render.ts';
import { nameOf, type Call, type Expression, type PathExpression } from '../../templates/syntax.ts';
import { TemplateError } from '../../templates/template-error.ts';
import { textOf, type Value } from '../../templates/values.ts';

/**
 * Handlebars templates of requests: variables, `{{#if X}}` and `{{#unless X}}`, random values and dates. All values
 * are texts, and a name with dots is the name of one variable.
 */

export type TemplateScope = {
  /** Variables by name; an unknown one renders as an empty text. */
  variables: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Called with the name of each variable that is used but not set. */
  onMissing?: (name: string) => void;
};

/** Renders one field, URI-encoded by default. Messages name the `field`. Throws HttpFailure TEMPLATE_INVALID. */
export type Renderer = (field: string, template: string, escaping?: Escaping) => string;

const dateIn = (helper: string): Helper =>
  dateHelper((phrase) => `{{${helper}}} does not understand the time "${shortened(phrase, 100)}"`);

const helpers: ReadonlyMap<string, Helper> = new Map([
  ...randomHelpers,
  ['moment', dateIn('moment')],
  ['date', dateIn('date')],
]);

const requestTemplates: Dialect = {
  helpers,
  // No helper searches its arguments, so the limits on the size of a template are enough.
  workOf: () => 0,
  isTruthy: (value) => textOf(value) !== '',
  check: (statement) => {
    switch (statement.type) {
      case 'ContentStatement':
      case 'CommentStatement':
        return;
      case 'MustacheStatement':
        refuseHash(statement);
        return checkCall(statement);
      case 'BlockStatement': {
        refuseHash(statement);
        const name = nameOf(statement.path);
        const [condition] = statement.params;
        if ((name !== 'if' && name !== 'unless') || condition === undefined || statement.params.length > 1) {
          throw new TemplateError(`{{#${name}}} is not supported; use {{#if X}} or {{#unless X}}`);
        }
        return checkArgument(condition);
      }
      default:
        throw new TemplateError('partials and decorators are not supported');
    }
  },
  maxOutput: 2 * 1024 * 1024,
  messages: {
    syntax: (problem) => shortened(problem, 200),
    tooMany: (noun, max) => `it has more than ${max} ${noun}`,
    tooDeep: (max) => `its blocks are nested more than ${max} deep`,
    tooLarge: (max) => `it renders to more than ${max} characters`,
  },
};

function refuseHash({ hash }: Call): void {
  if (hash !== undefined && hash.pairs.length > 0)
    throw new TemplateError('name=value arguments are not supported');
}

function checkCall({ path, params }: Call): void {
  if (path.type !== 'PathExpression') return checkArgument(path);
  for (const param of params) checkArgument(param);
  const name = nameOf(path);
  if (params.length > 0 && !helpers.has(name)) {
    throw new TemplateError(`there is no helper ${shortened(name, 100)}; use moment or date`);
  }
}

function checkArgument({ type }: Expression): void {
  if (type === 'SubExpression' || type === 'UndefinedLiteral' || type === 'NullLiteral')
    throw new TemplateError('expressions within expressions are not supported');
}

/** Creates a renderer for one attempt; loads the parser when it is first needed. */
export async function createRenderer({ variables, now, onMissing }: TemplateScope): Promise<Renderer> {
  const parse = await loadParser();
  // A variable may be called "date", but no variable hides a random value.
  const shadows = (name: string): boolean => !name.startsWith('$') && variables.has(name);
  // A helper needs no arguments, so its bare name may itself be an argument: {{#if $UUID}}, {{moment date}}.
  const read = (path: PathExpression): Value => {
    const name = nameOf(path);
    const helper = helpers.get(name);
    if (helper !== undefined && !shadows(name)) return helper([], { now });
    const value = variables.get(name);
    if (value === undefined) onMissing?.(name);
    return value ?? '';
  };
  return (field, template, escaping = 'uri') => {
    try {
      const program = parse(template, requestTemplates);
      return render(program, { dialect: requestTemplates, escaping, now, read, shadows });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      throw new HttpFailure('TEMPLATE_INVALID', `the template in ${field} is not valid: ${error.message}`);
    }
  };
}
