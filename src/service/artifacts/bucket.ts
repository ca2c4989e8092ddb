import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { BucketConfig } from '../../config/storage.ts';
import type { Log } from '../../log.ts';
import { createBucketCalls, stateSuffix, type BucketCalls } from './bucket-calls.ts';
import { answerMs } from './bucket-client.ts';
import {
  addPart,
  completeUpload,
  continueUpload,
  lengthOf,
  readUpload,
  removeUpload,
  saveUpload,
} from './bucket-upload.ts';
import { createPlaces } from './call-places.ts';
import type { ArtifactFiles } from './files.ts';
import { StoreUnavailable } from './unavailable.ts';
import { uploadBody } from './upload-body.ts';

/** Artifacts or code bundles in a bucket. A file is an object `<id>`; bucket-upload.ts describes its upload. */

/** Smallest size of the parts of an upload, except for the last. */
const partBytes = 5 * 1024 * 1024;
/** Concurrent uploads in this process. Each holds one part in memory. */
const maxWrites = 24;
/** An upload that receives nothing for this long is ended. */
const silentMs = 60_000;
const presignedSeconds = 300;
const presignedFrom = 8 * 1024 * 1024;

/** Creates the file storage in a bucket. */
export function createBucketFiles(options: {
  client: S3Client;
  /** A client for downloads, whose bytes may wait for their reader. */
  downloads: S3Client;
  config: Pick<BucketConfig, 'bucket' | 'prefix' | 'presignedDownloads'>;
  /** Within the prefix; ends in a slash. */
  folder: string;
  log: Log;
}): ArtifactFiles {
  const { client, downloads, config } = options;
  const calls = createBucketCalls(options);
  const { Bucket, keyOf, guarded, orNull } = calls;
  const writes = createPlaces(maxWrites);

  const sizeOf = async (id: string) =>
    (await orNull(() => client.send(new HeadObjectCommand({ Bucket, Key: keyOf(id) }))))?.ContentLength ??
    null;

  return {
    partLength: async (id) => {
      const progress = await readUpload(calls, id);
      return progress === null ? 0 : lengthOf(progress);
    },
    write: (id, body) => writes.within(body.signal, () => writeBody(calls, id, body)),
    digest: async (id) => {
      await completeUpload(calls, id);
      const { Body } = await guarded(() => client.send(new GetObjectCommand({ Bucket, Key: keyOf(id) })));
      const hash = createHash('sha256');
      await guarded(() => pipeline(Body as Readable, hash)); // in Node.js it is a stream
      return hash.digest();
    },
    finish: (id) => completeUpload(calls, id),
    open: async (id, rangeOf) => {
      const range =
        rangeOf === undefined
          ? null
          : await sizeOf(id).then((size) => (size === null ? null : rangeOf(size)));
      const Range = range === null ? {} : { Range: `bytes=${range.start}-${range.end}` };
      const found = await guarded(() =>
        downloads.send(new GetObjectCommand({ Bucket, Key: keyOf(id), ...Range }), {
          requestTimeout: answerMs,
        }),
      );
      const size = Number(/\/(\d+)$/.exec(found.ContentRange ?? '')?.[1] ?? found.ContentLength ?? 0);
      return { stream: found.Body as Readable, size }; // in Node.js it is a stream
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
    list: () => listFiles(calls),
    remove: async (id) => {
      await removeUpload(calls, id, await readUpload(calls, id));
      await guarded(() => client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(id) })));
    },
  };
}

/** Writes a body from byte `at` on, part by part. */
async function writeBody(
  calls: BucketCalls,
  id: string,
  { at, size, body, signal, beginning = Buffer.alloc(0) }: Parameters<ArtifactFiles['write']>[1],
): ReturnType<ArtifactFiles['write']> {
  let progress = await continueUpload(calls, id, at);
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
      // Nothing is read during this call, because an upload holds one part in memory. The latest chunk is not in the
      // part: an agent that has sent the complete file and got no answer sends its last byte again.
      if (held >= partBytes) {
        progress = await addPart(calls, id, progress, Buffer.concat(chunks));
        await saveUpload(calls, id, progress);
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
  // Received bytes are kept, unless the store itself has failed.
  if (!(failure instanceof StoreUnavailable)) {
    await saveUpload(calls, id, { ...progress, tail: Buffer.concat(chunks) });
  }
  if (failure !== undefined) throw failure;
  return { length, sha256: hash?.digest() ?? null };
}

async function* listFiles({
  client,
  Bucket,
  prefix,
  guarded,
}: BucketCalls): ReturnType<ArtifactFiles['list']> {
  let ContinuationToken: string | undefined;
  do {
    const token = ContinuationToken === undefined ? {} : { ContinuationToken };
    const page = await guarded(() =>
      client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, ...token })),
    );
    for (const { Key = '', LastModified } of page.Contents ?? []) {
      const name = Key.slice(Key.lastIndexOf('/') + 1);
      const isPart = name.endsWith(stateSuffix);
      const id = isPart ? name.slice(0, -stateSuffix.length) : name;
      yield { id, isPart, modifiedAt: LastModified?.getTime() ?? 0 };
    }
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken !== undefined);
}

const brokenOff = () =>
  Object.assign(new Error('the upload received nothing for too long'), { code: 'ECONNRESET' });
