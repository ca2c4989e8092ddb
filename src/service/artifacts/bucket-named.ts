import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { BucketConfig } from '../../config/storage.ts';
import type { Log } from '../../log.ts';
import { underTimeLimit } from '../../time-limit.ts';
import { createBucketCalls } from './bucket-calls.ts';
import { statusOf } from './bucket-client.ts';
import type { NamedFiles } from './named-files.ts';

const rangeNotSatisfiable = 416;
const never = new AbortController().signal;
/**
 * Times after which calls end, in milliseconds: reads, for which answers wait, and the others. A slow store must not delay
 * other work, and each of these calls is small. An upload ends when no byte of it moves (bucket-client.ts).
 */
const usualLimits = { readMs: 15_000, otherMs: 120_000 };

/** Creates the storage of small files at paths of their own, in a bucket. */
export function createBucketNamedFiles(options: {
  client: S3Client;
  config: Pick<BucketConfig, 'bucket' | 'prefix'>;
  /** Within the prefix; ends in a slash. */
  folder: string;
  log: Log;
  limits?: typeof usualLimits;
}): NamedFiles {
  const { client, limits = usualLimits } = options;
  const { Bucket, prefix, guarded } = createBucketCalls(options);
  const keyOf = (path: string) => `${prefix}${path}`;
  const limited = <Answer>(call: (abortSignal: AbortSignal) => Promise<Answer>) =>
    guarded(() => underTimeLimit(never, limits.otherMs, call));

  async function* list(): ReturnType<NamedFiles['list']> {
    let ContinuationToken: string | undefined;
    do {
      const token = ContinuationToken === undefined ? {} : { ContinuationToken };
      const command = new ListObjectsV2Command({ Bucket, Prefix: prefix, ...token });
      const page = await limited((abortSignal) => client.send(command, { abortSignal }));
      for (const { Key = '', Size = 0 } of page.Contents ?? [])
        yield { path: Key.slice(prefix.length), bytes: Size };
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
  }

  return {
    put: async (path, bytes) => {
      const command = new PutObjectCommand({ Bucket, Key: keyOf(path), Body: bytes });
      await guarded(() => client.send(command));
    },
    read: (path, { start, end, signal = never }) =>
      guarded(async () => {
        const Range = `bytes=${start}-${end - 1}`;
        const command = new GetObjectCommand({ Bucket, Key: keyOf(path), Range });
        try {
          return await underTimeLimit(signal, limits.readMs, async (abortSignal) => {
            const { Body } = await client.send(command, { abortSignal });
            return (await Body?.transformToByteArray()) ?? new Uint8Array();
          });
        } catch (error) {
          // The object ends before `start`: the file is damaged, and the store is well.
          if (statusOf(error) === rangeNotSatisfiable) return new Uint8Array();
          throw error;
        }
      }),
    list,
    remove: async (path) => {
      const command = new DeleteObjectCommand({ Bucket, Key: keyOf(path) });
      await limited((abortSignal) => client.send(command, { abortSignal }));
    },
  };
}
