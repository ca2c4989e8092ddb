import handlebars from 'handlebars';
import { describe, expect, test } from 'vitest';
import { createRenderer } from '../../src/executors/http/templates.ts';
import { parseTemplate, renderTemplate } from '../../src/service/alert-channels/template.ts';

/**
 * Both dialects against Handlebars itself: what a dialect supports of the language, it renders as the library does. The
 * names are the sections of the library's own specification.
 */

const variables = {
  goodbye: true,
  cruel: 'cruel',
  world: 'world',
  empty: '',
  zero: 0,
  number: 42,
  no: false,
  nothing: null,
  list: ['a', 'b', 'c'],
  one: ['only'],
  none: [],
  nested: [['a', 'b'], ['c']],
  ONE_VALUE: 'value & <more> "quoted"',
};

const now = () => 1_772_700_000_000;

const cases: readonly (readonly [section: string, templates: readonly string[]])[] = [
  [
    'basic',
    [
      'plain',
      '{{cruel}} {{world}}',
      '{{ cruel }}{{\tworld\n}}',
      '{{missing}}.',
      '{{nothing}}.',
      '{{empty}}.',
      '{{zero}} {{number}}',
      '{{{ONE_VALUE}}}',
      '{{&ONE_VALUE}}',
      '{{ONE_VALUE}}',
      '{{! a comment }}x',
      '{{!-- a }} comment --}}x',
      '\\{{cruel}} {{world}}',
      '\\\\{{cruel}}',
      '{{[cruel]}}',
      '{{"cruel"}}',
      'a { b } {c} }} d',
      '{{goodbye}} {{no}}',
    ],
  ],
  [
    'whitespace',
    [
      ' {{~cruel~}} x ',
      ' {{~#if goodbye~}} a {{~else~}} b {{~/if~}} ',
      '{{#if goodbye}}\n  line\n{{/if}}\nend',
      '  {{#if goodbye}}  \nline\n  {{else}}\nother\n  {{/if}}  \nend',
      'a\n  {{! alone }}\nb',
      'x {{#if goodbye}} y\n{{/if}} z',
      '{{#unless no}}\r\nline\r\n{{/unless}}\r\n',
    ],
  ],
  [
    'if and unless',
    [
      '{{#if goodbye}}yes{{/if}}',
      '{{#if no}}yes{{else}}no{{/if}}',
      '{{#if missing}}yes{{^}}no{{/if}}',
      '{{#if zero}}yes{{else}}no{{/if}}',
      '{{#if zero includeZero=true}}yes{{else}}no{{/if}}',
      '{{#if empty}}yes{{else}}no{{/if}}',
      '{{#if list}}yes{{else}}no{{/if}}',
      '{{#if none}}yes{{else}}no{{/if}}',
      '{{#if nothing}}yes{{else if missing}}maybe{{else if number}}number{{else}}no{{/if}}',
      '{{#unless goodbye}}a{{else}}b{{/unless}}',
      '{{^if no}}inverse{{/if}}',
      '{{#if goodbye}}{{#unless no}}{{world}}{{/unless}}{{/if}}',
      '{{#if "text"}}a{{/if}}{{#if ""}}b{{else}}c{{/if}}{{#if 0}}d{{else}}e{{/if}}{{#if true}}f{{/if}}',
    ],
  ],
  [
    'each, data and depth',
    [
      '{{#each list}}{{this}}{{/each}}',
      '{{#each list}}{{.}},{{/each}}',
      '{{#each none}}x{{else}}empty{{/each}}',
      '{{#each missing}}x{{else}}empty{{/each}}',
      '{{#each list}}{{@index}}{{@key}}{{#if @first}}F{{/if}}{{#if @last}}L{{/if}}{{/each}}',
      '{{#each one}}{{@first}}{{@last}}{{/each}}',
      '{{#each list as |item index|}}{{index}}={{item}};{{/each}}',
      '{{#each list}}{{@root.world}}{{/each}}',
      '{{#each nested}}{{#each this}}{{this}}{{/each}}|{{/each}}',
      '{{#each nested as |row|}}{{#each row as |cell|}}{{cell}}{{/each}};{{/each}}',
      '{{list.[1]}}{{list.length}}{{list.[9]}}',
      '{{list}}',
      '{{#list}}{{this}}{{/list}}',
      '{{#none}}x{{else}}empty{{/none}}',
      '{{^none}}empty{{/none}}',
      '{{#goodbye}}yes{{/goodbye}}{{^no}}no{{/no}}',
    ],
  ],
  [
    'with',
    [
      '{{#with cruel}}{{this}}{{/with}}',
      '{{#with missing}}x{{else}}without{{/with}}',
      '{{#with cruel as |c|}}{{c}}{{/with}}',
      '{{#with list}}{{#each this}}{{this}}{{/each}}{{/with}}',
      '{{#with none}}x{{else}}without{{/with}}',
    ],
  ],
];

describe.each(cases)('webhook templates: %s', (_section, templates) => {
  test.each(templates)('%s', async (template) => {
    const program = await parseTemplate(template);
    const ours = renderTemplate(program, { variables, escaping: 'html', now });
    // Without escaping, the library adds up numbers that stand side by side.
    expect(ours).toBe(handlebars.compile(template)(variables));
  });
});

const texts = { A: 'a', B: 'b & <c>', EMPTY: '' };

test.each([
  'plain',
  '{{A}}-{{B}}-{{EMPTY}}-{{MISSING}}.',
  '{{{B}}}{{&B}}',
  ' {{~A~}} ',
  '{{! comment }}{{!-- {{A}} --}}x',
  '\\{{A}}',
  '{{[A]}}',
  '{{#if A}}yes{{/if}}{{#if EMPTY}}yes{{else}}no{{/if}}{{#if MISSING}}yes{{^}}no{{/if}}',
  '{{#if EMPTY}}1{{else if A}}2{{else}}3{{/if}}',
  '{{#unless EMPTY}}{{#if A}}{{B}}{{/if}}{{/unless}}',
  '{{^if EMPTY}}inverse{{/if}}',
  '{{#if A}}\n  line\n{{else}}\n  other\n{{/if}}\nend',
])('request templates: %s', async (template) => {
  const render = await createRenderer({ variables: new Map(Object.entries(texts)), now });
  expect(render('body', template, 'html')).toBe(handlebars.compile(template)(texts));
});

test.each([
  ['{{> partial}}'],
  ['{{#> layout}}x{{/layout}}'],
  ['{{#*inline "a"}}{{/inline}}'],
  ['{{* decorator}}'],
  ['{{#if}}'],
  ['{{#if A}}{{/unless}}'],
  ['{{A'],
  ['{{{A}}'],
  ['{{#each}}x{{/each}}'],
])('refused by both dialects: %s', async (template) => {
  await expect(parseTemplate(template)).rejects.toThrow();
  const render = await createRenderer({ variables: new Map(), now });
  expect(() => render('body', template)).toThrow('the template in body is not valid');
});
