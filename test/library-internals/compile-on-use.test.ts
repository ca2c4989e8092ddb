import fastify from 'fastify';
import { expect, test } from 'vitest';
import { compileOnUse } from '../../src/service/http/compile-on-use.ts';

test("fastify's validator calls the method that compileOnUse replaces, and reads the errors of its result", async () => {
  const compiled: unknown[] = [];
  const app = fastify({
    ajv: {
      onCreate: (ajv) => {
        const compile = ajv.compile.bind(ajv);
        const seen = (schema: Parameters<typeof compile>[0]) => {
          compiled.push(schema);
          return compile(schema);
        };
        ajv.compile = seen as typeof ajv.compile; // its overloads are of types alone
        compileOnUse(ajv);
      },
    },
  });
  const body = { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } };
  app.post('/one', { schema: { body } }, async () => 'one');
  app.post('/two', { schema: { body: { type: 'array' } } }, async () => 'two');
  await app.ready();
  expect(compiled).toEqual([]);
  const post = (payload: object) => app.inject({ method: 'POST', url: '/one', payload });
  expect((await post({ a: 1 })).body).toBe('one');
  const refused = await post({ b: 1 });
  expect([refused.statusCode, refused.json<{ message: string }>().message]).toEqual([
    400,
    "body must have required property 'a'",
  ]);
  expect(compiled).toHaveLength(1);
  await app.close();
});
