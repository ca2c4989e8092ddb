import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

/**
 * The form of every code block of the pages: shell that parses, JSON, YAML, and calls of routes that exist, with bodies that are
 * JSON. test/docs/tutorial.test.ts and check-reference.test.ts run the blocks of their pages.
 */

const root = resolve(import.meta.dirname, '../..');
type Block = { language: string; marks: string[]; content: string; line: number };
const { documentPaths } = (await import(join(root, 'scripts/docs/markdown.mjs'))) as {
  documentPaths: () => string[];
};
const { documentOf } = (await import(join(root, 'scripts/docs/blocks.mjs'))) as {
  documentOf: (path: string) => Block[];
};
const openapi = JSON.parse(readFileSync(join(root, 'docs', 'openapi.json'), 'utf8')) as {
  paths: Record<string, object>;
}; // our own generated file
const routes = Object.entries(openapi.paths).flatMap(([path, operations]) =>
  Object.keys(operations).map((method) => ({
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
  })),
);

/** The calls of the public API in a block of shell: method, path and body. */
function callsIn(shell: string): { method: string; path: string; body: string | null }[] {
  const commands = shell.replace(/\\\n/g, ' ').split(/\n(?=\S)|\|\s/);
  return commands.flatMap((command) => {
    // A part between double quotes is a variable of the shell in a text in single quotes.
    const plain = command.replace(/'"(\$\{?\w+\}?)"'/g, 'VARIABLE');
    const [, path] =
      /(?:\$SERVICE(?:_URL)?|https?:\/\/[\w.:-]+|\$\{SERVICE\})["']?(\/v[12]\/[^\s"'?]*)/.exec(plain) ?? [];
    if (path === undefined || !/\bcurl\b/.test(plain)) return [];
    const body = /(?:-d|--data|--json) '([^']*)'/.exec(plain)?.[1] ?? null;
    const method =
      /(?:-X|--request) ?(\w+)/.exec(plain)?.[1] ??
      (/ (?:-d|--data\S*|--json) /.test(plain) ? 'POST' : 'GET');
    return [{ method, path: path.replace(/\/$/, ''), body }];
  });
}

describe.each(documentPaths())('%s', (path) => {
  const blocks = documentOf(path);

  test('its JSON and YAML can be parsed', () => {
    const mistakes = blocks.flatMap(({ language, content, line, marks }) => {
      if (marks.includes('abridged')) return [];
      try {
        if (language === 'json') JSON.parse(content);
        if (language === 'yaml')
          for (const document of parseAllDocuments(content)) if (document.errors[0]) throw document.errors[0];
        return [];
      } catch (error: unknown) {
        return [`${path}:${line}: ${String(error)}`];
      }
    });
    expect(mistakes).toEqual([]);
  });

  test('its shell is valid', () => {
    const mistakes = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ content, line }) => {
        const { status, stderr } = spawnSync('bash', ['-n'], { input: content, encoding: 'utf8' });
        return status === 0 ? [] : [`${path}:${line}: ${stderr}`];
      });
    expect(mistakes).toEqual([]);
  });

  test('its calls name routes of the API, with bodies of JSON', () => {
    const mistakes = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ content, line }) =>
        callsIn(content).flatMap((call) => {
          const where = `${path}:${line}: ${call.method} ${call.path}`;
          const isKnown = routes.some(
            ({ method, pattern }) => method === call.method && pattern.test(call.path),
          );
          if (!isKnown) return [`${where}: no such route`];
          if (call.body === null) return [];
          try {
            JSON.parse(call.body);
            return [];
          } catch (error: unknown) {
            return [`${where}: ${String(error)}`];
          }
        }),
      );
    expect(mistakes).toEqual([]);
  });
});

test('calls are found with their methods and bodies', () => {
  const shell = `curl -X PUT "$SERVICE/v1/checks/url/$ID?a=b" \\\n  -d '{"a": "'"$X"'"}'\ncurl $SERVICE/v1/checks\n`;
  expect(callsIn(shell)).toEqual([
    { method: 'PUT', path: '/v1/checks/url/$ID', body: '{"a": "VARIABLE"}' },
    { method: 'GET', path: '/v1/checks', body: null },
  ]);
});
