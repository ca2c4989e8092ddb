import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { toError } from '../../errors.ts';
import { MissingFile, UnusableUpload, type BucketCalls } from './bucket-calls.ts';
import { WrongPlace } from './files.ts';
import { StoreUnavailable } from './unavailable.ts';

/**
 * Uploads to a bucket. While a file is uploaded, its bytes are parts of a multipart upload. `<id>.part` holds the
 * progress: the upload's id, its parts, and the bytes of the tail, which is too short for a part. Any replica can
 * therefore continue an upload, and no received byte is lost.
 */

/** The progress of an upload. The tail's bytes follow the line of JSON in the same object. */
export type Progress = { uploadId: string | null; parts: { etag: string; size: number }[]; tail: Buffer };

/** Bytes uploaded so far. */
export const lengthOf = ({ parts, tail }: Progress) =>
  parts.reduce((sum, { size }) => sum + size, tail.length);

/** The progress of an upload; null if there is none. */
export async function readUpload(calls: BucketCalls, id: string): Promise<Progress | null> {
  const { client, Bucket, stateOf, guarded, orNull } = calls;
  const found = await orNull(() => client.send(new GetObjectCommand({ Bucket, Key: stateOf(id) })));
  if (found?.Body === undefined) return null;
  const { Body } = found;
  const bytes = Buffer.from(await guarded(() => Body.transformToByteArray()));
  const line = bytes.indexOf(10);
  const written = JSON.parse(bytes.subarray(0, line).toString()) as Omit<Progress, 'tail'>; // by saveUpload
  return { ...written, tail: bytes.subarray(line + 1) };
}

/** Stores the progress of an upload. */
export async function saveUpload(
  calls: BucketCalls,
  id: string,
  { tail, ...written }: Progress,
): Promise<void> {
  const { client, Bucket, stateOf, guarded } = calls;
  const Body = Buffer.concat([Buffer.from(`${JSON.stringify(written)}\n`), tail]);
  await guarded(() => client.send(new PutObjectCommand({ Bucket, Key: stateOf(id), Body })));
}

/** Ends an upload and removes its progress. */
export async function removeUpload(calls: BucketCalls, id: string, progress: Progress | null): Promise<void> {
  const { client, Bucket, keyOf, log } = calls;
  if (progress === null) return;
  const { uploadId: UploadId } = progress;
  if (UploadId !== null) {
    // If this fails, the bucket's lifecycle rule for incomplete uploads removes the parts.
    await client
      .send(new AbortMultipartUploadCommand({ Bucket, Key: keyOf(id), UploadId }))
      .catch((error: unknown) => log.debug({ error: toError(error).message }, 'upload not aborted'));
  }
  await removeState(calls, id);
}

/** Uploads `bytes` as the next part and returns the new progress, with an empty tail. */
export async function addPart(
  calls: BucketCalls,
  id: string,
  progress: Progress,
  bytes: Buffer,
): Promise<Progress> {
  const { client, Bucket, keyOf, guarded } = calls;
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
  ).catch((error: unknown) => giveUp(calls, id, progress, error));
  return {
    uploadId,
    parts: [...progress.parts, { etag: ETag, size: bytes.length }],
    tail: Buffer.alloc(0),
  };
}

/** Turns the parts into the object, which counts once `finish` has been called. */
export async function completeUpload(calls: BucketCalls, id: string): Promise<void> {
  const { client, Bucket, keyOf, guarded } = calls;
  const progress = await readUpload(calls, id);
  // The digest has already completed the upload.
  if (progress === null) return;
  if (progress.uploadId === null) {
    const Body = progress.tail;
    await guarded(() => client.send(new PutObjectCommand({ Bucket, Key: keyOf(id), Body })));
  } else {
    const all = progress.tail.length > 0 ? await addPart(calls, id, progress, progress.tail) : progress;
    const command = new CompleteMultipartUploadCommand({
      Bucket,
      Key: keyOf(id),
      UploadId: progress.uploadId,
      MultipartUpload: { Parts: all.parts.map(({ etag }, n) => ({ ETag: etag, PartNumber: n + 1 })) },
    });
    await guarded(() => client.send(command)).catch((error: unknown) => giveUp(calls, id, all, error));
  }
  await removeState(calls, id);
}

/** The progress truncated to `at` bytes; with 0 a new upload. Throws WrongPlace within a part. */
export async function continueUpload(calls: BucketCalls, id: string, at: number): Promise<Progress> {
  const progress = await readUpload(calls, id);
  if (at === 0) {
    await removeUpload(calls, id, progress);
    return { uploadId: null, parts: [], tail: Buffer.alloc(0) };
  }
  if (progress === null) throw new WrongPlace(0);
  const length = lengthOf(progress);
  const inParts = length - progress.tail.length;
  if (at < inParts || at > length) throw new WrongPlace(length);
  return { ...progress, tail: progress.tail.subarray(0, at - inParts) };
}

/**
 * Removes an upload that cannot be used, because the bucket's lifecycle rule ended it or two replicas wrote parts of
 * it at once. Always rejects.
 */
async function giveUp(calls: BucketCalls, id: string, progress: Progress, error: unknown): Promise<never> {
  if (error instanceof MissingFile || error instanceof UnusableUpload) {
    await removeUpload(calls, id, progress);
    throw new StoreUnavailable('The upload was lost in the artifact store: start it again.');
  }
  throw error;
}

async function removeState(calls: BucketCalls, id: string): Promise<void> {
  const { client, Bucket, stateOf, guarded } = calls;
  await guarded(() => client.send(new DeleteObjectCommand({ Bucket, Key: stateOf(id) })));
}
