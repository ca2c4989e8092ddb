import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { exitCodes, FatalError, toError } from '../errors.ts';
import { codeOf } from '../system-errors.ts';

/**
 * Content of SERVICE_DATA_DIR/keys.json (mode 0600): the keys that the first start generated, for people and for
 * `dev`.
 */
export type Keys = {
  accountId: string;
  apiKey: string;
  locationSlug: string;
  locationKey: string;
  /** Set only if it was generated. */
  encryptionKey?: string;
};

/** Path of the keys file. */
export function keysFilePath(dataDir: string): string {
  return join(dataDir, 'keys.json');
}

/** Reads the file; null if there is none. Throws FatalError if its content is not valid. */
export async function readKeysFile(dataDir: string): Promise<Keys | null> {
  const path = keysFilePath(dataDir);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw unusable(path, toError(error).message);
  }
  let keys: unknown;
  try {
    keys = JSON.parse(text);
  } catch {
    throw unusable(path, 'it is not JSON');
  }
  if (!isKeys(keys)) throw unusable(path, 'a field is missing');
  return keys;
}

/**
 * Writes the file unless it exists, and returns its content. The first of several writers wins. Throws if writing
 * fails.
 */
export async function writeKeysFile(dataDir: string, keys: Keys): Promise<Keys> {
  const path = keysFilePath(dataDir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(keys, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    // Unlike rename, link fails if the name exists. The file is therefore always complete.
    await link(temporary, path);
    return keys;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return (await readKeysFile(dataDir)) ?? keys;
  } finally {
    await unlink(temporary);
  }
}

function isKeys(value: unknown): value is Keys {
  if (typeof value !== 'object' || value === null) return false;
  const fields: Record<string, unknown> = { ...value };
  return (
    ['accountId', 'apiKey', 'locationSlug', 'locationKey'].every(
      (name) => typeof fields[name] === 'string',
    ) && ['string', 'undefined'].includes(typeof fields['encryptionKey'])
  );
}

function unusable(path: string, why: string): FatalError {
  return new FatalError('CONFIGURATION', `${path} cannot be used (${why})`, {
    exitCode: exitCodes.configuration,
    remedy: 'fix it or restore it from a backup',
  });
}
