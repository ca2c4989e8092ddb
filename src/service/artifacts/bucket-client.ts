import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { BucketConfig } from '../../config/storage.ts';
import { toError } from '../../errors.ts';

/** The bucket itself: how it is reached, and whether it can be used. */

/** A client of the bucket, for both of its kinds of files. */
export function createBucketClient(config: BucketConfig): S3Client {
  return new S3Client({
    region: config.region,
    ...(config.endpoint === null ? {} : { endpoint: config.endpoint }),
    forcePathStyle: config.forcePathStyle,
    credentials: { accessKeyId: config.accessKeyId, secretAccessKey: config.secretAccessKey.reveal() },
    maxAttempts: 3,
    // Stores that are only compatible know none of the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000 },
  });
}

/** Whether the bucket can be used: null, or why not, and whether that is for good. */
export async function bucketTrouble(
  client: S3Client,
  bucket: string,
): Promise<{ message: string; isForGood: boolean } | null> {
  try {
    // Unlike a HEAD, its refusal has a body that says why.
    await client.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 }));
    return null;
  } catch (error) {
    const status = statusOf(error);
    const reasons: { [status: number]: string } = {
      301: 'it belongs to another S3_REGION',
      403: 'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY are not accepted, or may not use it',
      404: 'there is no such bucket',
    };
    const reason = reasons[status ?? 0];
    return { message: reason ?? toError(error).message, isForGood: reason !== undefined };
  }
}

/** The HTTP status of an answer that the client has made an error; null = there was none. */
export function statusOf(error: unknown): number | null {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }; // of the client's own errors
  return $metadata?.httpStatusCode ?? null;
}
