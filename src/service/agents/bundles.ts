import type { FastifyInstance, FastifyRequest } from 'fastify';
import { artifactHeaders, bundlePath } from '../../protocol/agent-calls.ts';
import type { ArtifactFiles, ByteRange } from '../artifacts/files.ts';
import type { AgentLocation } from '../locations/agent-statements.ts';
import { findBundle } from '../bundles/statements.ts';
import type { Db } from '../db/database.ts';
import { HttpError, notFound } from '../http/errors.ts';

/** Serves code bundles to agents, complete or from an offset to resume a broken download. */

/** Adds the route. An agent gets bundles of its location's account only. */
export function registerAgentBundles(
  app: FastifyInstance,
  {
    db,
    bundles,
    locationOf,
  }: {
    db: Db;
    bundles: ArtifactFiles;
    locationOf: (request: FastifyRequest) => Promise<AgentLocation>;
  },
): void {
  app.get(bundlePath, { exposeHeadRoute: false, schema: { hide: true } }, async (request, reply) => {
    const { accountId } = await locationOf(request);
    const { key } = request.params as { key: string }; // of the path
    // A key with invalid characters must not reach the database.
    const row = /^[A-Za-z0-9._-]{1,128}$/.test(key) ? await findBundle(db, { accountId, key }) : undefined;
    if (row === undefined) throw notFound('code bundle', key, 'key');
    let range: ByteRange | null = null;
    const { stream, size } = await bundles
      .open(row.id, (total) => (range = rangeOf(request, { etag: etagOf(row.digest), size: total })))
      .catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? goneFile(key) : error;
      });
    const { start, end } = range ?? { start: 0, end: size - 1 };
    return reply
      .code(range === null ? 200 : 206)
      .headers({
        'content-type': 'application/octet-stream',
        'content-length': end - start + 1,
        'accept-ranges': 'bytes',
        etag: etagOf(row.digest),
        [artifactHeaders.digest]: `sha-256=:${Buffer.from(row.digest, 'hex').toString('base64')}:`,
        ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
      })
      .send(stream);
  });
}

const etagOf = (digest: string) => `"${digest}"`;

const goneFile = (key: string) =>
  new HttpError(404, `The file of the code bundle ${key} is missing. Upload the bundle again.`, {
    key: ['names a code bundle whose file is missing'],
  });

/**
 * Parses the requested range. Null = the complete file: no range, not a single byte range, or a range of another file.
 * Throws HttpError 416 if the range begins after the end of the file.
 */
export function rangeOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  { etag, size }: { etag: string; size: number },
): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,12})-(\d{0,12})$/.exec(headers.range ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return null;
  // Without a first byte, the range is a suffix of that length.
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < start) return null;
  if (start >= size) {
    throw new HttpError(416, `The code bundle has ${size} bytes.`, {
      range: [`must begin before ${size}`],
    });
  }
  return { start, end };
}
