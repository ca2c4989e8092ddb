import type { Secret } from '../secrets/secret.ts';
import { fail, flag, secret, text, url, type Environment } from './read.ts';

/** Where artifacts and code bundles are stored: a folder that all replicas share, or a bucket. */

export type BucketConfig = {
  readonly bucket: string;
  /** Ends with a slash, or is empty. */
  readonly prefix: string;
  /** null = the region's endpoint. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** The bucket's name is in the path, not in the host name. */
  readonly forcePathStyle: boolean;
  /** Large downloads are redirected to the bucket with a URL that is valid for minutes. */
  readonly presignedDownloads: boolean;
};

/** null = folders below SERVICE_DATA_DIR. Throws FatalError (78). */
export function readStorage(env: Environment): BucketConfig | null {
  const store = text(env, 'SERVICE_ARTIFACT_STORE') ?? 'directory';
  if (store === 'directory') return null;
  const [, bucket = '', prefix = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(store) ?? [];
  if (bucket === '') {
    fail(`SERVICE_ARTIFACT_STORE must be directory or s3://<bucket>/<prefix>, but is "${store}"`);
  }
  if (!/^[A-Za-z0-9._/-]{0,200}$/.test(prefix) || prefix.includes('//')) {
    fail(
      'SERVICE_ARTIFACT_STORE: the prefix must have at most 200 letters, digits, dots, hyphens, underscores and slashes',
    );
  }
  const accessKeyId = text(env, 'S3_ACCESS_KEY_ID');
  const secretAccessKey = secret(env, 'S3_SECRET_ACCESS_KEY');
  if (accessKeyId === null || secretAccessKey === null) {
    return fail(
      'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY (or _FILE) are required with an artifact store in a bucket',
    );
  }
  const endpoint =
    text(env, 'S3_ENDPOINT') === null
      ? null
      : url(env, 'S3_ENDPOINT', '', ['http:', 'https:']).href.replace(/\/+$/, '');
  const region = text(env, 'S3_REGION');
  if (region === null && endpoint === null)
    fail('S3_REGION (or S3_ENDPOINT) is required with an artifact store in a bucket');
  return Object.freeze({
    bucket,
    prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`,
    endpoint,
    region: region ?? 'us-east-1',
    accessKeyId,
    secretAccessKey,
    forcePathStyle: flag(env, 'S3_FORCE_PATH_STYLE', endpoint !== null),
    presignedDownloads: flag(env, 'S3_PRESIGNED_DOWNLOADS', false),
  });
}
