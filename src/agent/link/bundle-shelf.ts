import { createHash, randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import {
  copyFile,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  utimes,
  type FileHandle,
} from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../../errors.ts';
import type { Suite } from '../../protocol/suite.ts';
import { hourMs } from '../../durations.ts';
import { codeOf } from '../../system-errors.ts';

/**
 * Code bundles on disk, each named by its digest. The digest is verified before a bundle gets that name and before
 * each use. Several agents may share the folder; a bundle that one removes is downloaded again.
 */
export type BundleShelf = {
  has: (bundle: Bundle) => Promise<boolean>;
  /** Copies a bundle to `path`; false = it is missing, or was damaged and has been removed. */
  copy: (bundle: Bundle, path: string) => Promise<boolean>;
  /** A file for the bytes of a bundle. Rejects with AgentError DISK_FULL if there is no room for them. */
  openDraft: (bundle: Bundle) => Promise<Draft>;
};

export type Draft = {
  file: FileHandle;
  /** Rejects with AgentError BUNDLE_UNAVAILABLE if the bytes do not match the bundle's digest. */
  keep: () => Promise<void>;
  discard: () => Promise<void>;
};

type Bundle = Pick<Suite['bundle'], 'digest' | 'size'>;

const maxBytes = 1024 ** 3;
/** Longer than any download takes, so the writer of an older draft is dead. */
const maxDraftAgeMs = hourMs;
/** Free disk space that bundles leave to everything else. */
const reserveBytes = 64 * 1024 * 1024;
const draftName = /^\.draft-[0-9a-f-]+$/;
const bundleName = /^[0-9a-f]{64}\.tgz$/;

/** `capBytes`: maximum size of the folder; the least recently used bundles are removed first. */
export function createBundleShelf(options: {
  folder: string;
  /** Milliseconds since the epoch. */
  now: () => number;
  capBytes?: number;
}): BundleShelf {
  const { folder, now } = options;
  const capBytes = options.capBytes ?? maxBytes;
  const pathOf = ({ digest }: Bundle) => join(folder, `${digest}.tgz`);

  /** The files in the folder, least recently used first. */
  const entries = async (name: RegExp) => {
    const names = (await readdir(folder)).filter((each) => name.test(each));
    const found = await Promise.all(
      names.map(async (each) => {
        const path = join(folder, each);
        const facts = await stat(path).catch(() => null);
        return facts === null ? [] : [{ path, size: facts.size, mtimeMs: facts.mtimeMs }];
      }),
    );
    return found.flat().sort((a, b) => a.mtimeMs - b.mtimeMs);
  };

  const makeRoom = async (bundle: Bundle) => {
    for (const { path, mtimeMs } of await entries(draftName))
      if (now() - mtimeMs > maxDraftAgeMs) await rm(path, { force: true });
    const kept = await entries(bundleName);
    let bytes = kept.reduce((sum, { size }) => sum + size, bundle.size);
    for (const { path, size } of kept) {
      if (bytes <= capBytes) break;
      await rm(path, { force: true });
      bytes -= size;
    }
    // One copy here, one where the run needs it.
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < 2 * bundle.size + reserveBytes)
      throw new AgentError('DISK_FULL', `not enough disk space for a code bundle of ${bundle.size} bytes`);
  };

  return {
    has: async (bundle) => (await stat(pathOf(bundle)).catch(() => null))?.size === bundle.size,
    copy: async (bundle, path) => {
      const time = new Date(now());
      try {
        // Mark it as used now, so that no agent removes it to make room.
        await utimes(pathOf(bundle), time, time);
        await copyFile(pathOf(bundle), path, constants.COPYFILE_FICLONE);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return false;
        throw error;
      }
      if ((await digestOf(path)) === bundle.digest) return true;
      await rm(pathOf(bundle), { force: true });
      await rm(path, { force: true });
      return false;
    },
    openDraft: async (bundle) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await makeRoom(bundle);
      const path = join(folder, `.draft-${randomUUID()}`);
      const file = await open(path, 'wx', 0o600);
      return {
        file,
        keep: async () => {
          await file.close();
          if ((await digestOf(path)) !== bundle.digest)
            throw new AgentError(
              'BUNDLE_UNAVAILABLE',
              'the SHA-256 of the downloaded code bundle differs from the one in the job',
            );
          await rename(path, pathOf(bundle));
        },
        discard: async () => {
          await file.close().catch(() => undefined);
          await rm(path, { force: true });
        },
      };
    },
  };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 }))
    hash.update(chunk as Buffer); // no encoding: buffers
  return hash.digest('hex');
}
