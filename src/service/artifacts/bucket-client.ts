import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { BucketConfig } from '../../config/storage.ts';
import { toError } from '../../errors.ts';

/** Creates the bucket client and tests whether the bucket can be used. */

/** Creates the client that both kinds of files share. */
export function createBucketClient(config: BucketConfig): S3Client {
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
      requestTimeout: 60_000,
      httpsAgent: { rejectUnauthorized: true },
    },
  });
}

/** Tests whether the bucket can be used: null, or the reason and whether it is permanent. */
export async function bucketProblem(
  client: S3Client,
  bucket: string,
): Promise<{ message: string; isForGood: boolean } | null> {
  try {
    // Unlike a HEAD request, its error has a body with the reason.
    await client.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 }));
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
