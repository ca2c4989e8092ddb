import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** Statements that several pages make: they agree with each other, or with the code. */

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const below = (folder: string, ending: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name));

test('the memory of an idle agent is one figure in all pages', () => {
  const pages = [
    'README.md',
    'SECURITY.md',
    ...below('docs', /\.md$/),
    ...below('charts', /\.(?:md|yaml|txt)$/i),
  ];
  const quoted = pages.flatMap((path) =>
    read(path)
      .split('\n')
      // Rows with several figures compare variants (docs/dependencies.md).
      .filter((line) => /\bidle agent\b/i.test(line) && line.match(/\d+(?:\.\d+)? (?:MiB|MB)/g)?.length === 1)
      .filter((line) => !/with the library|With undici|stays below/.test(line))
      .map((line) => ({ path, figure: /\d+(?:\.\d+)? (?:MiB|MB)/.exec(line)?.[0] })),
  );
  expect(new Set(quoted.map(({ path }) => path))).toEqual(
    new Set([
      'docs/dependencies.md',
      'docs/figures.md',
      'docs/kubernetes/scaling.md',
      'docs/operations.md',
      'charts/agent/README.md',
    ]),
  );
  expect(quoted.filter(({ figure }) => figure !== '85 MiB')).toEqual([]);
});

test('the programs contain no address of a host that nobody configured (docs/faq.md: no usage data)', () => {
  /** Examples, this machine, names of XML and JSON Schema, and links that people click. */
  const known =
    /(?:^|\.)example(?:\.com)?$|^(?:127\.0\.0\.1|localhost|host|target|user|intranet|www\.w3\.org|json-schema\.org|www\.rfc-editor\.org|playwright\.dev)$/;
  const found = below('src', /\.(?:ts|tsx|mjs)$/).flatMap((path) =>
    [...read(path).matchAll(/(?:https?|wss?):\/\/([a-z0-9][a-z0-9.-]*)/gi)]
      .map(([, host = '']) => host.toLowerCase().replace(/\.$/, ''))
      .filter((host) => !known.test(host))
      .map((host) => `${path}: ${host}`),
  );
  expect(found).toEqual([]);
  expect(known.test('telemetry.vendor.com')).toBe(false);
});
