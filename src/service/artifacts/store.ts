import { join } from 'node:path';
import type { ServiceConfig } from '../../config/service.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { createArtifactFiles, type ArtifactFiles } from './files.ts';

export type ArtifactStore = { files: ArtifactFiles; bundles: ArtifactFiles; close: () => Promise<void> };

/**
 * Where files of runs and code bundles lie, as the configuration says. A bucket that is away for now is no obstacle; one that
 * refuses the keys is: throws FatalError CONFIGURATION.
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
      close: async () => undefined,
    };
  }
  // Megabytes of program that a service without a bucket does not load.
  const { bucketTrouble, createBucketClient } = await import('./bucket-client.ts');
  const { createBucketFiles } = await import('./bucket.ts');
  const client = createBucketClient(config);
  const trouble = await bucketTrouble(client, config.bucket);
  if (trouble?.isForGood === true) {
    client.destroy();
    throw new FatalError(
      'CONFIGURATION',
      `SERVICE_ARTIFACT_STORE: the bucket ${config.bucket} can't be used: ${trouble.message}`,
      { exitCode: exitCodes.configuration },
    );
  }
  if (trouble !== null) {
    log.error(
      { bucket: config.bucket, error: trouble.message },
      'the artifact store does not answer: agents keep their files',
    );
  }
  return {
    files: createBucketFiles({ client, config, folder: 'artifacts/', log }),
    bundles: createBucketFiles({ client, config, folder: 'bundles/', log }),
    close: async () => client.destroy(),
  };
}
