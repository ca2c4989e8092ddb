import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import S3rver from 's3rver';
import { readStorage } from '../../../src/config/storage.ts';
import { openArtifactStore, type ArtifactStore } from '../../../src/service/artifacts/store.ts';
import { silent } from '../../helpers/service/agent-service.ts';

/** A store of files with results, as the service opens it. */
export type TestStore = {
  name: string;
  open: () => Promise<OpenStore>;
};
export type OpenStore = {
  store: ArtifactStore;
  /** What a service needs to use the same store. */
  environment: Record<string, string>;
  close: () => Promise<void>;
};

/** A store in this folder. */
export async function folderOf(dataDir: string): Promise<OpenStore> {
  const store = await openArtifactStore({ config: { bucket: null, dataDir }, log: silent });
  return {
    store,
    environment: { SERVICE_DATA_DIR: dataDir },
    close: () => rm(dataDir, { recursive: true, force: true }),
  };
}

const folderStore: TestStore = {
  name: 'folder',
  open: async () => folderOf(await mkdtemp(join(tmpdir(), 'result-files-'))),
};

/** A bucket of a real S3 server. */
const bucketStore: TestStore = {
  name: 'bucket',
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'result-files-'));
    const configureBuckets = [{ name: 'monitoring', configs: [] }];
    const server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets });
    const { port } = (await server.run()) as AddressInfo; // it listens on TCP
    const environment = {
      SERVICE_ARTIFACT_STORE: 's3://monitoring/staging',
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_ACCESS_KEY_ID: 'S3RVER',
      S3_SECRET_ACCESS_KEY: 'S3RVER',
    };
    const config = { bucket: readStorage(environment), dataDir: directory };
    const store = await openArtifactStore({ config, log: silent });
    return {
      store,
      environment,
      close: async () => {
        await store.close();
        await server.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
};

export const stores = [folderStore, bucketStore] as const;
