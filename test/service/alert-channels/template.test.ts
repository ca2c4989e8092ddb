import { expect, test } from 'vitest';
import { parseTemplate, renderTemplate } from '../../../src/service/alert-channels/template.ts';
import type { Escaping } from '../../../src/templates/escaping.ts';
import type { Variables } from '../../../src/templates/scope.ts';

/** Webhook templates: variables, every helper, escaping, and refusals. */

const now = () => Date.parse('2026-03-04T05:06:07Z');

const variables: Variables = {
  ALERT_TITLE: 'Check "Shop" has failed',
  ALERT_TYPE: 'ALERT_FAILURE',
  CHECK_NAME: 'Shop - orders - list',
  GROUP_NAME: '',
  RESPONSE_TIME: 1234,
  API_CHECK_RESPONSE_STATUS_CODE: 503,
  TAGS: ['team:shop', 'tier=gold', 'paid'],
  EMPTY: [],
  IS_REMINDER: false,
  REMINDER_SEQUENCE: 0,
  date: 'a variable of that name',
};

async function render(template: string, escaping: Escaping = 'json'): Promise<string> {
  return renderTemplate(await parseTemplate(template), { variables, escaping, now });
}

test.each<[template: string, rendered: string]>([
  ['no expression at all', 'no expression at all'],
  ['{{ALERT_TYPE}} {{RESPONSE_TIME}} {{UNKNOWN}}!', 'ALERT_FAILURE 1234 !'],
  ['{{! a comment }}x', 'x'],
  // Blocks
  ['{{#if GROUP_NAME}}in {{GROUP_NAME}}{{else}}alone{{/if}}', 'alone'],
  ['{{#if IS_REMINDER}}a{{else if RESPONSE_TIME}}b{{else}}c{{/if}}', 'b'],
  ['{{#if REMINDER_SEQUENCE}}a{{else}}b{{/if}}', 'b'],
  ['{{#if REMINDER_SEQUENCE includeZero=true}}a{{else}}b{{/if}}', 'a'],
  ['{{#unless IS_REMINDER}}first{{/unless}}', 'first'],
  [
    '{{#each TAGS}}{{@index}}{{#if @first}}!{{/if}}={{this}}{{#unless @last}},{{/unless}}{{/each}}',
    '0!=team:shop,1=tier=gold,2=paid',
  ],
  ['{{#each TAGS as |tag at|}}{{at}}{{tag}} {{/each}}', '0team:shop 1tier=gold 2paid '],
  ['{{#each TAGS}}{{../ALERT_TYPE}}{{/each}}', 'ALERT_FAILURE'.repeat(3)],
  ['{{#each EMPTY}}x{{else}}none{{/each}}', 'none'],
  ['{{#TAGS}}<{{this}}>{{/TAGS}}', '<team:shop><tier=gold><paid>'],
  ['{{#with CHECK_NAME}}{{this}}{{/with}}', 'Shop - orders - list'],
  [
    '{{TAGS.[0]}} {{TAGS.length}} {{TAGS}} {{lookup TAGS 1}}',
    'team:shop 3 team:shop,tier=gold,paid tier=gold',
  ],
  // Helpers of the alert
  ['{{tagValue TAGS "team"}} {{tagValue TAGS "tier"}} {{tagValue TAGS "x" "none"}}', 'shop gold none'],
  ['{{#if (startsWith "Shop" CHECK_NAME)}}yes{{/if}}', 'yes'],
  ['{{replace CHECK_NAME " - " "/"}}', 'Shop/orders - list'],
  [
    '{{split CHECK_NAME " - " 1}} {{#each (split CHECK_NAME " - ")}}[{{this}}]{{/each}}',
    'orders [Shop][orders][list]',
  ],
  ['{{year}} {{moment "today" "YYYY-MM-DD"}} {{moment "1 day ago" "DD"}}', '2026 2026-03-04 03'],
  ['{{date "now" "HH:mm"}} {{date}}', '05:06 a variable of that name'],
  // Conditions
  ['{{#eq ALERT_TYPE "ALERT_FAILURE"}}a{{else}}b{{/eq}}', 'a'],
  ['{{#eq API_CHECK_RESPONSE_STATUS_CODE "503"}}a{{else}}b{{/eq}}', 'b'],
  ['{{#is API_CHECK_RESPONSE_STATUS_CODE "503"}}a{{else}}b{{/is}}', 'a'],
  ['{{#isnt ALERT_TYPE "ALERT_SSL"}}a{{/isnt}}', 'a'],
  ['{{#gt RESPONSE_TIME 1000}}a{{/gt}}{{#gte RESPONSE_TIME 1234}}b{{/gte}}', 'ab'],
  ['{{#lt RESPONSE_TIME "9"}}a{{else}}b{{/lt}}{{#lte RESPONSE_TIME 1234}}c{{/lte}}', 'bc'],
  [
    '{{#compare RESPONSE_TIME ">=" 1000}}slow{{/compare}}{{#compare 1 "typeof" "number"}}n{{/compare}}',
    'slown',
  ],
  ['{{#if (and ALERT_TYPE (or GROUP_NAME RESPONSE_TIME) (not IS_REMINDER))}}a{{/if}}', 'a'],
  ['{{#neither IS_REMINDER GROUP_NAME}}a{{/neither}}', 'a'],
  ['{{#isTruthy EMPTY}}a{{else}}b{{/isTruthy}}{{#isFalsey EMPTY}}c{{/isFalsey}}', 'bc'],
  ['{{#contains TAGS "paid"}}a{{/contains}}{{#has CHECK_NAME "orders"}}b{{/has}}', 'ab'],
  ['{{default GROUP_NAME UNKNOWN "no group"}}', 'no group'],
  [
    '{{#each TAGS}}{{#ifEven @index}}e{{/ifEven}}{{#ifOdd @index}}o{{/ifOdd}}{{#ifNth 2 @index}}n{{/ifNth}}{{/each}}',
    'enoen',
  ],
  [
    '{{#unlessEq 1 2}}a{{/unlessEq}}{{#unlessGt 1 2}}b{{/unlessGt}}{{#unlessGteq 1 2}}c{{/unlessGteq}}{{#unlessLt 1 2}}d{{else}}e{{/unlessLt}}{{#unlessLteq 3 2}}f{{/unlessLteq}}',
    'abcef',
  ],
  // Nothing but variables can be reached.
  [
    '{{constructor}}{{__proto__}}{{TAGS.constructor}}{{#each TAGS}}{{this.constructor}}{{/each}}{{toString}}',
    '',
  ],
])('%s', async (template, rendered) => {
  expect(await render(template)).toBe(rendered);
});

