import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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
import { commandNames } from '../src/commands/line/table.ts';
import { variables } from '../src/config/variables.ts';
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

const documented = (heading: string): string[] => {
  const [, part = ''] = read('README.md').split(`### ${heading}\n`);
  const rows =
    part
      .split(/\n#/, 1)[0]
      ?.split('\n')
      .filter((line) => line.startsWith('|')) ?? [];
  return rows.flatMap((row) => row.split('|')[1]?.match(/(?<=`)\w+(?=`)/g) ?? []);
};

test('README documents exactly the variables of the table that the configuration reads', () => {
  const rows = [...documented('Variables of the agent'), ...documented('Variables of the service')];
  const names = rows.filter((name) => !name.endsWith('_FILE'));
  expect(names.toSorted()).toEqual(Object.keys(variables).toSorted());
});

test('README names every command', () => {
  const readme = read('README.md');
  const missing = commandNames.filter((name) => !readme.includes(`location-agent ${name}`));
  expect(missing).toEqual([]);
});
