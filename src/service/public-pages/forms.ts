import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The forms of status pages and of mail programs. */

const formBytes = 4096;

/** Accepts forms, whose fields `field` reads. */
export function acceptForms(instance: FastifyInstance): void {
  instance.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytes },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
  // One-click unsubscribe from a mail program (RFC 8058).
  instance.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'string', bodyLimit: formBytes },
    (_request, body, done) => done(null, oneClickOf(String(body))),
  );
}

/** A field of the sent form; '' = absent. */
export function field(request: FastifyRequest, name: string): string {
  return request.body instanceof URLSearchParams ? (request.body.get(name) ?? '') : '';
}

/** The token of a link. */
export function inQuery(request: FastifyRequest): string {
  const { token } = request.query as { token?: unknown }; // of any shape
  return typeof token === 'string' ? token : '';
}

/** Reads the one relevant field of a multipart form. */
function oneClickOf(form: string): URLSearchParams {
  const isOneClick = /name="?List-Unsubscribe"?[^]{0,200}?\r?\n\r?\nOne-Click\r?\n/i.test(form);
  return new URLSearchParams(isOneClick ? { 'List-Unsubscribe': 'One-Click' } : {});
}
