import { promises as fs } from 'node:fs';
import { relative } from 'node:path';
import { JobAborted, toError } from '../../errors.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { Artifact } from '../../protocol/result.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import type { AttemptFile, KeepArtifacts } from './attempt-files.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { codeOf } from '../../system-errors.ts';
import type { StoredArtifact } from './stored-artifact.ts';

/** Where scrubbed files are stored: the agent's store, or a folder of `run`. */
export type ArtifactPlace = {
  place: (bytes: number, name: string) => Promise<string>;
  /** Stores the scrubbed file; returns its entry for the result. */
  keep: (
    path: string,
    file: Omit<StoredArtifact, 'id' | 'path' | 'createdAt'>,
  ) => Promise<Pick<Artifact, 'state' | 'url'>>;
};

/** Processes the files of attempts one after the other: checks, scrubs and measures each, then hands it to `place`. */
export function createArtifactKeeper(options: {
  place: ArtifactPlace;
  metrics: Pick<AgentMetrics, 'artifactsRefused' | 'artifactsLost' | 'scrubbedArtifactBytes'>;
  /** Maximum size of one artifact, in bytes. */
  limitBytes?: () => number;
}): KeepArtifacts {
  const { place, metrics } = options;
  return async ({ job, attempt, workDir }, files, { secrets, signal, note }) => {
    const artifacts: Artifact[] = [];
    let skipped = 0;
    for (const file of files) {
      const limit = Math.min(options.limitBytes?.() ?? Infinity, protocolLimits.artifactBytes);
      const { name, type, contentType } = file;
      try {
        if (isDeadline(signal)) throw signal.reason;
        const kept = await scrubbedFile(file, { workDir, place, secrets, limit, signal });
        metrics.scrubbedArtifactBytes += kept.bytesIn;
        if (kept.note !== undefined) note('warn', `${name}: ${kept.note}`);
        const { jobId, leaseToken } = job;
        const { path, size, sha256 } = kept;
        const about = { jobId, leaseToken, attempt, name, type, contentType, size, sha256 };
        artifacts.push({ name, type, size, ...(await place.keep(path, about)) });
      } catch (error) {
        if (!isDeadline(signal)) signal.throwIfAborted();
        const refused = error instanceof Refused;
        if (refused) metrics.artifactsRefused += 1;
        else metrics.artifactsLost += 1;
        if (isDeadline(signal)) skipped += 1;
        else note('warn', `${name} was not sent: ${toError(error).message}`);
        const size = refused ? error.size : 0;
        artifacts.push({ name, type, size, state: refused ? 'refused' : 'lost', url: null });
      }
    }
    if (skipped > 0) note('warn', `${skipped} files were not sent: there was no time left to process them`);
    return artifacts;
  };
}

/** Only the deadline keeps the files processed so far; any other reason discards them all. */
function isDeadline({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof JobAborted && reason.code === 'deadline';
}

/** A file that this agent never sends, even if the disk and the service could take it. */
class Refused extends Error {
  readonly size: number;
  constructor(size: number, message: string) {
    super(message);
    this.size = size;
  }
}

async function scrubbedFile(
  { path: source, name, type, contentType }: AttemptFile,
  options: {
    workDir: string;
    place: ArtifactPlace;
    secrets: readonly NamedSecret[];
    limit: number;
    signal: AbortSignal;
  },
): Promise<{ path: string; size: number; bytesIn: number; sha256: string; note: string | undefined }> {
  const { limit, secrets, signal } = options;
  const size = await ownFileSize(source, options.workDir);
  const tooLarge = (bytes: number) =>
    new Refused(bytes, `it has ${bytes} bytes; an artifact may have at most ${limit}`);
  if (size > limit) throw tooLarge(size);
  // Loaded with the first file, because most agents have none.
  const { scrubArtifact } = await import('../../secrets/files/scrub-artifact.ts');
  const path = await options.place.place(size, name);
  try {
    const { note, bytesOut, sha256 } = await scrubArtifact(source, path, {
      name,
      type,
      contentType,
      secrets,
      signal,
    }).catch((error: unknown) => {
      const code = codeOf(error);
      throw code === 'UNSCRUBBABLE' ? new Refused(size, toError(error).message) : error;
    });
    // Masks may be longer than the secrets that they replace.
    if (bytesOut > limit) throw tooLarge(bytesOut);
    return {
      path,
      size: bytesOut,
      bytesIn: size,
      sha256: Buffer.from(sha256, 'hex').toString('base64'),
      note,
    };
  } catch (error) {
    await fs.rm(path, { force: true });
    throw error;
  }
}

/**
 * The size of a regular file in the attempt's own folder. Customer code created it: through a link, the agent would
 * send any file that it may read.
 */
export async function ownFileSize(path: string, workDir: string): Promise<number> {
  const found = await fs.lstat(path).catch(() => null);
  if (found === null) throw new Error('the file does not exist');
  const within = relative(await fs.realpath(workDir), await fs.realpath(path));
  const isOwn = found.isFile() && found.nlink === 1 && within !== '' && !/^\.\.(\/|$)/.test(within);
  if (!isOwn) throw new Refused(0, 'it is not a regular file in the attempt’s own folder');
  return found.size;
}
