import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BucketConfig } from '../../config/storage.ts';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { WrongPlace, type ArtifactFiles } from './files.ts';
import { statusOf } from './bucket-client.ts';
import { createPlaces } from './call-places.ts';
import { StoreUnavailable } from './unavailable.ts';
import { uploadBody } from './upload-body.ts';

/**
 * Artifacts, or bundles, in a bucket. A file is an object `<id>`. While it is uploaded its bytes are parts of a multipart
 * upload, and `<id>.part` says how far it is: the upload's id, its parts, and in its own bytes the tail that is too short for a
 * part. So any replica can go on where another one has ended, and no byte that came is lost.
 */

/** The least that the parts of an upload, but the last, may have. */
const partBytes = 5 * 1024 * 1024;
/** Uploads under way at once in this process: each holds one part in memory. */
const mostWrites = 24;
/** Nothing comes from the other end. */
const silentMs = 60_000;
const presignedSeconds = 300;
const presignedFrom = 8 * 1024 * 1024;
const stateSuffix = '.part';

/** How far an upload is. The tail's bytes follow the line of JSON in the same object. */
type Progress = { uploadId: string | null; parts: { etag: string; size: number }[]; tail: Buffer };

/** As a folder says it. */
class NotThere extends Error {
  readonly code = 'ENOENT';
}
class Unusable extends Error {}

