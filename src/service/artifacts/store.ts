import { join } from 'node:path';
import type { ServiceConfig } from '../../config/service.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createArtifactFiles, type ArtifactFiles } from './files.ts';
import { createNamedFiles, type NamedFiles } from './named-files.ts';

export type ArtifactStore = {
  files: ArtifactFiles;
  bundles: ArtifactFiles;
  /** Files with old results. */
  results: NamedFiles;
  close: () => Promise<void>;
};

/**
 * Opens the storage of run files, code bundles and old results that is configured. A bucket that is temporarily unavailable is
 * tolerated. Throws FatalError CONFIGURATION if the bucket refuses the keys.
 */
export async function openArtifactStore({
  config: { bucket: config, dataDir },
  log,
}: {
  config: Pick<ServiceConfig, 'bucket' | 'dataDir'>;
  log: Log;
}): Promise<ArtifactStore> {
  if (config === null) {
    return {
      files: createArtifactFiles(join(dataDir, 'artifacts')),
      bundles: createArtifactFiles(join(dataDir, 'bundles')),
      results: createNamedFiles(join(dataDir, 'results')),
      close: async () => undefined,
    };
  }
  // Loaded only if there is a bucket, because the client is megabytes of code.
  const { bucketProblem, createBucketClient, silentDownloadMs } = await import('./bucket-client.ts');
  const { createBucketFiles } = await import('./bucket.ts');
  const { createBucketNamedFiles } = await import('./bucket-named.ts');
  const client = createBucketClient(config);
  const trouble = await bucketProblem(client, config.bucket);
  if (trouble?.isForGood === true) {
    client.destroy();
    throw new FatalError(
      'CONFIGURATION',
      `SERVICE_ARTIFACT_STORE: the bucket ${config.bucket} cannot be used: ${trouble.message}`,
      { exitCode: exitCodes.configuration },
    );
  }
  if (trouble !== null) {
    log.error(
      { bucket: config.bucket, error: trouble.message },
      'artifact store not reachable; agents keep their files',
    );
  }
  const downloads = createBucketClient(config, silentDownloadMs);
  return {
    files: createBucketFiles({ client, downloads, config, folder: 'artifacts/', log }),
    bundles: createBucketFiles({ client, downloads, config, folder: 'bundles/', log }),
    results: createBucketNamedFiles({ client, config, folder: 'results/', log }),
    close: async () => {
      client.destroy();
      downloads.destroy();
    },
  };
}
