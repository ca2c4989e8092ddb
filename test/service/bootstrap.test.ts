import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bootstrap } from '../../src/service/bootstrap.ts';

import type { Db } from '../../src/service/db/database.ts';
import { Secret } from '../../src/secrets/secret.ts';
import { databases, emptyTables } from '../helpers/service/database.ts';
import { hashToken } from '../../src/service/engine/keys.ts';

const now = () => Date.parse('2026-03-04T05:06:07Z');
const nothing = {
  accountId: null,
  apiKey: null,
  locationSlug: null,
  locationKey: null,
  encryptionKey: null,
  databaseUrl: null,
};

describe.each(databases)('bootstrap: $name', (database) => {
  describe.skipIf(database.unavailable !== null)(database.unavailable ?? 'available', () => {
    let dataDir: string;
    let replicas: Db[];
    let db: Db;
    /** As it is before the first start. */
    const empty = () => emptyTables(db, 'accounts, settings');
    beforeAll(async () => {
      replicas = await database.openReplicas(3);
      db = replicas[0] as Db;
    });
    beforeEach(async () => {
      await empty();
      dataDir = await mkdtemp(join(tmpdir(), 'location-agent-bootstrap-'));
    });
    afterEach(() => rm(dataDir, { recursive: true }));
    afterAll(() => database.close());

    const rows = (db: Db) =>
      db.query(
        `select a.id as account, k.key_hash as "apiKey", l.kind, l.slug_name as slug, lk.key_hash as "locationKey"
         from accounts a left join api_keys k on k.account_id = a.id left join locations l on l.account_id = a.id
         left join location_keys lk on lk.location_id = l.id`,
      );

    it('generates what the configuration does not set, and finds it again', async () => {
      const config = { ...nothing, dataDir };
      const first = await bootstrap({ db, config, now });
      expect(first.keysFile).toBe(join(dataDir, 'keys.json'));
      expect(JSON.parse(await readFile(join(dataDir, 'keys.json'), 'utf8'))).toEqual(first.keys);
      expect((await stat(join(dataDir, 'keys.json'))).mode & 0o777).toBe(0o600);
      expect(first.keys).toEqual({
        accountId: first.accountId,
        apiKey: expect.stringMatching(/^sk_[0-9a-f]{48}$/),
        locationSlug: 'local',
        locationKey: expect.stringMatching(/^pl_[0-9a-f]{32}$/),
        encryptionKey: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
      });
      expect(await rows(db)).toEqual([
        {
          account: first.accountId,
          apiKey: hashToken(first.keys?.apiKey ?? ''),
          kind: 'private',
          slug: 'local',
          locationKey: hashToken(first.keys?.locationKey ?? ''),
        },
      ]);
      const second = await bootstrap({ db, config, now });
      expect(second).toMatchObject({
        accountId: first.accountId,
        keysFile: first.keysFile,
        keys: first.keys,
      });
      expect(second.encryption.open(first.encryption.seal('kept'))).toBe('kept');
      expect((await rows(db)).length).toBe(1);
    });

    it('uses the configured values, and does not write a configured encryption key to the file', async () => {
      const config = {
        dataDir,
        databaseUrl: null,
        accountId: '0198c0de-0000-7000-8000-00000000000a',
        apiKey: new Secret('my-api-key-of-choice'),
        locationSlug: 'office',
        locationKey: new Secret('pl_my-location-key'),
        encryptionKey: new Secret('a passphrase of mine'),
      };
      const { keys } = await bootstrap({ db, config, now });
      expect(keys).toEqual({
        accountId: '0198c0de-0000-7000-8000-00000000000a',
        apiKey: 'my-api-key-of-choice',
        locationSlug: 'office',
        locationKey: 'pl_my-location-key',
      });
      const wrong = { ...config, encryptionKey: new Secret('another passphrase') };
      await expect(bootstrap({ db, config: wrong, now })).rejects.toMatchObject({
        code: 'CONFIGURATION',
        exitCode: 78,
        message:
          'the encryption key from SERVICE_ENCRYPTION_KEY is not the one that the secrets in the database were encrypted with',
      });
    });

    it('is done once by replicas that start together, each in its own folder', async () => {
      const folders = await Promise.all(
        replicas.map(() => mkdtemp(join(tmpdir(), 'location-agent-bootstrap-'))),
      );
      const encryptionKey = new Secret('a passphrase of mine');
      const made = await Promise.all(
        replicas.map((db, n) =>
          bootstrap({ db, config: { ...nothing, encryptionKey, dataDir: folders[n] ?? '' }, now }),
        ),
      );
      expect(new Set(made.map(({ accountId }) => accountId)).size).toBe(1);
      // One has generated the keys and written them; the others have none to show.
      expect(made.filter(({ keys }) => keys !== null).length).toBe(1);
      expect((await rows(db)).length).toBe(1);
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    });

    it('uses keys that a start wrote but, being killed, never stored', async () => {
      const config = { ...nothing, dataDir };
      const first = await bootstrap({ db, config, now });
      const stored = await rows(db);
      await empty();
      const second = await bootstrap({ db, config, now });
      expect(second.keys).toEqual(first.keys);
      expect(await rows(db)).toEqual(stored);
    });

    it('reports that the encryption key was lost with its file', async () => {
      await bootstrap({ db, config: { ...nothing, dataDir }, now });
      await rm(join(dataDir, 'keys.json'));
      await expect(bootstrap({ db, config: { ...nothing, dataDir }, now })).rejects.toMatchObject({
        code: 'CONFIGURATION',
        message: `the encryption key was in ${join(dataDir, 'keys.json')}, which is missing: restore the file or set SERVICE_ENCRYPTION_KEY`,
      });
    });
  });
});
