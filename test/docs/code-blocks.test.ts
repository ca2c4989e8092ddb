import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Compile } from 'typebox/schema';
import { parseAllDocuments } from 'yaml';

/**
 * The form of every code block of the pages: shell that parses, JSON, YAML, and calls of routes that exist, with bodies that the
 * API accepts. run-blocks.test.ts and check-reference.test.ts run them.
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
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: object };
}; // our own generated file
type Operation = { requestBody?: { content: { [type: string]: { schema: object } | undefined } } };
const routes = Object.entries(openapi.paths)
  .flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { requestBody }]) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
      hasParameters: path.includes('{'),
      schema: requestBody?.content['application/json']?.schema,
    })),
  )
  // A path without parameters wins, as in the service.
  .toSorted((a, b) => Number(a.hasParameters) - Number(b.hasParameters));

/** What may take the place of a variable of the shell. */
const substitutes = ['berlin', '0197d0a3-5f5c-7c3e-9d2e-0e6f2f1c9a10'];

/** What the schema of a body refuses, whatever its variables are; null = nothing. Throws for text that is not JSON. */
function refusalOf(body: string, schema: object): string | null {
  const check = Compile({ ...schema, components: openapi.components });
  const refusals = substitutes.map((value): string => {
    const parsed: unknown = JSON.parse(body.replaceAll('VARIABLE', value));
    const [isValid, errors] = check.Errors(parsed);
    return isValid ? '' : JSON.stringify(errors);
  });
  return refusals.includes('') ? null : (refusals[0] ?? '');
}

/** The calls of the public API in a block of shell: method, path and body. */
function callsIn(shell: string): { method: string; path: string; body: string | null }[] {
  const commands = shell.replace(/\\\n/g, ' ').split(/\n(?=\S)|\|\s/);
  return commands.flatMap((command) => {
    // A part between double quotes is a variable of the shell in a text in single quotes.
    const plain = command.replace(/'"(\$\{?\w+\}?)"'/g, 'VARIABLE');
    const [, path] =
      /(?:\$SERVICE_URL|https?:\/\/[\w.:-]+|\$\{SERVICE_URL\})["']?(\/v[12]\/[^\s"'?]*)/.exec(plain) ?? [];
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

  test('its calls name routes of the API, with bodies that their schemas accept', () => {
    const mistakes = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ content, line }) =>
        callsIn(content).flatMap((call) => {
          const where = `${path}:${line}: ${call.method} ${call.path}`;
          const route = routes.find(
            ({ method, pattern }) => method === call.method && pattern.test(call.path),
          );
          if (route === undefined) return [`${where}: no such route`];
          if (call.body === null) return [];
          try {
            if (route.schema === undefined) return [`${where}: takes no body of JSON`];
            const refusal = refusalOf(call.body, route.schema);
            return refusal === null ? [] : [`${where}: ${refusal}`];
          } catch (error: unknown) {
            return [`${where}: ${String(error)}`];
          }
        }),
      );
    expect(mistakes).toEqual([]);
  });
});

test('calls are found with their methods and bodies', () => {
  const shell = `curl -X PUT "$SERVICE_URL/v1/checks/url/$ID?a=b" \\\n  -d '{"a": "'"$X"'"}'\ncurl $SERVICE_URL/v1/checks\n`;
  expect(callsIn(shell)).toEqual([
    { method: 'PUT', path: '/v1/checks/url/$ID', body: '{"a": "VARIABLE"}' },
    { method: 'GET', path: '/v1/checks', body: null },
  ]);
});

test('pages use one name for the address of the service, and one for the key of the account', () => {
  const others = documentPaths().flatMap((path) =>
    documentOf(path)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ content, line }) =>
        [...content.matchAll(/\$\{?(?:KEY|URL|SERVICE|API_KEY)\b(?!_)/g)].map(
          ([name]) => `${path}:${line}: ${name}`,
        ),
      ),
  );
  expect(others).toEqual([]);
});

test('a body that the API refuses is found', () => {
  const schema = routes.find(
    ({ method, pattern }) => method === 'POST' && pattern.test('/v1/checks/url'),
  )?.schema;
  if (schema === undefined) throw new Error('no schema');
  const body = (more: string) => `{ "name": "a", "privateLocations": ["VARIABLE"], "request": { ${more} } }`;
  expect(refusalOf(body('"url": "https://shop.example/"'), schema)).toBeNull();
  expect(refusalOf(body('"uri": "https://shop.example/"'), schema)).toContain('uri');
});
