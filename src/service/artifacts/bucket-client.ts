import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { BucketConfig } from '../../config/storage.ts';
import { toError } from '../../errors.ts';
import { underTimeLimit } from '../../time-limit.ts';

/** Creates the bucket client and tests whether the bucket can be used. */

/** A call ends when no byte of it moves for this long, in milliseconds. Long uploads that make progress do not end. */
export const silentMs = 60_000;
/**
 * The same for downloads, whose bytes wait for the client that reads them. The service ends an answer that nobody reads after
 * five minutes (http/server.ts).
 */
export const silentDownloadMs = 330_000;
/** For a download, the store has this long to begin its answer. */
export const answerMs = 30_000;

const never = new AbortController().signal;

/** Creates the client that all kinds of files share, or another one for downloads. */
export function createBucketClient(config: BucketConfig, socketTimeout = silentMs): S3Client {
  return new S3Client({
    region: config.region,
    ...(config.endpoint === null ? {} : { endpoint: config.endpoint }),
    forcePathStyle: config.forcePathStyle,
    credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey.reveal() },
    maxAttempts: 3,
    // S3-compatible stores do not support the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The keys go there, whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    requestHandler: {
      connectionTimeout: 5_000,
      socketTimeout,
      // Of calls that have such a limit. By default, the client would only warn.
      throwOnRequestTimeout: true,
      httpsAgent: { rejectUnauthorized: true },
    },
  });
}

/** The service does not start before it knows whether the bucket answers. */
const startMs = 15_000;

/** Tests whether the bucket can be used: null, or the reason and whether it is permanent. */
export async function bucketProblem(
  client: S3Client,
  bucket: string,
  limitMs = startMs,
): Promise<{ message: string; isForGood: boolean } | null> {
  try {
    // Unlike a HEAD request, its error has a body with the reason.
    const command = new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 });
    await underTimeLimit(never, limitMs, (abortSignal) => client.send(command, { abortSignal }));
    return null;
  } catch (error) {
    const status = statusOf(error);
    const reasons: { [status: number]: string } = {
      301: 'the bucket is in another S3_REGION',
      403: 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are not accepted or do not give access to it',
      404: 'there is no such bucket',
    };
    const reason = reasons[status ?? 0];
    return { message: reason ?? toError(error).message, isForGood: reason !== undefined };
  }
}

/** The HTTP status of a client error; null = there was no answer. */
export function statusOf(error: unknown): number | null {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }; // of the client's own errors
  return $metadata?.httpStatusCode ?? null;
}
