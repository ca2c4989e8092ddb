import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import {
  attemptTimeoutMs,
  checkTypes,
  jobTypes,
  laneOf,
  probeTypes,
  uptimeTypes,
} from '../src/protocol/check-types.ts';
import { assertionGrammar } from '../src/protocol/assertions.ts';
import { jobSchemas } from '../src/protocol/job.ts';
import { requestSchemas } from '../src/protocol/requests.ts';
import { executors } from '../src/executors/table.ts';
import * as spec from '../src/commands/line/spec.ts';
import { commandLines, commandNames } from '../src/commands/line/table.ts';
import { secretPrefix, secretVariables, variables } from '../src/config/variables.ts';
import { checkPaths } from '../src/service/checks/fields/paths.ts';
import { typesWhere } from '../src/service/checks/types/table.ts';

/**
 * The compiler names each table in which a new check type needs a row. These tests name the files and documents that it
 * needs besides; src/README.md lists all of them in order.
 */

const root = resolve(import.meta.dirname, '..');
const read = (...parts: string[]) => readFileSync(join(root, ...parts), 'utf8');

describe.each(jobTypes)('check type %s', (type) => {
  const fileName = type.toLowerCase().replaceAll('_', '-');

  test('is one of the specification', () => {
    expect(checkTypes).toContain(type);
  });

  test('has its schemas, its lane and its time', () => {
    if (probeTypes.some((probe) => probe === type)) {
      expect(requestSchemas).toHaveProperty(type);
      expect(assertionGrammar).toHaveProperty(type);
    }
    expect(jobSchemas).toHaveProperty(type);
    expect(laneOf[type]).toBeTypeOf('string');
    expect(attemptTimeoutMs[type]).toBeGreaterThan(0);
  });

  test('has an executor that loads', async () => {
    expect(await executors[type]()).toBeTypeOf('function');
    expect(existsSync(join(root, 'src', 'executors', `${fileName}.ts`))).toBe(true);
  });

  test('has tests of its executor', () => {
    const tests = readdirSync(join(root, 'test', 'executors')).filter((name) => name.startsWith(fileName));
    expect(tests.length).toBeGreaterThan(0);
  });

  test('is documented for users', () => {
    expect(read('README.md')).toContain(type);
    expect(read('CHANGELOG.md')).toContain(type);
  });
});

test.each(checkTypes)('checks of type %s can be created and changed through the public API', (type) => {
  const openapi = JSON.parse(read('docs', 'openapi.json')) as { paths: Record<string, object> }; // our own generated file
  expect(Object.keys(openapi.paths[`/v1/checks/${checkPaths[type]}`] ?? {})).toContain('post');
  expect(Object.keys(openapi.paths[`/v1/checks/${checkPaths[type]}/{id}`] ?? {})).toContain('put');
});

test.each(checkTypes)('docs/analytics.md lists the metrics of type %s', (type) => {
  const rows = read('docs', 'analytics.md').match(/^\| [A-Z_]+(?:, [A-Z_]+)* +\|/gm) ?? [];
  expect(rows.filter((row) => row.split(/[|, ]+/).includes(type))).toHaveLength(1);
});

test('docs/docker.md names the types that the uptime image runs', () => {
  expect(read('docs', 'docker.md')).toContain(`| ${uptimeTypes.join(', ')} |`);
});

test('the database knows each type whose checks may have scripts (the column has_scripts)', () => {
  const folder = join('src', 'service', 'db', 'migrations');
  const migrations = readdirSync(join(root, folder)).map((name) => read(folder, name));
  const columns = migrations.filter((text) => text.includes('has_scripts'));
  const missing = typesWhere(({ code }) => code !== 'none').filter(
    (type) => !columns.some((text) => text.includes(`'${type}'`)),
  );
  expect(missing).toEqual([]);
});

/** The cells of all rows of tables in a page, without the rows of dashes. */
const rowsOf = (page: string): string[][] =>
  page
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('| --'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
const codeIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
const titleOf = (name: string): string[] =>
  secretVariables.some((secret) => secret === name) ? [name, `${name}_FILE`] : [name];

describe('README.md', () => {
  const readme = read('README.md');

  test('has at most 120 lines, and begins with the two commands', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(120);
    expect(readme.split('\n').slice(2, 5)).toEqual([
      '```sh',
      expect.stringMatching(/^npm start /),
      expect.stringMatching(/^npm test /),
    ]);
  });

  test('names exactly the variables of the table that the configuration reads, and the files of secrets', () => {
    const [, part = ''] = readme.split('| subject ');
    const cells = rowsOf(part.split('\n\n', 1)[0] ?? '').map(([, names = '']) => names);
    const named = cells.flatMap(codeIn).filter((name) => name !== `${secretPrefix}*`);
    expect(named.toSorted()).toEqual(Object.keys(variables).flatMap(titleOf).toSorted());
  });

  test('names every command', () => {
    expect(commandNames.filter((name) => !readme.includes(`location-agent ${name}`))).toEqual([]);
  });

  test('leads to every page', () => {
    const names = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
    const pages = names.filter((name) => name.endsWith('.md'));
    expect(pages.length).toBeGreaterThan(60);
    // The pages in a folder are parts of one subject; the page of that name leads to each.
    const isMissing = (name: string) => {
      const [folder = '', part] = name.split('/');
      return part === undefined
        ? !readme.includes(`(docs/${name})`)
        : !read('docs', `${folder}.md`).includes(`(${name}`);
    };
    expect(pages.filter(isMissing)).toEqual([]);
  });
});

test('the programs read no variable that the table lacks, except those of the service manager', () => {
  // What runs customer code reads the environment of its child processes.
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/^(script|service\/pages)\//.test(name),
  );
  const names = files.flatMap((name) =>
    [...read('src', name).matchAll(/\benv(?:ironment)?\??\.?\[?['.]([A-Z][A-Z0-9_]+)\b/g)].map(
      ([, variable = '']) => variable,
    ),
  );
  const others = [...new Set(names)].filter((name) => !Object.hasOwn(variables, name)).toSorted();
  // SHOP_URL is in the text of a sample.
  expect(others).toEqual(['NOTIFY_SOCKET', 'SHOP_URL', 'WATCHDOG_PID', 'WATCHDOG_USEC']);
});

test('docs/configuration.md has a row for each variable, with the default of the table', () => {
  const rows = rowsOf(read('docs', 'configuration.md')).filter(([title = '']) => title.startsWith('`'));
  const found = rows.map(([title = '', fallback = '', meaning = '']) => {
    expect(meaning, title).not.toBe('');
    return [codeIn(title), fallback.replaceAll('`', '')];
  });
  const expected = Object.entries(variables).map(([name, [fallback]]) => [titleOf(name), fallback]);
  const sorted = (list: unknown[]) => list.toSorted((a, b) => String(a).localeCompare(String(b)));
  expect(sorted(found)).toEqual(sorted([...expected, [[`${secretPrefix}*`], '']]));
});

test('the pages of commands are up to date with the table of commands (npm run man)', async () => {
  const { commandPages } = (await import(join(root, 'scripts', 'docs', 'commands-page.mjs'))) as {
    commandPages: (parts: object) => { [path: string]: string };
  };
  const pages = commandPages({ commandLines, ...spec });
  expect(Object.keys(pages)).toEqual(['docs/commands.md', 'docs/commands/checks-as-code.md']);
  for (const [path, made] of Object.entries(pages)) {
    const file = join(root, path);
    expect(await format(made, { ...(await resolveConfig(file)), parser: 'markdown' })).toBe(
      readFileSync(file, 'utf8'),
    );
  }
});
