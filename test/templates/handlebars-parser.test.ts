import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import handlebars from 'handlebars';
import { expect, test } from 'vitest';
import { loadTemplateParser } from '../../src/templates/handlebars-parser.ts';

const load = createRequire(import.meta.url);

test('handlebars is the release that handlebars-parser.ts was read from', () => {
  const manifest = readFileSync(load.resolve('handlebars/package.json'), 'utf8');
  expect((JSON.parse(manifest) as { version: string }).version).toBe('4.7.10');
});

test('its file of the parser gives the tree that its front door gives', async () => {
  const parse = await loadTemplateParser();
  const template = '{{a}} {{{b "c" d=1}}} {{#if e}}f{{else}}g{{/if}}';
  expect(JSON.stringify(parse(template))).toBe(JSON.stringify(handlebars.parse(template)));
  expect(() => parse('{{#if}')).toThrow(/Parse error on line 1/);
});
