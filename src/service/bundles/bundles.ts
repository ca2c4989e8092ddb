import type { Readable } from 'node:stream';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { bundleLimits } from '../../protocol/suite.ts';
import { DiskFull, type ArtifactFiles } from '../artifacts/files.ts';
import { TooLong, WrongBeginning } from '../artifacts/upload-body.ts';
import {
  countBundles,
  deleteBundle,
  deleteUnusedBundles,
  knownBundleFiles,
  lockBundle,
  noteUsedBundles,
  renameBundleFile,
  saveBundle,
  usersOfBundle,
  type BundleRow,
} from './statements.ts';
import type { Db } from '../db/database.ts';
import { badRequest, conflict, HttpError, notFound } from '../http/errors.ts';
import { uuidPattern, uuidv7 } from '../engine/ids.ts';
import { BodyTooSlow } from '../http/slow-body.ts';
import { hourMs, dayMs } from '../../durations.ts';
import { codeOf } from '../../system-errors.ts';

/** Code bundles of suites: a row and a file each. The same content is stored once per account. */

export type BundleDeps = { db: Db; bundles: ArtifactFiles; now: () => number };

/** Bundles per account. */
export const bundlesOfAccount = 1000;
/** An unused bundle is deleted after this time. */
export const unusedBundleMs = 7 * dayMs;
/** How often the use of a bundle is recorded. */
const notedMs = 6 * hourMs;
/** A file older than this cannot belong to an upload in progress. */
const strayMs = hourMs;
const deletedAtOnce = 100;
const strayBatch = 500;
/** First bytes of gzip with deflate (RFC 1952, 2.3.1). */
const gzipBeginning = Buffer.from([0x1f, 0x8b, 0x08]);
/** Bytes of the shortest gzip file: header, one empty block and trailer. */
const smallestGzip = 20;

/**
 * Stores a bundle of `size` bytes. Throws HttpError 400, 408, 409, 413 or 507; then nothing of it is kept. The key is
 * the digest, so the same content always gets the same key.
 */
export async function storeBundle(
  { db, bundles, now }: BundleDeps,
  upload: {
    accountId: string;
    size: number;
    body: Readable;
    signal: AbortSignal;
    log: Pick<Log, 'error'>;
  },
): Promise<BundleRow> {
  const { accountId, size } = upload;
  checkSize(size);
  if ((await countBundles(db, accountId)) >= bundlesOfAccount) {
    throw conflict(
      `The account has ${bundlesOfAccount} code bundles, as many as it may: delete some that no check uses.`,
    );
  }
  const time = now();
  const id = uuidv7(time);
  let isKept = false;
  try {
    const { body, signal } = upload;
    const { sha256, length } = await bundles
      .write(id, { at: 0, size, body, signal, beginning: gzipBeginning })
      .catch((error: unknown) => {
        throw refusalOf(error, upload);
      });
    if (length < size || sha256 === null) throw brokenOff();
    const digest = sha256.toString('hex');
    // Before the row is written: whoever reads the row finds the file.
    await bundles.finish(id);
    const row = await db.tx(async (tx) => {
      const saved = await saveBundle(tx, { id, accountId, key: digest, digest, size, now: new Date(time) });
      if (saved.id !== id) {
        if (await bundles.exists(saved.id)) return saved;
        await renameBundleFile(tx, { from: saved.id, to: id });
      }
      return { ...saved, id };
    });
    isKept = row.id === id;
    return row;
  } finally {
    if (!isKept) await bundles.remove(id);
  }
}

function checkSize(size: number): void {
  if (size > bundleLimits.archiveBytes) {
    const max = bundleLimits.archiveBytes;
    throw new HttpError(
      413,
      `The code bundle has ${size} bytes, more than ${max}: omit files that the tests do not need.`,
      { 'content-length': [`must not be above ${max}`] },
    );
  }
  if (size < smallestGzip) throw notGzip();
}

const notGzip = () => badRequest({ body: ['must be a tar archive compressed with gzip (.tar.gz)'] });
const brokenOff = () => new HttpError(400, 'The body broke off.', { body: ['is not complete'] });

function refusalOf(
  error: unknown,
  { size, signal, log }: { size: number; signal: AbortSignal; log: Pick<Log, 'error'> },
): Error {
  if (error instanceof WrongBeginning) return notGzip();
  if (signal.aborted && signal.reason instanceof BodyTooSlow) {
    return new HttpError(408, 'The code bundle took too long to arrive.', { body: ['came too slowly'] });
  }
  if (error instanceof DiskFull) {
    log.error({ size }, 'the disk for code bundles is full');
    return new HttpError(507, 'The service has no room for the code bundle: try again later.', {});
  }
  const code = codeOf(error);
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || error instanceof TooLong) {
    return brokenOff();
  }
  return toError(error);
}

/** Deletes an unused bundle. Throws HttpError 404 or 409. */
export async function removeBundle(
  { db, bundles }: BundleDeps,
  { accountId, key }: { accountId: string; key: string },
): Promise<void> {
  const id = await db.tx(async (tx) => {
    const row = await lockBundle(tx, { accountId, key });
    if (row === undefined) throw notFound('code bundle', key, 'key');
    const users = await usersOfBundle(tx, { accountId, key, limit: 5 });
    if (users.length > 0) {
      throw conflict(`The code bundle is used by ${users.map((name) => `"${name}"`).join(', ')}.`, {
        key: ['is used by checks'],
      });
    }
    await deleteBundle(tx, { accountId, key });
    return row.id;
  });
  await bundles.remove(id);
}

/** Deletes bundles that have been unused for long. Returns whether there may be more. */
export async function deleteOldBundles({ db, bundles, now }: BundleDeps): Promise<boolean> {
  const time = now();
  await noteUsedBundles(db, { before: new Date(time - notedMs), now: new Date(time) });
  const before = new Date(time - unusedBundleMs);
  const ids = await deleteUnusedBundles(db, { before, limit: deletedAtOnce });
  // If the service dies here, the remaining files have no row, and sweepBundleFiles deletes them.
  for (const id of ids) await bundles.remove(id);
  return ids.length === deletedAtOnce;
}

/**
 * Deletes files without a row, left by uploads that were interrupted. `isOnlyUser`: no other process uses the folder,
 * and this one has not started to. Otherwise only files too old for an upload in progress are deleted.
 */
export async function sweepBundleFiles(
  { db, bundles, now }: BundleDeps,
  { isOnlyUser }: { isOnlyUser: boolean },
): Promise<void> {
  const before = isOnlyUser ? Infinity : now() - strayMs;
  let some: string[] = [];
  const removeStray = async () => {
    const known = await knownBundleFiles(db, some);
    for (const id of some) if (!known.has(id)) await bundles.remove(id);
    some = [];
  };
  for await (const { id, modifiedAt } of bundles.list()) {
    if (modifiedAt >= before || !uuidPattern.test(id)) continue;
    some.push(id);
    if (some.length >= strayBatch) await removeStray();
  }
  await removeStray();
}