export function createBucketFiles(options: {
  client: S3Client;
  config: Pick<BucketConfig, 'bucket' | 'prefix' | 'presignedDownloads'>;
  /** Within the prefix: ends in a slash. */
  folder: string;
  log: Log;
}): ArtifactFiles {
  const { client, config, folder, log } = options;
  const Bucket = config.bucket;
  const keyOf = (id: string) => `${config.prefix}${folder}${id.slice(-2)}/${id}`;
  const stateOf = (id: string) => `${keyOf(id)}${stateSuffix}`;
  const writes = createPlaces(mostWrites);

  /** What the bucket's trouble is to whoever asked: later. A thing that is not there stays ENOENT. */
  function refusal(error: unknown): Error {
    const status = statusOf(error);
    const { name } = toError(error);
    if (status === 404 && name !== 'NoSuchBucket') return new NotThere('no such file in the bucket');
    if (/^(InvalidPart|InvalidPartOrder|EntityTooSmall|InvalidRequest)$/.test(name))
      return new Unusable(name);
    log.error({ error: toError(error).message, name, status }, 'the artifact store fails');
    const why = status === 403 ? 'refuses its keys' : 'does not answer as it should';
    return new StoreUnavailable(`The service's artifact store ${why}: try again later.`);
  }
  const guarded = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      throw refusal(error);
    }
  };
  const orNull = async <T>(call: () => Promise<T>): Promise<T | null> => {
    try {
      return await guarded(call);
    } catch (error) {
      if (error instanceof NotThere) return null;
      throw error;
    }
  };

  async function readProgress(id: string): Promise<Progress | null> {
    const found = await orNull(() => client.send(new GetObjectCommand({ Bucket, Key: stateOf(id) })));
    if (found?.Body === undefined) return null;
    const { Body } = found;
    const bytes = Buffer.from(await guarded(() => Body.transformToByteArray()));
    const line = bytes.indexOf(10);
    const written = JSON.parse(bytes.subarray(0, line).toString()) as Omit<Progress, 'tail'>; // by saveProgress
    return { ...written, tail: bytes.subarray(line + 1) };
  }

  async function saveProgress(id: string, { tail, ...written }: Progress): Promise<void> {
    const Body = Buffer.concat([Buffer.from(`${JSON.stringify(written)}\n`), tail]);
    await guarded(() => client.send(new PutObjectCommand({ Bucket, Key: stateOf(id), Body })));
  }

  async function removeProgress(id: string, progress: Progress | null): Promise<void> {
    if (progress === null) return;
    const { uploadId: UploadId } = progress;
    if (UploadId !== null) {
      // What can't be ended here the bucket's own rule for unfinished uploads ends.
      await client
        .send(new AbortMultipartUploadCommand({ Bucket, Key: keyOf(id), UploadId }))
        .catch((error: unknown) => log.debug({ error: toError(error).message }, 'an upload was not aborted'));
    }
    await guarded(() => client.send(new DeleteObjectCommand({ Bucket, Key: stateOf(id) })));
  }

  const sizeOf = async (id: string) =>
    (await orNull(() => client.send(new HeadObjectCommand({ Bucket, Key: keyOf(id) }))))?.ContentLength ??
    null;

  async function addPart(id: string, progress: Progress, bytes: Buffer): Promise<Progress> {
    let { uploadId } = progress;
    if (uploadId === null) {
      const made = await guarded(() =>
        client.send(new CreateMultipartUploadCommand({ Bucket, Key: keyOf(id) })),
      );
      uploadId = made.UploadId ?? '';
    }
    const UploadId = uploadId;
    const PartNumber = progress.parts.length + 1;
    const { ETag = '' } = await guarded(() =>
      client.send(new UploadPartCommand({ Bucket, Key: keyOf(id), UploadId, PartNumber, Body: bytes })),
    ).catch((error: unknown) => beginAnew(id, progress, error));
    return {
      uploadId,
      parts: [...progress.parts, { etag: ETag, size: bytes.length }],
      tail: Buffer.alloc(0),
    };
  }

  /**
   * The bucket has ended the upload (a rule of its own), or two replicas wrote parts of one at once: nothing of it can be used.
   * Rejects always.
   */
  async function beginAnew(id: string, progress: Progress, error: unknown): Promise<never> {
    if (error instanceof NotThere || error instanceof Unusable) {
      await removeProgress(id, progress);
      throw new StoreUnavailable('The upload was lost in the artifact store: begin it anew.');
    }
    throw error;
  }

  /** Makes the parts the object, which counts once `finish` has been called. */
  async function complete(id: string): Promise<void> {
    const progress = await readProgress(id);
    // It has been done, by the digest.
    if (progress === null) return;
    if (progress.uploadId === null) {
      const Body = progress.tail;
      await guarded(() => client.send(new PutObjectCommand({ Bucket, Key: keyOf(id), Body })));
    } else {
      const whole = progress.tail.length > 0 ? await addPart(id, progress, progress.tail) : progress;
      const command = new CompleteMultipartUploadCommand({
        Bucket,
        Key: keyOf(id),
        UploadId: progress.uploadId,
        MultipartUpload: { Parts: whole.parts.map(({ etag }, n) => ({ ETag: etag, PartNumber: n + 1 })) },
      });
      await guarded(() => client.send(command)).catch((error: unknown) => beginAnew(id, whole, error));
    }
    await guarded(() => client.send(new DeleteObjectCommand({ Bucket, Key: stateOf(id) })));
  }

  const lengthOf = ({ parts, tail }: Progress) => parts.reduce((sum, { size }) => sum + size, tail.length);

  /** The progress cut to `at` bytes. Throws WrongPlace within a part. */
  async function continued(id: string, at: number): Promise<Progress> {
    const progress = await readProgress(id);
    if (at === 0) {
      await removeProgress(id, progress);
      return { uploadId: null, parts: [], tail: Buffer.alloc(0) };
    }
    const inParts = lengthOf({
      ...progress,
      parts: progress?.parts ?? [],
      uploadId: null,
      tail: Buffer.alloc(0),
    });
    if (progress === null || at < inParts || at > inParts + progress.tail.length) {
      throw new WrongPlace(progress === null ? 0 : lengthOf(progress));
    }
    return { ...progress, tail: progress.tail.subarray(0, at - inParts) };
  }

  return {
    partLength: async (id) => {
      const progress = await readProgress(id);
      return progress === null ? 0 : lengthOf(progress);
    },
    write: (id, { at, size, body, signal, beginning = Buffer.alloc(0) }) =>
      writes.within(signal, async () => {
        let progress = await continued(id, at);
        const hash = at === 0 ? createHash('sha256') : null;
        let length = at;
        let chunks = progress.tail.length > 0 ? [progress.tail] : [];
        let held = progress.tail.length;
        const silent = new AbortController();
        const timer = setTimeout(() => silent.abort(brokenOff()), silentMs);
        const sink = async (source: AsyncIterable<Buffer>) => {
          for await (const chunk of source) {
            timer.refresh();
            length += chunk.length;
            hash?.update(chunk);
            // Nothing is read meanwhile: one part is all that this upload holds in memory. What came last is in no part, for an
            // agent that has sent all of a file and got no answer sends its last byte again.
            if (held >= partBytes) {
              progress = await addPart(id, progress, Buffer.concat(chunks));
              await saveProgress(id, progress);
              chunks = [];
              held = 0;
              timer.refresh();
            }
            chunks.push(chunk);
            held += chunk.length;
          }
        };
        const ended = AbortSignal.any([signal, silent.signal]);
        let failure: unknown;
        try {
          await pipeline(uploadBody(body, { at, size, beginning, signal: ended }), sink, { signal: ended });
        } catch (error) {
          failure = silent.signal.aborted ? silent.signal.reason : error;
        } finally {
          clearTimeout(timer);
        }
        // The store's own trouble leaves what it has; whatever else broke off, what came stays.
        if (!(failure instanceof StoreUnavailable))
          await saveProgress(id, { ...progress, tail: Buffer.concat(chunks) });
        if (failure !== undefined) throw failure;
        return { length, sha256: hash?.digest() ?? null };
      }),
    digest: async (id) => {
      await complete(id);
      const { Body } = await guarded(() => client.send(new GetObjectCommand({ Bucket, Key: keyOf(id) })));
      const hash = createHash('sha256');
      await guarded(() => pipeline(Body as Readable, hash)); // in Node.js it is a stream
      return hash.digest();
    },
    finish: complete,
    open: async (id, rangeOf) => {
      const range =
        rangeOf === undefined
          ? null
          : await sizeOf(id).then((size) => (size === null ? null : rangeOf(size)));
      const Range = range === null ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const found = await guarded(() =>
        client.send(new GetObjectCommand({ Bucket, Key: keyOf(id), ...Range })),
      );
      const whole = Number(/\/(\d+)$/.exec(found.ContentRange ?? '')?.[1] ?? found.ContentLength ?? 0);
      return { stream: found.Body as Readable, size: whole }; // in Node.js it is a stream
    },
    urlOf: async (id, { size, contentType, disposition }) => {
      if (!config.presignedDownloads || size < presignedFrom) return null;
      const command = new GetObjectCommand({
        Bucket,
        Key: keyOf(id),
        ResponseContentType: contentType,
        ResponseContentDisposition: disposition,
      });
      return getSignedUrl(client, command, { expiresIn: presignedSeconds });
    },
    exists: async (id) => (await sizeOf(id)) !== null,
    list: async function* () {
      let ContinuationToken: string | undefined;
      do {
        const token = ContinuationToken === undefined ? {} : { ContinuationToken };
        const page = await guarded(() =>
          client.send(new ListObjectsV2Command({ Bucket, Prefix: `${config.prefix}${folder}`, ...token })),
        );
        for (const { Key = '', LastModified } of page.Contents ?? []) {
          const name = Key.slice(Key.lastIndexOf('/') + 1);
          const isPart = name.endsWith(stateSuffix);
          const id = isPart ? name.slice(0, -stateSuffix.length) : name;
          yield { id, isPart, modifiedAt: LastModified?.getTime() ?? 0 };
        }
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken !== undefined);
    },
    remove: async (id) => {
      await removeProgress(id, await readProgress(id));
      await guarded(() => client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(id) })));
    },
  };
}

const brokenOff = () => Object.assign(new Error('nothing came any more'), { code: 'ECONNRESET' });
