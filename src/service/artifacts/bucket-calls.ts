import type { S3Client } from '@aws-sdk/client-s3';
import type { BucketConfig } from '../../config/storage.ts';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { statusOf } from './bucket-client.ts';
import { StoreUnavailable } from './unavailable.ts';

/** Where a kind of file is in the bucket, and how failed calls are reported. */
export type BucketCalls = {
  client: S3Client;
  log: Log;
  Bucket: string;
  /** Prefix of all keys of this kind of file. */
  prefix: string;
  keyOf: (id: string) => string;
  /** Key of the object that holds the progress of an upload. */
  stateOf: (id: string) => string;
  /** Throws MissingFile, UnusableUpload, or StoreUnavailable for any other failure. */
  guarded: <T>(call: () => Promise<T>) => Promise<T>;
  /** Like `guarded`; null if there is no such object. */
  orNull: <T>(call: () => Promise<T>) => Promise<T | null>;
};

export const stateSuffix = '.part';

/** A missing object, with the error code of a missing file. */
export class MissingFile extends Error {
  readonly code = 'ENOENT';
}
/** The bucket does not accept the parts of an upload. */
export class UnusableUpload extends Error {}

/** `folder` is within the configured prefix and ends in a slash. */
export function createBucketCalls(options: {
  client: S3Client;
  config: Pick<BucketConfig, 'bucket' | 'prefix'>;
  folder: string;
  log: Log;
}): BucketCalls {
  const { client, config, folder, log } = options;
  const prefix = `${config.prefix}${folder}`;
  const keyOf = (id: string) => `${prefix}${id.slice(-2)}/${id}`;
  async function guarded<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      throw failureOf(error, log);
    }
  }
  return {
    client,
    log,
    Bucket: config.bucket,
    prefix,
    keyOf,
    stateOf: (id) => `${keyOf(id)}${stateSuffix}`,
    guarded,
    orNull: async (call) => {
      try {
        return await guarded(call);
      } catch (error) {
        if (error instanceof MissingFile) return null;
        throw error;
      }
    },
  };
}

/** Failures of the bucket are temporary for clients, which retry later. A missing object stays ENOENT. */
function failureOf(error: unknown, log: Log): Error {
  const status = statusOf(error);
  const { name } = toError(error);
  if (status === 404 && name !== 'NoSuchBucket') return new MissingFile('no such file in the bucket');
  if (/^(InvalidPart|InvalidPartOrder|EntityTooSmall|InvalidRequest)$/.test(name)) {
    return new UnusableUpload(name);
  }
  log.error({ error: toError(error).message, name, status }, 'artifact store failed');
  const reason = status === 403 ? 'refuses its keys' : 'does not respond correctly';
  return new StoreUnavailable(`The service's artifact store ${reason}: try again later.`);
}
