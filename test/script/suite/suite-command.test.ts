import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { tagPattern, testCommandOf } from '../../../src/script/suite/command.ts';

const plain = { testCommand: null, configPath: null, projects: [], tags: [] };
const npm = { exec: 'npx' };

test('no test command: Playwright by the package manager, with config, projects and tags', () => {
  expect(testCommandOf({ suite: plain, manager: { exec: 'pnpm exec' } })).toEqual({
    command: 'pnpm exec playwright test',
    warnings: [],
  });
  const suite = { ...plain, configPath: 'e2e/pw.ts', projects: ['a b', 'c'], tags: ['@x', 'y'] };
  expect(testCommandOf({ suite, manager: npm }).command).toBe(
    "npx playwright test --config 'e2e/pw.ts' --project='a b' --project='c' --grep '@x(?![\\w-])|@y(?![\\w-])'",
  );
});

test.each([
  ['npm run e2e', "npm run e2e -- --project='p'"],
  ['npm test', "npm test -- --project='p'"],
  ['npm run e2e -- --retries 1', "npm run e2e -- --retries 1 --project='p'"],
  ['X=1 npm t', "X=1 npm t -- --project='p'"],
  ['pnpm e2e', "pnpm e2e --project='p'"],
  ['npm run build && npm run e2e', "npm run build && npm run e2e -- --project='p'"],
  [
    'npx playwright test --shard=1/2 && npx playwright test --shard=2/2 && npx playwright merge-reports ./blob',
    "npx playwright test --shard=1/2 --project='p' && npx playwright test --shard=2/2 --project='p' && npx playwright merge-reports ./blob",
  ],
  ['(cd e2e; yarn playwright test) 2>&1 | cat', "(cd e2e; yarn playwright test --project='p') 2>&1 | cat"],
  ['playwright test "a && b" # all of it', `playwright test "a && b" --project='p' # all of it`],
  ['npx playwright@1.58.2 test 2>&1', "npx playwright@1.58.2 test 2>&1 --project='p'"],
])('arguments added to %s', (testCommand, expected) => {
  const suite = { ...plain, testCommand, projects: ['p'] };
  expect(testCommandOf({ suite, manager: npm }).command).toBe(expected);
});

test('no name leaves its quotes', () => {
  const name = `a'; touch /tmp/x; "$HOME" \`id\`\n$(id) \\ '`;
  const suite = { ...plain, testCommand: 'printf "%s|"', configPath: name, projects: [name] };
  const { command } = testCommandOf({ suite, manager: npm });
  const printed = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
  expect(printed.stdout).toBe(`--config|${name}|--project=${name}|`);
});

test('tags: any entry, all tags of an entry, exclusion with an exclamation mark; whole words', () => {
  const matching = (tags: string[]) =>
    ['one @smoke', 'two @smoke2', 'three @smoke @checkout', 'four @checkout', 'five @a.b'].filter((title) =>
      new RegExp(tagPattern(tags), 'gi').test(title),
    );
  expect(matching(['@smoke'])).toEqual(['one @smoke', 'three @smoke @checkout']);
  expect(matching(['smoke'])).toEqual(matching(['@smoke']));
  expect(matching(['@smoke @checkout'])).toEqual(['three @smoke @checkout']);
  expect(matching(['@smoke !checkout'])).toEqual(['one @smoke']);
  expect(matching(['!@checkout'])).toEqual(['one @smoke', 'two @smoke2', 'five @a.b']);
  expect(matching(['@smoke2', '@checkout !@smoke'])).toEqual(['two @smoke2', 'four @checkout']);
  expect(matching(['@a.b'])).toEqual(['five @a.b']);
  expect(matching(['@axb'])).toEqual([]);
});

test('unsupported and redundant options of a test command are reported', () => {
  const suite = { ...plain, testCommand: 'npx playwright install chromium && npx playwright test --headed' };
  const { warnings } = testCommandOf({ suite, manager: npm });
  expect(warnings).toEqual([
    expect.stringContaining('"playwright install" in the test command is not needed'),
    expect.stringContaining('--headed in the test command does not work here'),
  ]);
});
