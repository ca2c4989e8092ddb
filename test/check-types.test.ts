import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { checkTypes } from '../src/protocol/check-types.ts';

/**
 * What differs by check type is a row of a table that the compiler demands. A comparison with the name of a type is a
 * place that a new type would miss without an error.
 */

const src = resolve(import.meta.dirname, '..', 'src');

/** Lines that may compare, by a part of their text. */
const allowed = [
  { text: `protocol === 'UDP' || protocol === 'TCP'`, why: 'transports of a DNS check, not check types' },
];

const name = `['"](?:${checkTypes.join('|')})['"]`;
const comparisons = [
  // `type === 'TCP'`, `'TCP' !== type`, `case 'TCP':`
  new RegExp(`[=!]==? *${name}`),
  new RegExp(`${name} *[=!]==?`),
  new RegExp(`\\bcase +${name}`),
  // `['TCP', 'DNS'].includes(type)`, `types.includes('TCP')`, `new Set(['TCP'])`
  new RegExp(`${name}[^\\]\\n]*\\]\\.(?:includes|indexOf|some|find)\\(`),
  new RegExp(`\\.(?:includes|has|indexOf|startsWith)\\(${name}`),
  new RegExp(`new Set(?:<\\w+>)?\\(\\[[^\\]]*${name}`),
  // SQL: `check_type = 'TCP'`, `check_type not in ('TCP')`
  new RegExp(`\\w(?: *(?:=|<>|!=) *| (?:not )?in \\()${name}(?! as )`),
];
/** An assignment of a constant is no comparison. */
const assignment = new RegExp(`^ *(?:export )?(?:const|let) \\w+ = ${name}`);

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(src, file));

const isComparison = (line: string): boolean =>
  comparisons.some((pattern) => pattern.test(line)) && !assignment.test(line);

test('no line compares a check type with the name of one', () => {
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line, index) => ({ line, at: `${relative(src, file)}:${index + 1}` }))
      .filter(({ line }) => isComparison(line) && !allowed.some(({ text }) => line.includes(text)))
      .map(({ line, at }) => `${at} ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test.each([
  `if (job.checkType === 'PLAYWRIGHT') return;`,
  `return 'API' !== type;`,
  `    case 'DNS':`,
  `if (!['API', 'URL', 'group'].includes(type)) return;`,
  `if (types.includes('ICMP')) return;`,
  `const watched = new Set<JobType>(['URL', 'API']);`,
  "`where activated and check_type <> 'AGENTIC'`",
  "`where check_type in ('BROWSER', 'MULTI_STEP')`",
])('a comparison is found: %s', (line) => {
  expect(isComparison(line)).toBe(true);
});

test.each([
  `checkType: 'URL',`,
  `export const executeUrl: Executor<'URL'> = executor;`,
  `const type = 'URL';`,
  `if (name === undefined) return 'BROWSER';`,
])('a name on its own is no comparison: %s', (line) => {
  expect(isComparison(line)).toBe(false);
});

test('each allowed line is still there', () => {
  const all = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  expect(allowed.filter(({ text }) => !all.includes(text))).toEqual([]);
});
