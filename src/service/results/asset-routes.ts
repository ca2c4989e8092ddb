import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { artifactNamePattern } from '../../protocol/agent-calls.ts';
import { artifactTypes } from '../../protocol/result.ts';
import { Nullable, StringEnum } from '../../protocol/schema.ts';
import { byteRangeOf, OutsideFile, rangeHeaders } from '../artifacts/byte-range.ts';
import { artifactsOf, findArtifact, type ArtifactRow } from '../artifacts/statements.ts';
import { findResult, type ResultRow } from './statements.ts';
import type { ArtifactFiles, ByteRange } from '../artifacts/files.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import { open, strict } from '../http/fields/strict-schema.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import { fitsPattern } from '../http/fields/name-pattern.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { artifactUrl, attemptOf } from './artifact-list.ts';
import { baseUrl } from '../http/base-url.ts';

/** Files of a result: their list, and their bytes. */

export const Asset = open(
  Type.Object(
    {
      type: StringEnum(artifactTypes),
      name: Type.String(),
      url: Type.String({ description: 'Where its bytes are, for the same API key.' }),
      contentType: Type.String(),
      size: Type.Integer({ description: 'Bytes.' }),
      source: Type.Literal('check', { description: 'What it belongs to: the run of a check.' }),
      archive: Nullable(Type.Object({ entryName: Type.String() }), {
        description: 'The entry, where the file is one of an archive; its URL then is that of the archive.',
      }),
    },
    { $id: 'Asset', title: 'Asset' },
  ),
);

const Assets = open(
  Type.Object({
    assets: Type.Array(Type.Ref('Asset')),
    truncated: Type.Boolean({ description: 'Whether there are more than are listed.' }),
  }),
);

const ResultParams = { checkId: Type.String(), checkResultId: Type.String() };

const AssetsQuery = strict(
  Type.Object({
    type: Type.Optional(StringEnum(artifactTypes)),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'A name, with * for any letters and ? for one.',
      }),
    ),
  }),
);

const AssetQuery = strict(
  Type.Object({
    redirect: Type.Boolean({
      default: true,
      description: 'False: the service sends the file itself, also if it is in a bucket.',
    }),
  }),
);
const fileContent = { 'application/octet-stream': { schema: Type.String({ format: 'binary' }) } };

/** Adds the routes for the list of a result's files and for the files themselves. */
export function registerCheckResultAssets(api: PublicApi, { db, files, publicUrl }: ApiDeps): void {
  const resultOf = async (accountId: string, checkId: string, id: string): Promise<ResultRow> => {
    const time = timeOfUuidv7(id);
    const row =
      isUuid(checkId) && time !== null
        ? await findResult(db, { accountId, checkId, id, startedAt: new Date(time) })
        : undefined;
    if (row === undefined) throw notFound('result', id, 'checkResultId');
    return row;
  };

  api.get(
    '/v1/check-results/:checkId/:checkResultId/assets',
    {
      schema: {
        operationId: 'listCheckResultAssets',
        tags: ['Results'],
        summary: "A result's files: traces, videos, screenshots, reports, logs",
        params: strict(Type.Object(ResultParams)),
        querystring: AssetsQuery,
        response: { 200: Assets, ...errorResponses(400, 404) },
      },
    },
    async (request) => {
      const { accountId, query } = request;
      const row = await resultOf(accountId, request.params.checkId, request.params.checkResultId);
      const attempt = attemptOf(row);
      const stored = attempt === null ? [] : await artifactsOf(db, { accountId, attempts: [attempt] });
      const base = baseUrl(publicUrl, request);
      return {
        assets: stored
          .filter(({ state }) => state === 'stored')
          .filter(({ type }) => query.type === undefined || type === query.type)
          .filter(({ name }) => query.name === undefined || fitsPattern(name, query.name))
          .map(({ type, name, contentType, size }) => ({
            type: artifactTypes.find((known) => known === type) ?? 'file',
            name,
            url: artifactUrl(base, row, name),
            contentType,
            size,
            source: 'check' as const,
            archive: null,
          })),
        // An attempt never has more files than one list holds.
        truncated: false,
      };
    },
  );

  api.get(
    '/v1/check-results/:checkId/:checkResultId/assets/:name',
    {
      schema: {
        operationId: 'getCheckResultAsset',
        tags: ['Results'],
        summary: "The bytes of one of a result's files",
        params: strict(Type.Object({ ...ResultParams, name: Type.String() })),
        querystring: AssetQuery,
        response: {
          200: { description: 'The file, with its own content type', content: fileContent },
          206: { description: 'The bytes that the header `range` names', content: fileContent },
          302: Type.Null({
            description: 'The file is at the URL in `location`, for some minutes, without a key',
          }),
          ...errorResponses(400, 404, 416),
        },
      },
    },
    async (request, reply) => {
      const { checkId, checkResultId, name } = request.params;
      const row = await resultOf(request.accountId, checkId, checkResultId);
      const attempt = attemptOf(row);
      // Files have only these names. A name that the database cannot even be queried for does not exist.
      const artifact =
        attempt === null || !artifactNamePattern.test(name)
          ? undefined
          : await findArtifact(db, { ...attempt, name });
      if (files === undefined || artifact?.state !== 'stored') throw notFound('file', name, 'name');
      return sendFile(reply, files, {
        artifact,
        headers: request.headers,
        mayRedirect: request.query.redirect,
      });
    },
  );
}

/** Kinds that a browser may display; others are downloaded. A target's page never runs in our origin. */
const shown =
  /^(image\/(png|jpeg|gif|webp)|video\/(webm|mp4)|(text\/plain|application\/json)(; ?charset=[\w-]{1,20})?)$/i;

/** A file that is opened by itself is shown, and runs nothing. */
const filePolicy = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";

async function sendFile(
  reply: FastifyReply,
  files: ArtifactFiles,
  {
    artifact: { id, name, contentType, size: stored, sha256 },
    headers,
    mayRedirect,
  }: { artifact: ArtifactRow; headers: IncomingHttpHeaders; mayRedirect: boolean },
): Promise<FastifyReply> {
  const isShown = shown.test(contentType);
  const type = isShown ? contentType : plainType(contentType);
  const disposition = `${isShown ? 'inline' : 'attachment'}; filename="${name}"`;
  const url = mayRedirect ? await files.urlOf?.(id, { size: stored, contentType: type, disposition }) : null;
  if (typeof url === 'string') return reply.header('cache-control', 'no-store').redirect(url, 302);
  const etag = `"${sha256.toString('hex')}"`;
  let range: ByteRange | null = null;
  // Only requests for a range need to know the size before: with a bucket, that is another call.
  const rangeOf =
    headers.range === undefined
      ? undefined
      : (total: number) => (range = byteRangeOf(headers, { etag, size: total }));
  const { stream, size } = await files.open(id, rangeOf).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof OutsideFile) throw outside(error);
    throw error.code === 'ENOENT' ? notFound('file', name, 'name') : error;
  });
  return reply
    .code(range === null ? 200 : 206)
    .headers({
      'content-type': type,
      ...rangeHeaders(range, size),
      etag,
      'content-disposition': disposition,
      'x-content-type-options': 'nosniff',
      'content-security-policy': filePolicy,
      'cache-control': 'private, max-age=3600',
    })
    .send(stream);
}

const outside = ({ size }: OutsideFile) =>
  new HttpError(416, `The file has ${size} bytes.`, { range: [`must begin before ${size}`] });

/** An agent may name any content type. If it is not a plain `kind/name`, the file is sent as bytes. */
function plainType(contentType: string): string {
  return /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType : 'application/octet-stream';
}
