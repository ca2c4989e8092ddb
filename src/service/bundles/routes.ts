import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { BundleDigest, BundleKey, bundleLimits } from '../../protocol/suite.ts';
import { sendBundle } from './content.ts';
import { removeBundle, storeBundle, type BundleDeps } from './bundles.ts';
import { findBundle, listBundles, type BundleRow } from './statements.ts';
import { countOfAccount } from '../db/count-rows.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { withSlowBody } from '../http/slow-body.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';

/** Code bundles of suites: uploaded as bytes, then named by checks. */

export const PlaywrightBundle = open(
  Type.Object(
    {
      key: Type.Union([BundleKey], { description: "What a check's codeBundlePath names it by." }),
      digest: Type.Union([BundleDigest], { description: 'SHA-256 of the archive, in hex.' }),
      size: Type.Integer({ description: 'Bytes.' }),
      created_at: Type.String({ format: 'date-time' }),
    },
    { $id: 'PlaywrightBundle', title: 'PlaywrightBundle' },
  ),
);

const path = '/v1/playwright-bundles';
const KeyParams = strict(Type.Object({ key: Type.String() }));
/** Within this time the largest bundle arrives at 1.4 Mbit/s. */
const uploadTimes = { totalMs: 15 * 60_000, idleMs: 30_000 };
const fileContent = { 'application/octet-stream': { schema: Type.String({ format: 'binary' }) } };
const accepted = ['application/octet-stream', 'application/gzip', 'application/x-gzip'];

const present = ({ key, digest, size, createdAt }: BundleRow) => ({
  key,
  digest,
  size,
  created_at: createdAt.toISOString(),
});

/** Adds the bundle routes. `app` is `api` without types: the upload has a scope whose bodies are not JSON. */
export async function registerPlaywrightBundles(
  app: FastifyInstance,
  api: PublicApi,
  deps: ApiDeps,
): Promise<void> {
  const { db } = deps;
  await app.register(async (scope) => registerUpload(scope, deps));

  api.get(
    path,
    {
      schema: {
        operationId: 'listPlaywrightBundles',
        tags: ['Playwright bundles'],
        summary: 'Code bundles, newest first',
        querystring: strict(Type.Object(paginationFields)),
        response: { 200: Type.Array(Type.Ref('PlaywrightBundle')), ...errorResponses(400) },
      },
      config: { countAll: ({ accountId }) => countOfAccount(db, 'playwright_bundles', accountId) },
    },
    async ({ accountId, query }) => {
      const rows = await listBundles(db, { accountId, limit: query.limit, offset: offsetOf(query) });
      return rows.map(present);
    },
  );

  api.get(
    `${path}/:key`,
    {
      schema: {
        operationId: 'getPlaywrightBundle',
        tags: ['Playwright bundles'],
        summary: 'One code bundle, without its bytes',
        params: KeyParams,
        response: { 200: Type.Ref('PlaywrightBundle'), ...errorResponses(404) },
      },
    },
    async ({ accountId, params: { key } }) => {
      const row = await findBundle(db, { accountId, key });
      if (row === undefined) throw notFound('code bundle', key, 'key');
      return present(row);
    },
  );

  api.get(
    `${path}/:key/content`,
    {
      // Other keys see no code of the account.
      config: { access: 'READ_WRITE' },
      schema: {
        operationId: 'getPlaywrightBundleContent',
        tags: ['Playwright bundles'],
        summary: 'The bytes of a code bundle, as they were uploaded',
        params: KeyParams,
        response: {
          200: { description: 'The archive', content: fileContent },
          206: { description: 'The bytes that the header `range` names', content: fileContent },
          ...errorResponses(404, 416),
        },
      },
    },
    async (request, reply) => {
      const { accountId, params } = request;
      return sendBundle(request, reply, { ...bundleDeps(deps), accountId, key: params.key });
    },
  );

  api.delete(
    `${path}/:key`,
    {
      schema: {
        operationId: 'deletePlaywrightBundle',
        tags: ['Playwright bundles'],
        summary: 'Delete a code bundle that no check uses',
        description: 'Those that no check has used for 7 days are deleted by the service.',
        params: KeyParams,
        response: { 204: Type.Null({ description: 'Deleted' }), ...errorResponses(404, 409) },
      },
    },
    async ({ accountId, params: { key } }, reply) => {
      await removeBundle(bundleDeps(deps), { accountId, key });
      return reply.code(204).send(null);
    },
  );
}

function registerUpload(scope: FastifyInstance, deps: ApiDeps): void {
  scope.removeAllContentTypeParsers();
  // The route itself reads the body as a stream.
  scope.addContentTypeParser(accepted, (_request, _payload, done) => done(null, null));
  scope.addContentTypeParser('*', (_request, _payload, done) => {
    const attributes = { 'content-type': [`must be ${accepted[0]}`] };
    done(new HttpError(415, `The bundle must be sent as ${accepted[0]}.`, attributes));
  });
  scope.post(
    path,
    {
      schema: {
        operationId: 'uploadPlaywrightBundle',
        tags: ['Playwright bundles'],
        summary: 'Upload the code bundle of a suite',
        description:
          `A tar archive of the project, compressed with gzip, ${bundleLimits.archiveBytes} bytes at most; content-length ` +
          'is required. The same content gets the same key. A bundle that no check has used for 7 days is deleted.',
        body: { content: { [accepted[0] ?? '']: { schema: Type.String({ format: 'binary' }) } } },
        response: {
          201: Type.Ref('PlaywrightBundle'),
          408: Type.Ref('Error', { description: 'The body took too long to arrive' }),
          ...errorResponses(400, 409, 411, 413, 415, 507),
        },
      },
      // The body is a stream, which no schema can validate.
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const length = request.headers['content-length'];
      if (length === undefined) {
        throw new HttpError(411, 'The length of the bundle is missing: send content-length.', {
          'content-length': ['must be there'],
        });
      }
      const { accountId, raw: body, log } = request;
      const size = Number(length);
      const row = await withSlowBody(body, uploadTimes, (signal) =>
        storeBundle(bundleDeps(deps), { accountId, size, body, signal, log }),
      );
      return reply.code(201).send(present(row));
    },
  );
}

function bundleDeps({ db, now, bundles }: ApiDeps): BundleDeps {
  if (bundles === undefined) throw new Error('this service has no folder for code bundles');
  return { db, now, bundles };
}
