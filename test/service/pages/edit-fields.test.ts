import { describe, expect, it } from 'vitest';
import { checkTypes } from '../../../src/protocol/check-types.ts';
import { checkSchemas } from '../../../src/service/checks/fields/schema.ts';
import type { Column, Row } from '../../../src/service/pages/browser/edit/fields/row.ts';
import {
  checkForms,
  formOf,
  rowsOf,
  type CheckForm,
} from '../../../src/service/pages/browser/edit/fields/types.ts';
import { checkPaths } from '../../../src/service/checks/fields/paths.ts';

/** The forms of checks describe every field of the API, with its default, its choices and its limits. */

type Schema = {
  type?: string | string[];
  const?: unknown;
  properties?: { [name: string]: Schema };
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
};

/** Fields that the API has and forms lack, by type, with the reason. */
const noPhases = ['setupSnippetId', 'tearDownSnippetId', 'localSetupScript', 'localTearDownScript'];
const leftOut: { readonly [type: string]: readonly string[] } = {
  // Other names of hostname and data.
  TCP: ['request.url', 'request.body'],
  // They have no effect.
  DNS: ['heartbeat', 'script'],
  // The service refuses everything but their defaults.
  PLAYWRIGHT: [...noPhases, 'doubleCheck', 'retryStrategy', 'shouldFail', 'runtimeId'],
  AGENTIC: [
    ...noPhases,
    'doubleCheck',
    'retryStrategy',
    'shouldFail',
    'runtimeId',
    'runParallel',
    'scriptPath',
    'privateLocations',
    'triggerIncident',
  ],
  HEARTBEAT: [
    ...noPhases,
    'doubleCheck',
    'retryStrategy',
    'shouldFail',
    'runtimeId',
    'runParallel',
    'scriptPath',
    'privateLocations',
    'locations',
    // They have no effect, or the service sets them.
    'frequency',
    'frequencyOffset',
    'heartbeat.pingToken',
    'heartbeat.pingUrl',
  ],
};

/** The schema without the alternative null. */
function plain(schema: Schema): Schema {
  const [only, ...others] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return only !== undefined && others.length === 0 ? { ...plain(only), ...schema } : schema;
}

/** What the API says of each field that has no fields of its own. */
function leavesOf(schema: Schema, path: string, isWhole: (path: string) => boolean): [string, Schema][] {
  const own = plain(schema);
  if (path !== '' && (own.properties === undefined || isWhole(path))) return [[path, own]];
  return Object.entries(own.properties ?? {}).flatMap(([name, inner]) =>
    leavesOf(inner, path === '' ? name : `${path}.${name}`, isWhole),
  );
}

const values = (schema: Schema): unknown[] =>
  (
    schema.enum ?? (schema.anyOf ?? []).flatMap((one) => ('const' in one ? [one.const] : (one.enum ?? [])))
  ).filter((value) => value !== null);

const schemaOf = (type: string) =>
  JSON.parse(JSON.stringify(checkSchemas[type as keyof typeof checkSchemas].create)) as Schema; // plain JSON

function differences(form: CheckForm): string[] {
  const rows = new Map(rowsOf(form).map((row) => [row.path, row]));
  const isJson = (path: string) => rows.get(path)?.kind === 'json';
  const left = leftOut[form.type] ?? [];
  const isLeft = (path: string) => left.some((one) => path === one || path.startsWith(`${one}.`));
  const leaves = leavesOf(schemaOf(form.type), '', isJson);
  // The route of a form has these. They are for bodies of all types and for files.
  const isOfFile = (path: string) => ['checkType', 'kind', 'logicalId'].includes(path);
  const missing = leaves
    .filter(([path]) => !isLeft(path) && !isOfFile(path) && !rows.has(path))
    .map(([path]) => `${path}: no field`);
  const known = new Set(leaves.map(([path]) => path));
  const invented = [...rows.values()]
    .filter((row) => row.kind !== 'object' && !known.has(row.path))
    .map(({ path }) => `${path}: not in the API`);
  return [
    ...missing,
    ...invented,
    ...leaves.flatMap(([path, schema]) => {
      const row = rows.get(path);
      return row === undefined ? [] : rowDifferences(row, schema);
    }),
  ];
}

function rowDifferences(row: Row, schema: Schema): string[] {
  const found: string[] = [];
  const compare = (what: string, ours: unknown, theirs: unknown) => {
    if (JSON.stringify(ours) !== JSON.stringify(theirs))
      found.push(`${row.path}: ${what} is ${JSON.stringify(ours)}, in the API ${JSON.stringify(theirs)}`);
  };
  compare('default', row.default, schema.default);
  const sorted = (list: readonly unknown[]) => list.map(String).toSorted();
  if (row.kind === 'choice')
    compare(
      'choices',
      sorted(row.choices.map(({ value }) => value).filter((value) => value !== null)),
      sorted(values(schema)),
    );
  if (row.kind === 'several')
    compare('choices', sorted(row.choices.map(({ value }) => value)), sorted(values(schema.items ?? {})));
  if (row.kind === 'number' && row.path !== 'groupOrder') {
    compare('min', row.min, schema.minimum);
    compare('max', row.max, schema.maximum);
  }
  if (row.kind === 'text' || row.kind === 'area') compare('max', row.max, schema.maxLength);
  if (row.kind === 'words') compare('max', row.max, schema.maxItems);
  if (row.kind === 'list') {
    compare('max', row.max, schema.maxItems);
    found.push(...columnDifferences(row.path, row.columns, schema.items ?? {}));
  }
  return found;
}

function columnDifferences(path: string, columns: readonly Column[], schema: Schema): string[] {
  const theirs = plain(schema).properties ?? {};
  const names = columns.map(({ key }) => key).toSorted();
  if (names.join() !== Object.keys(theirs).toSorted().join())
    return [`${path}: has ${names.join()}, the API ${Object.keys(theirs).join()}`];
  return columns.flatMap(({ key, choices, max, ...column }) => {
    const own = plain(theirs[key] ?? {});
    const isSame =
      (choices === undefined || choices.join() === values(own).join()) &&
      (own.default === undefined || own.default === column.default) &&
      (max === undefined || max === own.maxLength);
    return isSame ? [] : [`${path}.${key}: other choices, default or limit: ${JSON.stringify(own)}`];
  });
}

describe('the forms of checks', () => {
  it('has one for each type, with its route', () => {
    expect(checkForms.map(({ type }) => type).toSorted()).toEqual([...checkTypes].toSorted());
    for (const { type, path } of checkForms) expect(path).toBe(checkPaths[type as keyof typeof checkPaths]);
  });

  it.each(checkTypes)('%s: every field of the API, with its default, choices and limits', (type) => {
    const form = formOf(type);
    expect(form && differences(form)).toEqual([]);
  });

  it.each(checkTypes)('%s: names and labels are there once', (type) => {
    const form = formOf(type);
    const rows = form === undefined ? [] : rowsOf(form);
    expect(new Set(rows.map(({ path }) => path)).size).toBe(rows.length);
    expect(new Set(rows.map(({ label }) => label)).size).toBe(rows.length);
  });
});
