import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { toError } from '../../errors.ts';
import { ownFileSize } from '../../agent/artifacts/keep.ts';
import type { KeepArtifacts } from '../../agent/artifacts/attempt-files.ts';
import type { Artifact } from '../../protocol/result.ts';
import { scrubArtifact } from '../../secrets/files/scrub-artifact.ts';

/**
 * Copies the files of a run to `folder`, scrubbed like files that an agent sends. Names of later attempts begin with
 * the attempt's number.
 */
export function keepInFolder(folder: string): KeepArtifacts {
  return async ({ attempt, workDir }, files, { secrets, signal, note }) => {
    const artifacts: Artifact[] = [];
    await mkdir(folder, { recursive: true });
    for (const { path, name, type, contentType } of files) {
      const own = attempt === 1 ? name : `${attempt}-${name}`;
      const target = join(folder, own);
      try {
        await ownFileSize(path, workDir);
        const scrubbed = await scrubArtifact(path, target, { name, type, contentType, secrets, signal });
        if (scrubbed.note !== undefined) note('warn', `${name}: ${scrubbed.note}`);
        const { bytesOut } = scrubbed;
        artifacts.push({ name: own, type, size: bytesOut, state: 'stored', url: relative('.', target) });
      } catch (error: unknown) {
        signal.throwIfAborted();
        note('warn', `${name} was not saved: ${toError(error).message}`);
        artifacts.push({ name: own, type, size: 0, state: 'refused', url: null });
      }
    }
    return artifacts;
  };
}
