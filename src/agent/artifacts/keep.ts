import { promises as fs } from 'node:fs';
import { relative } from 'node:path';
import { JobAborted, toError } from '../../errors.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { Artifact } from '../../protocol/result.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import type { AttemptFile, KeepArtifacts } from './attempt-files.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { codeOf } from '../../system-errors.ts';
import type { StoredArtifact } from './store.ts';

/** Where scrubbed files go: the agent's store, or a folder of `run`. */
export type ArtifactPlace = {
  place: (bytes: number, name: string) => Promise<string>;
  /** Takes the scrubbed file; what its result says of it from now on. */
  keep: (
    path: string,
    file: Omit<StoredArtifact, 'id' | 'path' | 'createdAt'>,
  ) => Promise<Pick<Artifact, 'state' | 'url'>>;
};

/** Takes the files of attempts: looked at, scrubbed, measured, and handed to `place`, one after the other. */
export function createArtifactKeeper(options: {
  place: ArtifactPlace;
  metrics: Pick<AgentMetrics, 'artifactsRefused' | 'artifactsLost' | 'scrubbedArtifactBytes'>;
  /** Bytes that one artifact may have. */
  limitBytes?: () => number;
}): KeepArtifacts {
  const { place, metrics } = options;
  return async ({ job, attempt, workDir }, files, { secrets, signal, note }) => {
    const artifacts: Artifact[] = [];
    let tooLate = 0;
    for (const file of files) {
      const limit = Math.min(options.limitBytes?.() ?? Infinity, protocolLimits.artifactBytes);
      const { name, type, contentType } = file;
      try {
        if (isOutOfTime(signal)) throw signal.reason;
        const kept = await scrubbedFile(file, { workDir, place, secrets, limit, signal });
        metrics.scrubbedArtifactBytes += kept.bytesIn;
        if (kept.note !== undefined) note('warn', `${name}: ${kept.note}`);
        const { jobId, leaseToken } = job;
        const { path, size, sha256 } = kept;
        const about = { jobId, leaseToken, attempt, name, type, contentType, size, sha256 };
        artifacts.push({ name, type, size, ...(await place.keep(path, about)) });
      } catch (error) {
        if (!isOutOfTime(signal)) signal.throwIfAborted();
        const refused = error instanceof Refused;
        if (refused) metrics.artifactsRefused += 1;
        else metrics.artifactsLost += 1;
        if (isOutOfTime(signal)) tooLate += 1;
        else note('warn', `${name} is not sent: ${toError(error).message}`);
        const size = refused ? error.size : 0;
        artifacts.push({ name, type, size, state: refused ? 'refused' : 'lost', url: null });
      }
    }
    if (tooLate > 0) note('warn', `${tooLate} files are not sent: the time for files was over`);
    return artifacts;
  };
}

/** The files that were taken by then are kept; any other end of the attempt is one of its files, too. */
function isOutOfTime({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof JobAborted && reason.code === 'deadline';
}

/** A file that this agent does not send, whatever the disk or the service say. */
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
    new Refused(bytes, `it has ${bytes} bytes, more than the ${limit} that an artifact may have`);
  if (size > limit) throw tooLarge(size);
  // Loaded with the first file: most agents have none.
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
    // Masks may be longer than what they stand for.
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
 * The size of a file that is truly the attempt's own. Customer code made it: a link in its place would have the agent
 * send whatever it may read itself.
 */
export async function ownFileSize(path: string, workDir: string): Promise<number> {
  const found = await fs.lstat(path).catch(() => null);
  if (found === null) throw new Error('there is no such file');
  const within = relative(await fs.realpath(workDir), await fs.realpath(path));
  const isOwn = found.isFile() && found.nlink === 1 && within !== '' && !/^\.\.(\/|$)/.test(within);
  if (!isOwn) throw new Refused(0, 'it is no plain file of the attempt’s own folder');
  return found.size;
}
