import handlebars from 'handlebars';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HttpFailure } from '../../src/executors/http/failures.ts';
import { createRenderer } from '../../src/executors/http/templates.ts';
import { parseTemplate, renderTemplate } from '../../src/service/alert-channels/template.ts';
import { loadTemplateParser } from '../../src/templates/handlebars-parser.ts';
import type { Variables } from '../../src/templates/scope.ts';
import { TemplateError } from '../../src/templates/template-error.ts';
import { packedPackage } from '../helpers/packed-package.ts';

/**
 * Handlebars' own specification, as JSON cases of a package that is fetched for this test. Each case is rendered as the
 * specification says, or is left out for a reason that is named here.
 */

type Case = {
  description: string;
  it: string;
  number?: string;
  template: string;
  data?: unknown;
  expected?: string;
  exception?: unknown;
  helpers?: object;
  partials?: object;
  decorators?: object;
  compileOptions?: object;
  runtimeOptions?: object;
};

const folder = packedPackage('handlebars-spec', '104.7.106');
const names = [
  'basic',
  'blocks',
  'builtins',
  'data',
  'helpers',
  'partials',
  'regressions',
  'strict',
  'string-params',
  'subexpressions',
  'track-ids',
  'whitespace-control',
];
const casesOf = (name: string): Case[] =>
  folder === null ? [] : (JSON.parse(readFileSync(join(folder, 'spec', `${name}.json`), 'utf8')) as Case[]); // its format
const all = names.flatMap((name) => casesOf(name).map((each) => ({ file: name, ...each })));
type Named = (typeof all)[number];
const keyOf = ({ file, it, number = '' }: Named): string => `${file}: ${it} ${number}`.trim();

/** What neither dialect has, and why. */
const reasons = {
  helpers:
    'a template has the helpers of its dialect only: others would be code of a customer in the service',
  partials: 'a template is one text: nothing else is loaded into it',
  decorators: 'decorators are code',
  options: 'the options of the compiler are not part of a template',
  objects:
    'variables are texts, numbers, booleans, and lists of them: no objects, functions or missing places',
} as const;
type Reason = keyof typeof reasons;

const isFilled = (value: object | undefined): boolean => value !== undefined && Object.keys(value).length > 0;
const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isPlain) : typeof value !== 'object' || value === null;

function leftOut(each: Case): Reason | null {
  const { data = {} } = each;
  if (isFilled(each.helpers)) return 'helpers';
  if (each.partials !== undefined || /\{\{\{?[#~]*\s*>/.test(each.template)) return 'partials';
  if (each.decorators !== undefined || /\{\{#?\*/.test(each.template)) return 'decorators';
  if (isFilled(each.compileOptions) || isFilled(each.runtimeOptions)) return 'options';
  const isRecord = typeof data === 'object' && data !== null && !Array.isArray(data);
  return isRecord && Object.values(data).every(isPlain) ? null : 'objects';
}

const literal = 'a literal in the place of a name is itself, not the name of a variable';
const backtick = 'a backtick is no danger in HTML, so it stays';
/** Cases that our dialects render in another way on purpose. */
const otherwise: { readonly [key: string]: string | undefined } = {
  'basic: escaping expressions 02': backtick,
  ...Object.fromEntries(
    ['01', '02', '03', '04', '05'].map((number) => [`basic: literal references ${number}`, literal]),
  ),
  ...Object.fromEntries(
    ['', ' 01', ' 02'].map((number) => [`basic: pass string literals${number}`, literal]),
  ),
  ...Object.fromEntries(
    ['', ' 01', ' 02', ' 03'].map((number) => [`basic: pass number literals${number}`, literal]),
  ),
  ...Object.fromEntries(
    ['', ' 01', ' 02'].map((number) => [`basic: pass boolean literals${number}`, literal]),
  ),
  'blocks: block standalone else sections 01':
    'a text in {{#TEXT}} is a condition, and `this` stays what it was',
  'regressions: GH-731: zero context rendering': 'zero is false in every block, as in {{#if}}',
};

const now = () => 1_772_700_000_000;
const tried = all.filter((each) => leftOut(each) === null);

test.skipIf(folder === null)('every case is tried, or left out for a reason', () => {
  const counts = new Map<string, number>();
  for (const each of all) {
    const reason = leftOut(each) ?? 'tried';
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  expect(Object.fromEntries(counts)).toEqual({
    tried: 130,
    helpers: 187,
    partials: 68,
    decorators: 2,
    options: 33,
    objects: 54,
  });
  expect(Object.keys(reasons).every((reason) => counts.has(reason))).toBe(true);
  const known = new Set(tried.map(keyOf));
  expect(Object.keys(otherwise).filter((key) => !known.has(key))).toEqual([]);
});

async function byWebhook({ template, data }: Case): Promise<string | null> {
  try {
    const variables = (data ?? {}) as Variables; // checked by leftOut
    return renderTemplate(await parseTemplate(template), { variables, escaping: 'html', now });
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return null;
  }
}

describe.skipIf(folder === null)('webhook templates', () => {
  test.each(tried.map((each) => [keyOf(each), each] as const))('%s', async (key, each) => {
    const wanted = each.exception === undefined ? (each.expected ?? '') : null;
    const rendered = await byWebhook(each);
    // A difference that is gone must leave the list.
    if (otherwise[key] === undefined) expect(rendered).toBe(wanted);
    else expect(rendered).not.toBe(wanted);
  });
});

/** Texts only, and no `@root`: what requests have. */
const isOfRequests = ({ data, template }: Case): boolean =>
  !template.includes('@') && Object.values(data ?? {}).every((value) => typeof value === 'string');

test.skipIf(folder === null)('request templates render the same, or are refused as templates', async () => {
  const wrong: string[] = [];
  let rendered = 0;
  for (const each of tried.filter((one) => isOfRequests(one) && otherwise[keyOf(one)] === undefined)) {
    const variables = new Map(Object.entries((each.data ?? {}) as { [name: string]: string }));
    const render = await createRenderer({ variables, now });
    try {
      const text = render('body', each.template, 'html');
      rendered += 1;
      if (text !== each.expected) wrong.push(`${keyOf(each)}: ${JSON.stringify(text)}`);
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
    }
  }
  expect(wrong).toEqual([]);
  expect(rendered).toBeGreaterThan(20);
});

test.skipIf(folder === null)(
  'the parser of both dialects reads the specification of the language',
  async () => {
    const parse = await loadTemplateParser();
    const wrong: string[] = [];
    for (const { it, number = '', template, expected, exception } of casesOf('parser')) {
      let printed: string | null = null;
      try {
        // The library's own description of a tree.
        printed = (handlebars as unknown as { print: (tree: unknown) => string }).print(parse(template));
      } catch {
        // Refused.
      }
      if (printed !== (exception === undefined ? (expected ?? '') : null)) {
        wrong.push(`${it} ${number}: ${JSON.stringify(printed)}`);
      }
    }
    expect(wrong).toEqual([]);
  },
);
