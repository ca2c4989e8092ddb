import { HttpFailure } from '../../../src/executors/http/failures.ts';
import { createRenderer } from '../../../src/executors/http/templates.ts';
import { parseTemplate, renderTemplate } from '../../../src/service/alert-channels/template.ts';
import { TemplateError } from '../../../src/templates/template-error.ts';

/** Templates in both dialects: those of requests and those of webhooks. A template is rendered or refused. */

export const name = 'templates';

const variables = new Map([
  ['A', 'text & <more>'],
  ['a.b', ''],
]);
const now = (): number => 1_772_700_000_000;

/** Throws if a template is not rendered, and not refused with the dialect's own error. */
export async function run(data: Buffer): Promise<void> {
  const template = data.toString();
  const render = await createRenderer({ variables, now });
  for (const escaping of ['uri', 'json', 'html', 'raw'] as const) {
    try {
      render('url', template, escaping);
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
    }
    try {
      const program = await parseTemplate(template);
      const values = { A: 'text', N: 0, TAGS: ['a', 'b', ['c']] };
      renderTemplate(program, { variables: values, escaping, now });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
    }
  }
}

export const seeds = (): string[] => [
  '{{A}} {{{A}}} {{&A}} {{a.b}} {{! comment }} {{!-- a --}}',
  '{{#if A}}x{{else if N}}z{{else}}y{{/if}}{{^unless N}}n{{/unless}}',
  '{{#each TAGS as |tag i|}}{{i}}:{{tag}}{{@index}}{{@first}}{{../A}}{{@root.A}}{{else}}none{{/each}}',
  '{{#with A as |x|}}{{x}}{{this}}{{/with}}{{#TAGS}}{{.}}{{/TAGS}}{{TAGS.[0]}}{{TAGS.length}}',
  '{{moment "2 days ago" "YYYY-MM-DD HH:mm:ss Z"}} {{date "+3h" "X"}} {{$UUID}} {{$RANDOM_NUMBER}}',
  '{{#eq A "b"}}1{{/eq}}{{#if (or (eq A "x") (contains A "t"))}}2{{/if}}{{~A~}}\\{{raw}} {{{{raw}}}}x{{{{/raw}}}}',
  '{{> partial}}{{#*inline "a"}}{{/inline}}{{#if X includeZero=true}}{{/if}}',
];

export const dictionary = [
  '{{',
  '}}',
  '{{{',
  '}}}',
  '{{#',
  '{{/',
  '{{^',
  '{{else}}',
  '{{!--',
  '--}}',
  '(',
  ')',
  '"',
  "'",
  '|',
  ' as |',
  '@index',
  '../',
  'this',
  'if',
  'unless',
  'each',
  'with',
  'A',
  'TAGS',
  '~',
  '\\',
  '[',
  ']',
  '=',
  'moment ',
];
