import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** Every page for users: its links, its anchors and its language. */

const root = resolve(import.meta.dirname, '../..');
type Heading = { level: number; text: string; anchor: string; line: number };
type Link = { address: string; isImage: boolean; line: number };
type Markdown = {
  documentPaths: () => string[];
  readDocument: (path: string) => string;
  parseMarkdown: (text: string) => object[];
  headingsOf: (tokens: object[]) => Heading[];
  linksOf: (tokens: object[]) => Link[];
  localTarget: (page: string, address: string) => { path: string; anchor: string } | null;
};
// Plain JavaScript of ours, which the site is rendered with.
const markdown = (await import(join(root, 'scripts', 'docs', 'markdown.mjs'))) as Markdown;
const { findingsOf } = (await import(join(root, 'scripts', 'plain-english.mjs'))) as {
  findingsOf: (path: string, text: string) => string[];
};
const paths = markdown.documentPaths();
/** Pages for people who change the project, or who install a chart: their links and their language are checked, too. */
const furtherPaths = ['src/README.md', 'charts/agent/README.md', 'charts/service/README.md'];
const anchorsOf = (path: string) =>
  new Set(
    markdown.headingsOf(markdown.parseMarkdown(markdown.readDocument(path))).map(({ anchor }) => anchor),
  );

describe.each([...paths, ...furtherPaths])('%s', (path) => {
  const tokens = markdown.parseMarkdown(markdown.readDocument(path));

  test('begins with its only title', () => {
    const titles = markdown.headingsOf(tokens).filter(({ level }) => level === 1);
    expect(titles).toHaveLength(1);
  });

  test('has no link to a missing file or section', () => {
    const broken = markdown.linksOf(tokens).flatMap(({ address, line }) => {
      const target = markdown.localTarget(path, address);
      if (target === null) return [];
      const isThere = existsSync(join(root, target.path));
      const isAnchored =
        target.anchor === '' ||
        (target.path.endsWith('.md') && isThere && anchorsOf(target.path).has(target.anchor));
      return isThere && isAnchored ? [] : [`${path}:${line}: ${address}`];
    });
    expect(broken).toEqual([]);
  });

  test('is in plain English', () => {
    expect(findingsOf(path, markdown.readDocument(path))).toEqual([]);
  });
});

/** A list of changes has no example. */
test.each(paths.filter((path) => path !== 'CHANGELOG.md'))('%s begins with an example', (path) => {
  const tokens = markdown.parseMarkdown(markdown.readDocument(path)) as {
    type: string;
    map: number[] | null;
  }[]; // of markdown-it
  const [line = Infinity] = tokens.find(({ type }) => type === 'fence')?.map ?? [];
  expect(line + 1).toBeLessThanOrEqual(20);
});

describe('the check of the language', () => {
  const long = `${'word '.repeat(30)}end.`;
  test.each([
    [long, 1],
    [`${'word '.repeat(29)}end.`, 0],
    ['The agent tells it.', 1],
    ['`tells` is code.', 0],
    ['## What remains', 0],
    ['What remains is listed.', 1],
    ['What remains?', 0],
    ['```\nIt tells.\n```', 0],
    ['| a |\n| --- |\n| it begins anew |', 1],
  ])('%j has %i findings', (text, count) => {
    expect(findingsOf('page.md', text)).toHaveLength(count);
  });

  test('two headings of one text have two anchors, as on GitHub', () => {
    const tokens = markdown.parseMarkdown('# A `b`, c\n\n## D\n\n## D\n');
    expect(markdown.headingsOf(tokens).map(({ anchor }) => anchor)).toEqual(['a-b-c', 'd', 'd-1']);
  });
});
