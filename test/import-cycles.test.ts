import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const src = join(import.meta.dirname, '..', 'src');
const importPattern = /(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+\.ts)'/g;

/** The files that each file of src imports, types and late imports too; paths are relative to src. */
function importGraph(): ReadonlyMap<string, readonly string[]> {
  const names = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  return new Map(
    names.map((name) => {
      const file = join(src, name);
      const text = readFileSync(file, 'utf8');
      const imported = [...text.matchAll(importPattern)].map(([, path = '']) =>
        relative(src, resolve(dirname(file), path)),
      );
      return [name, imported];
    }),
  );
}

/** Removes files that import no remaining file, again and again: the rest forms cycles or leads to one. */
function filesInCycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(graph);
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const [name, imported] of left) if (!imported.some((one) => left.has(one))) left.delete(name);
  }
  return [...left.keys()];
}

test('no file imports itself by way of other files', () => {
  expect(filesInCycles(importGraph())).toEqual([]);
});

test('a cycle is found', () => {
  const graph = new Map([
    ['a.ts', ['b.ts']],
    ['b.ts', ['c.ts']],
    ['c.ts', ['b.ts']],
    ['d.ts', []],
  ]);
  expect(filesInCycles(graph)).toEqual(['a.ts', 'b.ts', 'c.ts']);
});
