import type { FastifyInstance } from 'fastify';
import { HttpError } from '../http/errors.ts';
import { problemHtml } from './document-html.ts';

/** Refusals as HTML for browsers. Programs that ask for JSON get the API's form. */

const titles: { readonly [code: number]: string } = {
  401: 'This status page is private',
  404: 'There is no status page at this address',
};

/** Sends 401 and 404 of these routes as documents with `headers`. */
export function sendProblemPages(
  instance: FastifyInstance,
  headers: { readonly [name: string]: string },
): void {
  instance.setErrorHandler(async (error, request, reply) => {
    const title = error instanceof HttpError ? titles[error.statusCode] : undefined;
    const isForBrowsers = !/application\/json/.test(String(request.headers.accept ?? ''));
    if (!(error instanceof HttpError) || title === undefined || !isForBrowsers) throw error;
    return reply
      .code(error.statusCode)
      .headers({ ...headers, 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(problemHtml({ title, text: error.statusCode === 404 ? 'Check the address.' : error.message }));
  });
}
