import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { scenarios } from './scenarios/table.ts';

/** scripts/chaos-table.mjs: from the lines of `npm run chaos -- --out FILE` to the table in docs/reliability.md. */

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'chaos-table-'));
const page = join(folder, 'page.md');
const file = join(folder, 'figures.jsonl');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const empty = '# Page\n\nBefore.\n\n<!-- chaos-table -->\n\n<!-- /chaos-table -->\n\nAfter.\n';
beforeEach(() => writeFileSync(page, empty));

const line = (name: string, more: object = {}) =>
  JSON.stringify({
    name,
    seed: 1,
    seconds: 90,
    commit: 'abc1234',
    due: 100,
    probes: 104,
    lost: 0,
    doubled: 0,
    missed: 3,
    errored: 2,
    falseAlerts: 0,
    alerts: 8,
    violations: [],
    ...more,
  });

function writeTable(...lines: string[]) {
  writeFileSync(file, `${lines.join('\n')}\n`);
  return run(file);
}
const run = (...args: string[]) =>
  spawnSync(process.execPath, [join(root, 'scripts', 'chaos-table.mjs'), ...args, '--page', page], {
    encoding: 'utf8',
  });

const cellsOf = (text: string, name: string): string[] =>
  text
    .split('\n')
    .filter((row) => new RegExp(`npm run chaos -- ${name}[ \`]`).test(row))
    .flatMap((row) => row.split('|').slice(1, -1))
    .map((cell) => cell.trim());

test('the last line of a scenario counts, the others keep their figures, and the rest of the page stays', () => {
  const lost = { lost: 2, doubled: 1, falseAlerts: 4, violations: ['a', 'b'] };
  expect(
    writeTable(
      line('calm'),
      line('agent-kills', lost),
      line('calm', { due: 50, seed: 7, measured: 'killed at 57 of 60 steps' }),
    ).status,
  ).toBe(0);
  const first = readFileSync(page, 'utf8');
  const [calm, kills] = ['calm', 'agent-kills'].map((name) => scenarios.find((found) => found.name === name));
  expect(cellsOf(first, 'calm')).toEqual([
    '`npm run chaos -- calm --seed 7`',
    calm?.about,
    'abc1234',
    '50',
    '50',
    '0',
    '0',
    '3',
    '2',
    '8',
    '0',
    '0',
    'killed at 57 of 60 steps',
  ]);
  expect(cellsOf(first, 'agent-kills')).toEqual([
    '`npm run chaos -- agent-kills --seed 1`',
    kills?.about,
    'abc1234',
    '100',
    '97',
    '2',
    '1',
    '3',
    '2',
    '8',
    '4',
    '2',
    '',
  ]);
  expect(cellsOf(first, 'starved').slice(2).join('')).toBe('');
  expect(first.startsWith('# Page\n\nBefore.\n\n<!-- chaos-table -->\n')).toBe(true);
  expect(first.endsWith('\n<!-- /chaos-table -->\n\nAfter.\n')).toBe(true);

  expect(writeTable(line('starved')).status).toBe(0);
  const second = readFileSync(page, 'utf8');
  expect(cellsOf(second, 'calm')).toEqual(cellsOf(first, 'calm'));
  expect(cellsOf(second, 'starved').slice(2, 5)).toEqual(['abc1234', '100', '100']);
  expect(run().status).toBe(0);
  expect(readFileSync(page, 'utf8')).toBe(second);
});

test('the variables that made the figures are part of the command', () => {
  writeTable(line('soak', { variables: { CHAOS_MINUTES: '60', CHAOS_RUNS: '100' } }));
  const command = '`CHAOS_MINUTES=60 CHAOS_RUNS=100 npm run chaos -- soak --seed 1`';
  expect(cellsOf(readFileSync(page, 'utf8'), 'soak')[0]).toBe(command);
  // It stays when other figures are written.
  writeTable(line('calm'));
  expect(cellsOf(readFileSync(page, 'utf8'), 'soak')[0]).toBe(command);
});

test('a scenario has a row for each mode in which it was tried', () => {
  const held = { variables: { CHAOS_MODE: 'assignments' } };
  const commands = () =>
    cellsOf(readFileSync(page, 'utf8'), 'calm').filter((cell) => cell.includes('chaos --'));
  writeTable(line('calm'));
  expect(commands()).toHaveLength(1);
  writeTable(line('calm', { seed: 2, ...held }));
  const both = [
    '`npm run chaos -- calm --seed 1`',
    '`CHAOS_MODE=assignments npm run chaos -- calm --seed 2`',
  ];
  expect(commands()).toEqual(both);
  writeTable(
    line('calm', { seed: 3, variables: { CHAOS_MODE: 'queue' } }),
    line('calm', { seed: 4, ...held }),
  );
  expect(commands()).toEqual([
    '`CHAOS_MODE=queue npm run chaos -- calm --seed 3`',
    '`CHAOS_MODE=assignments npm run chaos -- calm --seed 4`',
  ]);
  expect(run().status).toBe(0);
  expect(commands()).toHaveLength(2);
});

test('a scenario without figures has an empty row until it has some in any mode', () => {
  expect(run().status).toBe(0);
  expect(cellsOf(readFileSync(page, 'utf8'), 'calm')[0]).toBe('`npm run chaos -- calm`');
  writeTable(line('calm', { variables: { CHAOS_MODE: 'assignments' } }));
  expect(cellsOf(readFileSync(page, 'utf8'), 'calm')[0]).toContain('CHAOS_MODE=assignments');
  expect(readFileSync(page, 'utf8')).not.toContain('`npm run chaos -- calm`');
});

test('a wrong file changes nothing and is named', () => {
  for (const [text, mistake] of [
    ['{', 'line 2: not JSON'],
    [line('calm', { due: -1 }), 'line 2: due must be a whole number'],
    [line('calm', { violations: 3 }), 'line 2: name must be a text and violations a list'],
    [line('calm', { commit: '| x' }), 'line 2: commit must be the short name of a commit'],
    [
      line('calm', { variables: { CHAOS_RUNS: '`' } }),
      'line 2: variables must be numbers or small letters of CHAOS_…',
    ],
  ]) {
    const done = writeTable(line('calm'), text ?? '');
    expect([done.status, done.stderr]).toEqual([2, expect.stringContaining(mistake ?? '')]);
    expect(readFileSync(page, 'utf8')).toBe(empty);
  }
  expect(writeTable(line('no-such')).stderr).toContain('there is no scenario no-such');
});

test('docs/reliability.md has the row of every scenario (node scripts/chaos-table.mjs writes them)', () => {
  const text = readFileSync(join(root, 'docs', 'reliability.md'), 'utf8');
  const named = [...text.matchAll(/^\| `(?:CHAOS_[A-Z]+=[\da-z.]+ )*npm run chaos -- ([\w-]+)/gm)].map(
    ([, name]) => name,
  );
  // One that was tried in both modes has two rows.
  const once = named.filter((name, index) => name !== named[index - 1]);
  expect(once).toEqual(scenarios.map(({ name }) => name));
});
