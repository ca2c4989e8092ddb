import { maskKey, newLocationKey, hashToken } from './engine/keys.ts';
import { randomBytes } from 'node:crypto';
import type { ServiceConfig } from '../config/service.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Db, Queryable } from './db/database.ts';
import { createEncryption, EncryptionError, type Encryption } from './engine/encryption.ts';
import { uuidv7 } from './engine/ids.ts';
import { keysFilePath, readKeysFile, writeKeysFile, type Keys } from './keys-file.ts';

/**
 * The account, API key, private location and location key that the first start creates. Later starts find them again.
 */

export type Bootstrapped = {
  accountId: string;
  /** Path of the file with the keys. Null on a machine without that file, because another replica created the keys. */
  keysFile: string | null;
  /** Content of keysFile; null if there is no such file. */
  keys: Keys | null;
  encryption: Encryption;
};

type Options = {
  db: Db;
  config: Pick<
    ServiceConfig,
    'accountId' | 'apiKey' | 'locationSlug' | 'locationKey' | 'encryptionKey' | 'dataDir' | 'databaseUrl'
  >;
  now: () => number;
  log?: Log | undefined;
};

/** Arbitrary, but the same in every replica and different from the migrations' lock. */
const advisoryLock = 4_400_002;
export const defaultLocationSlug = 'local';
const encryptionCheck = 'encryption-check';

/**
 * Creates or finds the account. Replicas may start together: one creates it, the others find it. Throws FatalError
 * CONFIGURATION if the encryption key is missing or differs from the one that created the database.
 */
export async function bootstrap({ db, config, now, log }: Options): Promise<Bootstrapped> {
  const written = await readKeysFile(config.dataDir);
  const made = await db.tx(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
    const [account] = await tx.query<{ id: string }>(
      'select id from accounts order by created_at, id limit 1',
    );
    if (account !== undefined) return { accountId: account.id, keys: written, first: false };
    // Written before the commit, so that generated keys never exist as hashes only.
    const keys = await keep(config, written ?? chooseKeys(config, now()), log);
    await create(tx, keys, now());
    return { accountId: keys.accountId, keys, first: true };
  });
  const encryption = await openEncryption(db, config, made.keys);
  const keys = made.keys?.accountId === made.accountId ? made.keys : null;
  if (!made.first) await warnOfIgnoredKeys({ db, config, log });
  return { ...made, keys, keysFile: keys === null ? null : keysFilePath(config.dataDir), encryption };
}

function chooseKeys(config: Options['config'], now: number): Keys {
  return {
    accountId: config.accountId ?? uuidv7(now),
    apiKey: config.apiKey?.reveal() ?? `sk_${randomBytes(24).toString('hex')}`,
    locationSlug: config.locationSlug ?? defaultLocationSlug,
    locationKey: config.locationKey?.reveal() ?? newLocationKey(),
    ...(config.encryptionKey === null ? { encryptionKey: randomBytes(32).toString('base64') } : {}),
  };
}

/** Returns the keys as the file now holds them. An unwritable folder is an error only if a key was generated. */
async function keep(config: Options['config'], keys: Keys, log: Log | undefined): Promise<Keys> {
  try {
    return await writeKeysFile(config.dataDir, keys);
  } catch (error) {
    const { apiKey, locationKey, encryptionKey } = config;
    if (error instanceof FatalError) throw error;
    if (apiKey === null || locationKey === null || encryptionKey === null) {
      throw new FatalError(
        'CONFIGURATION',
        `cannot write ${keysFilePath(config.dataDir)} (${toError(error).message})`,
        {
          exitCode: exitCodes.configuration,
          remedy:
            'set another SERVICE_DATA_DIR, or set all of SERVICE_API_KEY, SERVICE_LOCATION_KEY and SERVICE_ENCRYPTION_KEY',
          cause: error,
        },
      );
    }
    log?.warn(
      { error: toError(error).message },
      'keys.json could not be written; all keys come from the configuration',
    );
    return keys;
  }
}

async function create(tx: Queryable, keys: Keys, now: number): Promise<void> {
  const at = new Date(now);
  await tx.query('insert into accounts (id, name, created_at) values ($1, $2, $3)', [
    keys.accountId,
    'Default',
    at,
  ]);
  await tx.query(
    `insert into api_keys (id, account_id, name, key_hash, masked_key, created_at) values ($1, $2, $3, $4, $5, $6)`,
    [uuidv7(now), keys.accountId, 'Default', hashToken(keys.apiKey), maskKey(keys.apiKey), at],
  );
  const locationId = uuidv7(now);
  await tx.query(
    `insert into locations (id, account_id, kind, name, slug_name, created_at) values ($1, $2, 'private', $3, $3, $4)`,
    [locationId, keys.accountId, keys.locationSlug, at],
  );
  await tx.query(
    `insert into location_keys (id, location_id, key_hash, masked_key, created_at) values ($1, $2, $3, $4, $5)`,
    [uuidv7(now), locationId, hashToken(keys.locationKey), maskKey(keys.locationKey), at],
  );
}

/** Creates the encryption and checks that this database uses the same key, by a text that the first start sealed. */
async function openEncryption(db: Db, config: Options['config'], keys: Keys | null): Promise<Encryption> {
  const key = config.encryptionKey?.reveal() ?? keys?.encryptionKey;
  if (key === undefined) {
    throw wrongKey(
      `the encryption key was in ${keysFilePath(config.dataDir)}, which is missing: restore the file or set SERVICE_ENCRYPTION_KEY`,
    );
  }
  const encryption = createEncryption(key);
  const [check] = await db.query<{ value: string }>(
    // The update changes no value. It makes `returning` return the row that another replica inserted first.
    `insert into settings (name, value) values ($1, $2)
     on conflict (name) do update set value = settings.value returning value`,
    [encryptionCheck, encryption.seal(encryptionCheck)],
  );
  try {
    if (check !== undefined) encryption.open(check.value);
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error;
    const from = config.encryptionKey === null ? keysFilePath(config.dataDir) : 'SERVICE_ENCRYPTION_KEY';
    throw wrongKey(
      `the encryption key from ${from} is not the one that the secrets in the database were encrypted with`,
    );
  }
  return encryption;
}

function wrongKey(message: string): FatalError {
  return new FatalError('CONFIGURATION', message, { exitCode: exitCodes.configuration });
}

/**
 * Warns about a key variable that was set after the first start and has no effect, because agents would otherwise get
 * an unexplained 401.
 */
async function warnOfIgnoredKeys({ db, config, log }: Pick<Options, 'db' | 'config' | 'log'>): Promise<void> {
  if (log === undefined) return;
  for (const [variable, key, table] of [
    ['SERVICE_API_KEY', config.apiKey, 'api_keys'],
    ['SERVICE_LOCATION_KEY', config.locationKey, 'location_keys'],
  ] as const) {
    if (key === null) continue;
    const rows = await db.query(`select 1 from ${table} where key_hash = $1`, [hashToken(key.reveal())]);
    if (rows.length === 0)
      log.warn(
        { variable },
        'variable ignored: it is used at the first start only, and the database has other keys',
      );
  }
}
