import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** Rules of the house that a machine can check: who may import whom, and where time, chance and environment come from. */

const root = resolve(import.meta.dirname, '..');
const src = join(root, 'src');

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(full);
    return entry.name.endsWith('.ts') ? [full] : [];
  });
}

const files = filesBelow(src).map((file) => ({
  file,
  name: relative(src, file),
  text: readFileSync(file, 'utf8'),
}));

/** The part of the program that a file belongs to: its folder below src, or its own name at the top. */
const partOf = (name: string): string =>
  name.includes('/') ? name.slice(0, name.indexOf('/')) : name.replace(/\.ts$/, '');

// Leaves that everyone may import: each is one small subject and imports nothing.
const common = ['errors', 'time-limit', 'version', 'durations', 'rounding', 'json-values', 'system-errors'];
const mayImport: Record<string, readonly string[]> = {
  errors: [],
  'time-limit': [],
  version: [],
  durations: [],
  rounding: [],
  'json-values': [],
  'system-errors': [],
  protocol: [],
  secrets: [],
  native: [],
  // The one interpreter of templates: of requests (executors) and of alerts (service), which may not import each other.
  templates: ['protocol'],
  targets: [],
  config: ['secrets'],
  log: ['secrets'],
  script: ['protocol', 'log', 'native'],
  executors: ['protocol', 'log', 'native', 'script', 'templates'],
  agent: ['protocol', 'log', 'config', 'secrets', 'native', 'executors', 'script'],
  // The processes of its browsers are confined as those of scripts are; see below.
  service: ['protocol', 'log', 'config', 'secrets', 'script', 'templates'],
  commands: [
    'protocol',
    'log',
    'config',
    'secrets',
    'native',
    'executors',
    'script',
    'agent',
    'service',
    'targets',
  ],
  main: ['commands', 'config', 'log', 'secrets'],
};

const importPattern = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(importPattern)].map((match) =>
    relative(src, resolve(dirname(file), match[1] ?? '')),
  );
}

test('every part imports only the parts that it may', () => {
  const violations = files.flatMap(({ file, name, text }) => {
    const part = partOf(name);
    const allowed = mayImport[part];
    if (allowed === undefined) return [`${name}: its folder is not in the table of this test`];
    return importsOf(file, text)
      .filter((imported) => !imported.startsWith('..'))
      .map((imported) => ({ imported, target: partOf(imported) }))
      .filter(({ target }) => target !== part && !common.includes(target) && !allowed.includes(target))
      .map(({ imported }) => `${name} imports ${imported}`);
  });
  expect(violations).toEqual([]);
});

test('relative imports name their file with .ts', () => {
  const violations = files.flatMap(({ name, text }) =>
    [...text.matchAll(importPattern)]
      .map((match) => match[1] ?? '')
      .filter((path) => !/\.(ts|json)$/.test(path))
      .map((path) => `${name} imports ${path}`),
  );
  expect(violations).toEqual([]);
});

test('the environment is read in config.ts alone, the console and the exit belong to mains', () => {
  const violations = files
    // A file of src/script/child is the main of a process of its own, whose environment is the script's.
    .filter(
      ({ name, text }) =>
        name !== 'config.ts' && !name.startsWith('script/child/') && /\bprocess\.env\b/.test(text),
    )
    .map(({ name }) => name);
  expect(violations).toEqual([]);
});

test('the uptime executors reach no customer code', () => {
  const mayRunScripts = ['api.ts', 'api-scripts.ts', 'check-script.ts', 'playwright.ts'].map(
    (name) => `executors/${name}`,
  );
  const violations = files
    .filter(({ name }) => name.startsWith('executors/') && !mayRunScripts.includes(name))
    .flatMap(({ file, name, text }) =>
      // Types are gone when the program runs.
      importsOf(file, text.replaceAll(/^import type [^;]*;/gm, ''))
        .filter((imported) => partOf(imported) === 'script')
        .map((imported) => `${name} imports ${imported}`),
    );
  expect(violations).toEqual([]);
});

test('of the service, only the browser of agentic checks starts processes as scripts have them', () => {
  const violations = files
    .filter(({ name }) => name.startsWith('service/') && name !== 'service/agentic/browser.ts')
    .flatMap(({ file, name, text }) =>
      importsOf(file, text)
        .filter((imported) => partOf(imported) === 'script')
        .map((imported) => `${name} imports ${imported}`),
    );
  expect(violations).toEqual([]);
});

test('no file grows beyond what one subject needs', () => {
  const long = files
    .map(({ name, text }) => ({ name, lines: text.split('\n').length }))
    .filter(({ lines }) => lines > 450)
    .map(({ name, lines }) => `${name}: ${lines} lines`);
  expect(long).toEqual([]);
});

test('no barrels', () => {
  expect(files.filter(({ name }) => /(^|\/)index\.ts$/.test(name)).map(({ name }) => name)).toEqual([]);
});
