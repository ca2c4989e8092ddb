import { expect, test } from 'vitest';
import { includes } from '../../../../src/script/suite/bundle/ignore-rules.ts';

/** Globs of `--include`: which files they name, and which folders have to be looked into for them. */

test.each([
  ['a/*.json', ['a/x.json', 'a/.x.json'], ['a/b/x.json', 'x.json', 'a/x.jsonc']],
  ['a/**/*.json', ['a/x.json', 'a/b/c/x.json', 'a/.b/x.json'], ['x.json', 'b/x.json']],
  ['**/x', ['x', 'a/b/x'], ['xy']],
  ['a?c', ['abc', 'a.c'], ['ac', 'a/c']],
  ['[a-c]x', ['ax', 'cx'], ['dx']],
  ['[!a]x', ['bx'], ['ax']],
  ['.env.{test,prod}', ['.env.test', '.env.prod'], ['.env', '.env.dev']],
  ['{a/b,c}/{x,y}', ['a/b/x', 'c/y'], ['a/x', 'b/y']],
  ['{x,{y,z}}', ['x', 'y', 'z'], ['{y,z}']],
  ['data', ['data', 'data/a', 'data/.a/b'], ['data2', 'a/data']],
  ['data/', ['data/a'], ['data2']],
  ['./data/*', ['data/a'], ['a/data/b']],
  ['/data/*', ['data/a'], ['a/data/b']],
  ['!a', ['!a'], ['a', 'b']],
  ['#a', ['#a'], ['a']],
  ['a\\*b', ['a*b'], ['axb']],
  ['app/(shop)/*.ts', ['app/(shop)/page.ts'], ['app/shop/page.ts']],
  ['app/[[]id]/x', ['app/[id]/x'], ['app/i/x']],
  ['@(a|b)', ['@(a|b)'], ['a', '@a']],
  ['', [], ['a', '.env']],
  ['.', [], ['a', '.env']],
])('the glob %s', (glob, named, others) => {
  const { names, mayLeadInto } = includes([glob], '');
  expect([...named, ...others].filter((path) => names(path))).toEqual(named);
  const folders = named.flatMap((path) =>
    path.split('/').flatMap((_, index, parts) => (index === 0 ? [] : [parts.slice(0, index).join('/')])),
  );
  expect(folders.filter((folder) => !mayLeadInto(folder))).toEqual([]);
});

test('globs are relative to the working folder, whose own name is no glob', () => {
  const { names } = includes(['*.tmp', '../shared/*.tmp'], 'packages/[e2e]');
  const paths = ['packages/[e2e]/a.tmp', 'packages/shared/a.tmp', 'packages/e/a.tmp', 'a.tmp'];
  expect(paths.filter((path) => names(path))).toEqual(paths.slice(0, 2));
});

test('folders that no glob matches are not read', () => {
  const { mayLeadInto } = includes(['a/*/data/**', 'b/x.json'], '');
  const folders = ['a', 'a/1', 'a/1/data', 'a/1/data/deep', 'b', 'c', 'a/1/other', 'b/deep'];
  expect(folders.filter((folder) => mayLeadInto(folder))).toEqual(folders.slice(0, 5));
});

test('without globs, nothing is matched', () => {
  const { names, mayLeadInto } = includes([], '');
  expect([names('a'), mayLeadInto('a')]).toEqual([false, false]);
});
