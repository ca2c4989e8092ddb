import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { build } from 'esbuild';
import { parse } from 'yaml';
import { createAuthority } from '../../../src/targets/certificates.ts';
import { bodyExamples, exampleIds, exampleTexts } from '../../../src/service/http/document/examples.ts';
import { singular } from '../../../src/service/http/document/named-schemas.ts';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import type { Fields, TestService } from '../../helpers/service/service.ts';

/** The OpenAPI document for its readers: addresses, names, descriptions, examples, clients made from it. */

type Media = { schema?: Fields; example?: unknown };
type Operation = {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  requestBody?: { content: { [type: string]: Media } };
  responses: { [status: string]: { description: string; content?: { [type: string]: Media } } };
};
type Document = {
  info: Fields;
  servers: Fields[];
  tags: { name: string; description?: string }[];
  paths: { [path: string]: { [method: string]: Operation } };
  components: { schemas: { [name: string]: Fields } };
};

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;
let document: Document;

beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
  document = (await service.call<Document & Fields>('GET', '/openapi.json', { key: null })).body;
});
afterAll(async () => close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );

describe('addresses', () => {
  test('JSON at two of them and YAML at one, compressed on request, with an etag', async () => {
    const answers = await Promise.all(
      ['/openapi.json', '/docs/json', '/docs/yaml'].map((path) => fetch(`${service.url}${path}`)),
    );
    expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
      [200, 'application/json; charset=utf-8'],
      [200, 'application/json; charset=utf-8'],
      [200, 'application/yaml; charset=utf-8'],
    ]);
    const [json, again, yaml] = await Promise.all(answers.map(async (answer) => answer.text()));
    expect(again).toBe(json);
    expect(parse(yaml ?? '')).toEqual(document);
    const raw = await service.call('GET', '/openapi.json', {
      key: null,
      headers: { 'if-none-match': answers[0]?.headers.get('etag') ?? '' },
    });
    expect(raw.status).toBe(304);
    const small = await fetch(`${service.url}/openapi.json`, { headers: { 'accept-encoding': 'gzip' } });
    expect(small.headers.get('content-encoding')).toBe('gzip');
    const plain = await fetch(`${service.url}/openapi.json`, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBe(null);
  });
});

describe('what it says', () => {
  test('licence, contact, servers; subjects with descriptions, and no other subjects', () => {
    expect(document.info).toMatchObject({ license: { identifier: 'MIT' }, contact: {} });
    expect(document.servers).toEqual([{ url: '/', description: expect.any(String) }]);
    const used = new Set(operations().flatMap(({ operation }) => operation.tags ?? []));
    expect(new Set(document.tags.map(({ name }) => name))).toEqual(used);
    for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].*\.$/);
  });

  test('every operation has a summary, a description and a sentence for each answer', () => {
    for (const { operation } of operations()) {
      expect([operation.operationId, operation.summary]).toEqual([operation.operationId, expect.any(String)]);
      expect(operation.description).toMatch(/[^.]\.(\n|$)/);
      for (const { description } of Object.values(operation.responses))
        expect([operation.operationId, description]).not.toContain('Default Response');
    }
  });

  test('bodies of JSON are named schemas with an example, and so is every answer of JSON', () => {
    for (const { operation } of operations()) {
      const body = operation.requestBody?.content['application/json'];
      if (body !== undefined) {
        expect(String(body.schema?.['$ref'])).toMatch(/^#\/components\/schemas\/\w+$/);
        expect([operation.operationId, body.example]).toEqual([operation.operationId, expect.any(Object)]);
      }
      for (const [status, { content }] of Object.entries(operation.responses)) {
        const answer = content?.['application/json'];
        if (answer === undefined || Number(status) >= 400) continue;
        expect([operation.operationId, status, answer.example === undefined]).toEqual([
          operation.operationId,
          status,
          false,
        ]);
      }
    }
  });

  test('no object with fields is repeated', () => {
    const seen = new Map<string, string>();
    const walk = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const schema = value as Fields; // neither null nor a text
      if (Object.keys(schema['properties'] ?? {}).length > 0 && !/^\/[^/]+$/.test(place)) {
        const text = JSON.stringify({ ...schema, description: undefined, default: undefined });
        expect([place, seen.get(text)]).toEqual([place, undefined]);
        seen.set(text, place);
      }
      for (const [name, inner] of Object.entries(schema)) walk(inner, `${place}/${name}`);
    };
    walk(document.components.schemas, '');
  });

  test('names of lists become those of their entries', () => {
    const words = ['assertions', 'entries', 'addresses', 'boxes', 'status', 'sms', 'target'];
    expect(words.map(singular)).toEqual(['assertion', 'entry', 'address', 'box', 'statu', 'sms', 'target']);
  });
});

