import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { fileSchemaName, fileSchemaText } from './file-schema.ts';

/** The schema of the files of a project, for editors. */

/** Serves `/schemas/checks.schema.json`, without a key. */
export function serveFileSchema(app: FastifyInstance): void {
  let answer: { text: string; etag: string } | null = null;
  app.get(`/schemas/${fileSchemaName}`, { schema: { hide: true } }, async (request, reply) => {
    if (answer === null) {
      const text = fileSchemaText();
      answer = { text, etag: `"${createHash('sha256').update(text).digest('base64url')}"` };
    }
    void reply.headers({
      etag: answer.etag,
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
    });
    if (request.headers['if-none-match'] === answer.etag) return reply.code(304).send();
    return reply.type('application/schema+json; charset=utf-8').send(Buffer.from(answer.text));
  });
}
