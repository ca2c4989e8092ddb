import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** Libraries that cost memory are loaded only where they are used. docs/dependencies.md has the figures. */

const src = resolve(import.meta.dirname, '..', 'src');
const textOf = (file: string) => readFileSync(join(src, file), 'utf8');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

/** Types are gone when the program runs. */
const withoutTypes = (text: string) => text.replaceAll(/^import type [^;]*;/gm, '');
const imported = (text: string, form: RegExp) => [...text.matchAll(form)].map((match) => match[1] ?? '');
const atStart = /^(?:import|export)\s(?:[^;'"]*\sfrom\s)?'([^']+)'/gm;
const later = /\bimport\(\s*'([^']+)'\s*\)/g;

/** Files that import `wanted`, a package or a file, when they are loaded themselves. */
const importersOf = (wanted: string, form: RegExp) =>
  files.filter((file) =>
    imported(withoutTypes(textOf(file)), form).some(
      (name) => name === wanted || relative(src, resolve(src, dirname(file), name)) === wanted,
    ),
  );

/** All files that a program which starts with `first` can ever load. */
function reachableFrom(first: string): Set<string> {
  const found = new Set<string>();
  const take = (file: string) => {
    if (found.has(file) || !existsSync(join(src, file))) return;
    found.add(file);
    const text = withoutTypes(textOf(file));
    for (const name of [...imported(text, atStart), ...imported(text, later)])
      if (name.startsWith('.')) take(relative(src, resolve(src, dirname(file), name)));
  };
  take(first);
  return found;
}

test.each([
  ['tough-cookie', 'executors/http/cookies.ts'],
  ['@peculiar/x509', 'targets/certificates.ts'],
  ['reflect-metadata', 'targets/certificates.ts'],
  ['picomatch', 'script/suite/bundle/ignore-rules.ts'],
])('%s is imported only by %s', (library, file) => {
  expect(importersOf(library, atStart)).toEqual([file]);
  expect(importersOf(library, later)).toEqual([]);
});

test('the cookie jar is loaded by the first request that may need it', () => {
  expect(importersOf('executors/http/cookies.ts', atStart)).toEqual([]);
  expect(importersOf('executors/http/cookies.ts', later)).toEqual(['executors/http/request.ts']);
});

test.each(['start', 'service'])('%s can not reach the sample targets', (command) => {
  const reachable = reachableFrom(`commands/${command}.ts`);
  expect(reachable.size).toBeGreaterThan(50);
  expect([...reachable].filter((file) => file.startsWith('targets/'))).toEqual([]);
});