test('ids and numbers of chance', async () => {
  expect(await render('{{$UUID}}')).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(Number(await render('{{$RANDOM_NUMBER}}'))).toBeLessThanOrEqual(10_000);
});

test('two braces escape a value for its context; three insert it unchanged', async () => {
  expect(JSON.parse(await render('{"title": "{{ALERT_TITLE}}"}'))).toEqual({
    title: variables['ALERT_TITLE'],
  });
  expect(await render('{{ALERT_TITLE}}', 'uri')).toBe('Check%20%22Shop%22%20has%20failed');
  expect(await render('{{ALERT_TITLE}}', 'html')).toBe('Check &quot;Shop&quot; has failed');
  expect(await render('{{{ALERT_TITLE}}}', 'html')).toBe(variables['ALERT_TITLE']);
});

test.each<[template: string, message: RegExp]>([
  ['{{#if X}}', /^is not a valid template: Parse error on line 1/],
  ['{{> other}}', /^must not have partials or decorators$/],
  ['{{#*inline "a"}}{{> a}}{{/inline}}{{> a}}', /^must not have partials or decorators$/],
  ['{{log "x" 1}}', /^there is no helper log; use one of if, unless, each, with, \$UUID/],
  ['{{#if GROUP_NAME}}{{nothing 1}}{{/if}}', /^there is no helper nothing;/],
  ['{{toString 1}}', /^there is no helper toString;/],
  ['{{#with (constructor "return process")}}{{this}}{{/with}}', /^there is no helper constructor;/],
  ['{{#each A B}}{{/each}}', /^\{\{#each\}\} takes one argument$/],
  ['{{x}}'.repeat(1001), /^must not have more than 1000 expressions$/],
  ['{{#if x}}'.repeat(40) + '{{/if}}'.repeat(40), /^must not nest blocks deeper than 32$/],
  [`{{eq ${'(not '.repeat(40)}1${')'.repeat(40)} 1}}`, /^must not nest expressions deeper than 32$/],
  // The parser's time grows with the square of these: refused before it runs.
  [`{{eq ${'(not '.repeat(200)}1${')'.repeat(200)} 1}}`, /^must not have more than 100 nested parentheses$/],
  ['{{#compare 1 "~" 2}}{{/compare}}', /^compare has no operator "~"/],
  ['{{moment "the day the music died"}}', /is not a known time$/],
])('refused: %s', async (template, message) => {
  await expect(render(template)).rejects.toThrow(message);
});

test.each([
  '{{constructor}}',
  '{{constructor.constructor}}',
  '{{__proto__}}',
  '{{TAGS.constructor}}{{TAGS.__proto__}}{{TAGS.map}}',
  '{{ALERT_TITLE.length}}{{ALERT_TITLE.constructor}}',
  '{{lookup TAGS "constructor"}}{{lookup this "constructor"}}',
  '{{#with TAGS as |__proto__|}}{{__proto__.constructor}}{{toString}}{{/with}}',
  '{{@root.constructor}}{{@constructor}}{{../constructor}}',
])('only variables are accessible: %s', async (template) => {
  expect(await render(template)).toBe('');
});

test('no template runs endlessly or becomes too large', async () => {
  const many: Variables = {
    LIST: Array.from({ length: 200 }, (_, index) => `tag ${index}`),
    LONG: 'x'.repeat(5000),
  };
  const go = async (template: string) =>
    renderTemplate(await parseTemplate(template), { variables: many, escaping: 'json', now });
  const nested = `${'{{#each LIST}}'.repeat(6).replaceAll('LIST', '@root.LIST')}x${'{{/each}}'.repeat(6)}`;
  await expect(go(nested)).rejects.toThrow('takes more than 20000 steps');
  await expect(go('{{#each LIST}}{{@root.LONG}}{{/each}}')).rejects.toThrow('more than 262144 characters');
  // Each doubles what it is given, but no helper gives more than its bound.
  const doubling = '(replace '.repeat(20) + 'LONG' + ' "x" LONG)'.repeat(20);
  expect((await go(`{{eq ${doubling} ""}}`)).length).toBeLessThan(10);
});

test('no template blocks the service, neither by searching nor by parsing', async () => {
  const LONG = 'a'.repeat(60_000);
  const many: Variables = {
    LIST: Array.from({ length: 200 }, String),
    LONG,
    SIGN: 'b',
    MIDDLE: `${LONG}b${LONG}`,
  };
  const go = async (template: string) =>
    renderTemplate(await parseTemplate(template), { variables: many, escaping: 'json', now });
  const oftenTried = (expression: string) =>
    `{{#each LIST}}{{#each @root.LIST}}{{#if (${expression})}}x{{/if}}{{/each}}{{/each}}`;
  for (const expression of [
    'contains MIDDLE LONG',
    'has LONG SIGN',
    'lt LONG LONG',
    'or (split LONG MIDDLE)',
  ]) {
    await expect(go(oftenTried(expression))).rejects.toThrow('too many long texts');
  }
  expect(await go('{{#if (contains LONG "b")}}x{{else}}y{{/if}}')).toBe('y');
  await expect(go(`{{not ${'(not '.repeat(5000)}1${')'.repeat(5000)}}}`)).rejects.toThrow(
    'must not have more than 1000 opening parentheses',
  );
});
