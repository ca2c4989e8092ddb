import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { BucketConfig } from '../../config/storage.ts';
import type { Log } from '../../log.ts';
import { createBucketCalls } from './bucket-calls.ts';
import { statusOf } from './bucket-client.ts';
import type { NamedFiles } from './named-files.ts';

const rangeNotSatisfiable = 416;

/** Creates the storage of small files at paths of their own, in a bucket. */
export function createBucketNamedFiles(options: {
  client: S3Client;
  config: Pick<BucketConfig, 'bucket' | 'prefix'>;
  /** Within the prefix; ends in a slash. */
  folder: string;
  log: Log;
}): NamedFiles {
  const { client } = options;
  const { Bucket, prefix, guarded } = createBucketCalls(options);
  const keyOf = (path: string) => `${prefix}${path}`;

  async function* list(): ReturnType<NamedFiles['list']> {
    let ContinuationToken: string | undefined;
    do {
      const token = ContinuationToken === undefined ? {} : { ContinuationToken };
      const page = await guarded(() =>
        client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, ...token })),
      );
      for (const { Key = '', Size = 0, LastModified } of page.Contents ?? [])
        yield { path: Key.slice(prefix.length), bytes: Size, modifiedAt: LastModified?.getTime() ?? 0 };
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
  }

  return {
    put: async (path, bytes) => {
      await guarded(() => client.send(new PutObjectCommand({ Bucket, Key: keyOf(path), Body: bytes })));
    },
    read: (path, { start, end }) =>
      guarded(async () => {
        const Range = `bytes=${start}-${end - 1}`;
        try {
          const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: keyOf(path), Range }));
          return (await Body?.transformToByteArray()) ?? new Uint8Array();
        } catch (error) {
          // The object ends before `start`: the file is damaged, and the store is well.
          if (statusOf(error) === rangeNotSatisfiable) return new Uint8Array();
          throw error;
        }
      }),
    list,
    remove: async (path) => {
      await guarded(() => client.send(new DeleteObjectCommand({ Bucket, Key: keyOf(path) })));
    },
  };
}
