import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAst } from 'vitest/node';

/** Every layer that docs/security.md names has a test, and that test exists. */

const root = join(import.meta.dirname, '..');
const attackers = [
  'A target',
  'A script',
  "A suite's dependency",
  'The service',
  'A co-tenant',
  'The network',
  "The operator's mistake",
];
/** Tables of the same form that are no attacker's. */
const lists = ['Escapes from containers'];

type Row = { line: number; cells: string[]; references: { file: string; title: string }[] };

/** The rows of each table in a page, below the heading of its section. */
function tablesOf(markdown: string): Map<string, Row[]> {
  const tables = new Map<string, Row[]>();
  let section = '';
  markdown.split('\n').forEach((text, index) => {
    if (text.startsWith('#')) section = text.replace(/^#+ /, '');
    if (!text.startsWith('|') || /^\| *(?:---|what it tries)/.test(text)) return;
    const cells = text
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    const references = [...text.matchAll(/`(test\/[^`]+\.ts)` › `([^`]+)`/g)].map(
      ([, file = '', title = '']) => ({ file, title: title.replaceAll('\\|', '|') }),
    );
    tables.set(section, [...(tables.get(section) ?? []), { line: index + 1, cells, references }]);
  });
  return tables;
}

type Node = { type: string; [part: string]: unknown };
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** The text of a string in the code; undefined = no plain string. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  const quasis = node.type === 'TemplateLiteral' ? node['quasis'] : undefined;
  if (!Array.isArray(quasis) || quasis.length !== 1) return undefined;
  return (quasis[0] as { value: { cooked: string } }).value.cooked; // ESTree's form of a template's text
}

/** `it.skipIf(…).each(…)` is called as `it`; the names on the way tell whether it is switched off. */
function calleeOf(node: unknown): { name: string; isSkipped: boolean } {
  let isSkipped = false;
  let at = node;
  while (isNode(at) && at.type !== 'Identifier') {
    const property = at.type === 'MemberExpression' ? at['property'] : undefined;
    if (isNode(property) && ['skip', 'todo'].includes(String(property['name']))) isSkipped = true;
    at = at.type === 'MemberExpression' ? at['object'] : at['callee'];
  }
  return { name: isNode(at) ? String(at['name']) : '', isSkipped };
}

/** The titles of tests and of their cases: first arguments of it, test and describe, and `name` of a case. */
function titlesOf(code: string): Set<string> {
  const titles = new Set<string>();
  const add = (title: string | undefined): void => void (title !== undefined && titles.add(title));
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (!isNode(node)) return;
    if (node.type === 'CallExpression') {
      const { name, isSkipped } = calleeOf(node['callee']);
      if (['it', 'test', 'describe'].includes(name)) {
        // What is always skipped verifies nothing.
        if (isSkipped) return;
        add(textOf((node['arguments'] as unknown[])[0])); // ESTree's form of a call
      }
    }
    const key = node.type === 'Property' ? node['key'] : undefined;
    if (isNode(key) && key['name'] === 'name') add(textOf(node['value']));
    for (const part of Object.values(node)) visit(part);
  };
  visit(parseAst(code, { lang: 'ts' }));
  return titles;
}

/** Cases in a file of their own count only if a test next to it imports them. */
function isRun(file: string): boolean {
  if (file.endsWith('.test.ts')) return true;
  const folder = dirname(join(root, file));
  return readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .some((name) => readFileSync(join(folder, name), 'utf8').includes(`from './${basename(file)}'`));
}

const known = new Map<string, Set<string>>();
/** What is wrong with the rows of a page, a line each. */
function mistakesOf(tables: ReadonlyMap<string, readonly Row[]>): string[] {
  const mistakes: string[] = [];
  for (const section of [...attackers, ...lists]) {
    for (const { line, cells, references } of tables.get(section) ?? []) {
      const [attack = '', layer = ''] = cells;
      if (cells.length !== 3 || attack === '' || layer === '')
        mistakes.push(`line ${line}: a row has an attack, a layer and a test`);
      if (references.length === 0) mistakes.push(`line ${line}: no test`);
      for (const { file, title } of references) {
        const path = join(root, file);
        if (!existsSync(path)) {
          mistakes.push(`line ${line}: there is no ${file}`);
          continue;
        }
        const titles = known.get(file) ?? titlesOf(readFileSync(path, 'utf8'));
        known.set(file, titles);
        if (!isRun(file)) mistakes.push(`line ${line}: no test next to ${file} imports it`);
        if (!titles.has(title)) mistakes.push(`line ${line}: ${file} has no test "${title}"`);
      }
    }
  }
  return mistakes;
}

const page = tablesOf(readFileSync(join(root, 'docs', 'security.md'), 'utf8'));

test('every attacker has a table in docs/security.md', () => {
  expect(attackers.filter((section) => (page.get(section)?.length ?? 0) === 0)).toEqual([]);
});

test('every layer in docs/security.md names a test that exists', () => {
  expect(mistakesOf(page)).toEqual([]);
});

test('each of the 18 published escapes from containers has a row', () => {
  const rows = page.get('Escapes from containers') ?? [];
  const groups = rows.map(({ cells: [scenario = ''] }) => scenario.split(':')[0] ?? '');
  const count = (group: string) => groups.filter((each) => each === group).length;
  expect(['orchestration', 'engine', 'kernel'].map(count)).toEqual([4, 8, 6]);
});

test('what remains is named with its remedy, and no test', () => {
  const rows = page.get('What remains') ?? [];
  expect(rows.length).toBeGreaterThan(0);
  for (const { line, cells, references } of rows) {
    expect(cells, `line ${line}`).toHaveLength(3);
    expect(cells.includes(''), `line ${line}`).toBe(false);
    expect(references, `line ${line}`).toEqual([]);
  }
});

describe('the rows are really compared', () => {
  const self = 'test/threat-model.test.ts';
  const row = (reference: string) =>
    mistakesOf(tablesOf(`## A target\n\n| what it tries | layer | test |\n| a | b | ${reference} |`));

  test('a row is right, or its mistake is named', () => {
    expect(row(`\`${self}\` › \`a row is right, or its mistake is named\``)).toEqual([]);
    expect(row(`\`${self}\` › \`no such title\``)).toEqual([`line 4: ${self} has no test "no such title"`]);
    expect(row('`test/no-such-file.test.ts` › `a`')).toEqual([
      'line 4: there is no test/no-such-file.test.ts',
    ]);
    expect(row('`test/helpers/machine.ts` › `a`')).toContain(
      'line 4: no test next to test/helpers/machine.ts imports it',
    );
    expect(row('by review')).toEqual(['line 4: no test']);
  });

  test('titles are those of tests and cases that are not switched off', () => {
    const code = `
      const text = 'not a title';
      const cases = [{ name: 'a case' }] as const;
      it.skip('switched off', () => {});
      describe.runIf(true).each(cases)('a table of $name', () => { test(\`plain\`, () => { expect('not this'); }); });`;
    expect([...titlesOf(code)]).toEqual(['a case', 'a table of $name', 'plain']);
  });
});
