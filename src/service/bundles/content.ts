import type { FastifyReply, FastifyRequest } from 'fastify';
import { artifactHeaders } from '../../protocol/agent-calls.ts';
import { byteRangeOf, OutsideFile, rangeHeaders } from '../artifacts/byte-range.ts';
import type { ArtifactFiles, ByteRange } from '../artifacts/files.ts';
import type { Db } from '../db/database.ts';
import { HttpError, notFound } from '../http/errors.ts';
import { findBundle } from './statements.ts';

/** Sends the archive of a code bundle, complete or from an offset to resume a broken download. Throws HttpError 404 or 416. */
export async function sendBundle(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  { db, bundles, accountId, key }: { db: Db; bundles: ArtifactFiles; accountId: string; key: string },
): Promise<FastifyReply> {
  // A key with invalid characters must not reach the database.
  const row = /^[A-Za-z0-9._-]{1,128}$/.test(key) ? await findBundle(db, { accountId, key }) : undefined;
  if (row === undefined) throw notFound('code bundle', key, 'key');
  let range: ByteRange | null = null;
  const { stream, size } = await bundles
    .open(row.id, (total) => (range = byteRangeOf(headers, { etag: etagOf(row.digest), size: total })))
    .catch((error: NodeJS.ErrnoException) => {
      if (error instanceof OutsideFile) throw outside(error);
      throw error.code === 'ENOENT' ? goneFile(key) : error;
    });
  return reply
    .code(range === null ? 200 : 206)
    .headers({
      'content-type': 'application/octet-stream',
      ...rangeHeaders(range, size),
      etag: etagOf(row.digest),
      [artifactHeaders.digest]: `sha-256=:${Buffer.from(row.digest, 'hex').toString('base64')}:`,
    })
    .send(stream);
}

const etagOf = (digest: string) => `"${digest}"`;

const outside = ({ size }: OutsideFile) =>
  new HttpError(416, `The code bundle has ${size} bytes.`, { range: [`must begin before ${size}`] });

const goneFile = (key: string) =>
  new HttpError(404, `The file of the code bundle ${key} is missing. Upload the bundle again.`, {
    key: ['names a code bundle whose file is missing'],
  });