describe('the examples of bodies', () => {
  test('are accepted by the service, with ids of real resources in place of theirs', async () => {
    const { ids } = everything;
    const authority = await createAuthority({ commonName: 'Examples' });
    const { cert, key } = await authority.issue({
      commonName: 'client',
      notBefore: new Date(service.now() - 86_400_000),
      notAfter: new Date(service.now() + 86_400_000),
    });
    const real: readonly (readonly [example: string | number, id: string])[] = [
      [exampleIds.check, JSON.stringify(ids['check/url'])],
      [exampleIds.service, JSON.stringify(ids['service'])],
      [exampleIds.statusPage, JSON.stringify(ids['statusPage'])],
      [exampleIds.group, String(ids['group'])],
      [exampleIds.alertChannel, String(ids['alertChannel'])],
      [exampleIds.snippet, String(ids['snippet'])],
      [exampleTexts.bundle, JSON.stringify(ids['bundle'])],
      [exampleTexts.apiKey, JSON.stringify(service.account.key)],
      [exampleTexts.certificate, JSON.stringify(cert)],
      [exampleTexts.privateKey, JSON.stringify(key)],
    ];
    // One check has one trigger.
    for (const path of ['/v1/triggers/checks/{checkId}', '/v1/triggers/check-groups/{groupId}'])
      await service.call('DELETE', everything.pathOf(path));
    const answers: unknown[] = [];
    // What ends something comes last.
    const isEnd = (name: string) => /^(cancel|signOut)/.test(name);
    const inOrder = operations().sort(
      (one, other) => Number(isEnd(one.operation.operationId)) - Number(isEnd(other.operation.operationId)),
    );
    for (const { method, path, operation } of inOrder) {
      const example = bodyExamples[operation.operationId];
      if (example === undefined) continue;
      expect(operation.requestBody?.content['application/json']?.example).toEqual(example);
      const text = real.reduce(
        (sent, [from, to]) => sent.replaceAll(JSON.stringify(from), to),
        JSON.stringify(example),
      );
      const { status, body } = await service.call(method, everything.pathOf(path), {
        body: text,
        ...(operation.operationId === 'signOut' ? { key: null } : {}),
      });
      // The runs that it names have ended; the service has read the body.
      if (status < 300) continue;
      if (body['message'] === 'Some of the runs cannot be cancelled; see attributes.') continue;
      answers.push([operation.operationId, status, body['message']]);
    }
    expect(answers).toEqual([]);
    const withBody = operations().filter(
      ({ operation }) => operation.requestBody?.content['application/json'],
    );
    expect(Object.keys(bodyExamples).sort()).toEqual(
      withBody.map(({ operation }) => operation.operationId).sort(),
    );
  });
});

describe('a typed client that is made from it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'typed-client-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

const [, , baseUrl = '', key = ''] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + key } });
const { data } = await client.POST('/v1/checks/url', {
  body: { name: 'Typed', locations: ['eu-west-1'], request: { url: 'https://shop.example/' } },
});
const check: components['schemas']['UrlCheck'] | undefined = data;
const { data: read, error } = await client.GET('/v1/checks/{id}', {
  params: { path: { id: check?.id ?? '' }, query: { includeDependencies: true } },
});
console.log(read?.name ?? error?.message, read?.checkType);
`;
  // A field of the wrong type, a missing one, and a path that does not exist.
  const wrong = `
import createClient from 'openapi-fetch';
import type { paths } from './api.ts';
const client = createClient<paths>({ baseUrl: '' });
void client.POST('/v1/checks/url', { body: { name: 7, request: { url: '' } } });
void client.POST('/v1/snippets', { body: { name: 'x' } });
void client.GET('/v1/nothing', {});
`;
  const root = join(import.meta.dirname, '../../..');
  const run = (...args: string[]) => spawnSync(process.execPath, args, { encoding: 'utf8', cwd: folder });
  const compile = (name: string) => {
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          target: 'es2022',
          module: 'nodenext',
          moduleResolution: 'nodenext',
          allowImportingTsExtensions: true,
          lib: ['es2022', 'dom', 'dom.iterable'],
          typeRoots: [join(root, 'node_modules/@types')],
          types: ['node'],
          paths: { 'openapi-fetch': [join(root, 'node_modules/openapi-fetch/dist/index.d.ts')] },
        },
        files: [name],
      }),
    );
    return run(join(root, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false').stdout;
  };

  test('compiles, refuses wrong calls, and its calls are answered', { timeout: 60_000 }, async () => {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document));
    const made = run(
      join(root, 'node_modules/openapi-typescript/bin/cli.js'),
      'openapi.json',
      '-o',
      'api.ts',
    );
    expect([made.status, made.stderr]).toEqual([0, '']);
    writeFileSync(join(folder, 'right.ts'), program);
    writeFileSync(join(folder, 'wrong.ts'), wrong);
    expect(compile('right.ts')).toBe('');
    expect(compile('wrong.ts').match(/wrong\.ts\(\d+/g)).toEqual(['wrong.ts(5', 'wrong.ts(6', 'wrong.ts(7']);
    await build({
      entryPoints: [join(folder, 'right.ts')],
      outfile: join(folder, 'right.js'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      nodePaths: [join(root, 'node_modules')],
    });
    const answered = await promisify(execFile)(process.execPath, [
      join(folder, 'right.js'),
      service.url,
      service.account.key,
    ]);
    expect(answered.stdout).toBe('Typed URL\n');
  });
});
