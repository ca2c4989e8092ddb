import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Artifact, ArtifactType } from '../../protocol/result.ts';
import { withTimeLimit } from '../../time-limit.ts';
import type { ArtifactFiles } from '../artifacts/files.ts';
import { announceArtifact, settleArtifact } from '../artifacts/statements.ts';
import type { Db } from '../db/database.ts';
import { uuidv7 } from '../engine/ids.ts';

/** Stores the files of the service's own runs, in the same way as agents' files. */

export type RunFile = { name: string; type: ArtifactType; contentType: string; bytes: Buffer };

/** Identifies one performance of a run; its result refers to its files by both ids. */
export type FilesOf = { accountId: string; jobId: string; leaseToken: string };

type Deps = { db: Db; files: ArtifactFiles; now: () => number; log: Log; signal: AbortSignal };

const storeMs = 30_000;

/**
 * Returns the artifact list for the result.
 * A file that cannot be stored (disk full, bucket unreachable, or `signal` fires because the service is stopping) is
 * dropped; the run is not affected.
 */
export async function storeRunFiles(
  deps: Deps,
  of: FilesOf,
  runFiles: readonly RunFile[],
): Promise<Artifact[]> {
  const stored: Artifact[] = [];
  for (const file of runFiles) {
    const { name, type, bytes } = file;
    const state = await storeOne(deps, of, file);
    stored.push({ name, type, size: bytes.length, state, url: null });
  }
  return stored;
}

async function storeOne(
  { db, files, now, log, signal }: Deps,
  of: FilesOf,
  { name, type, contentType, bytes }: RunFile,
): Promise<'stored' | 'lost'> {
  const id = uuidv7(now());
  const sha256 = createHash('sha256').update(bytes).digest();
  const row = { ...of, id, attempt: 1, name, type, contentType, size: bytes.length, sha256 };
  await announceArtifact(db, { ...row, state: 'pending', now: new Date(now()) });
  let state: 'stored' | 'lost' = 'stored';
  try {
    await files.write(id, {
      at: 0,
      size: bytes.length,
      body: Readable.from([bytes]),
      signal: withTimeLimit(signal, storeMs),
    });
    await files.finish(id);
  } catch (error) {
    log.warn({ artifact: name, error: toError(error).message }, 'file of an agentic run was not stored');
    await files.remove(id).catch(() => undefined);
    state = 'lost';
  }
  await settleArtifact(db, { id, state, now: new Date(now()) });
  return state;
}
