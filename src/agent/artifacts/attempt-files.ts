import type { ArtifactSink, ExecutionContext } from '../../executors/interface/executor.ts';
import type { Job } from '../../protocol/job.ts';
import type { Artifact } from '../../protocol/result.ts';
import type { Scripts } from '../../script/interface/scripts.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import { artifactNames, plainContentType } from './names.ts';
import type { JobScrubber } from '../scrubbing/own-secrets.ts';
import type { WorkDirs } from '../folders/work-dir.ts';

/** What attempts need to keep files and to run customer code. */
export type FileParts = {
  /** Null in an agent without script code. */
  scripts: Scripts | null;
  workDirs: WorkDirs;
  keepArtifacts: KeepArtifacts;
};

/** A file of an attempt, under the name that the service gets. */
export type AttemptFile = Parameters<ArtifactSink['add']>[0];

/**
 * Scrubs and stores the files of a finished attempt; returns the state of each, in order. `note` writes to the
 * result's log. If the signal fires with JobAborted `deadline`, the remaining files are lost. Rejects only with
 * another reason of the signal.
 */
export type KeepArtifacts = (
  attempt: { job: Pick<Job, 'jobId' | 'leaseToken'>; attempt: number; workDir: string },
  files: readonly AttemptFile[],
  options: {
    secrets: readonly NamedSecret[];
    signal: AbortSignal;
    note: (level: 'info' | 'warn', msg: string) => void;
  },
) => Promise<Artifact[]>;

/** Maximum number of files of one attempt. */
export const attemptFiles = 100;

/** The folder and the artifacts of one attempt. */
export type AttemptFiles = {
  /** The interface for the executor. */
  context: Pick<ExecutionContext, 'scripts' | 'workDir' | 'artifacts' | 'addSecret' | 'withhold'>;
  isEmpty: () => boolean;
  /** Processes the files that were handed over; returns the state of each. */
  keep: (
    attempt: { job: Pick<Job, 'jobId' | 'leaseToken'>; attempt: number },
    options: Omit<Parameters<KeepArtifacts>[2], 'secrets'>,
  ) => Promise<Artifact[]>;
  /** Removes the folder. Rejects with the file system's error. */
  remove: () => Promise<void>;
};

export function openAttemptFiles(parts: FileParts, scrubber: JobScrubber): AttemptFiles {
  let folder: Promise<string> | null = null;
  let closed = false;
  const files: AttemptFile[] = [];
  let leftOut = 0;
  return {
    context: {
      scripts: parts.scripts,
      workDir: () => (folder ??= parts.workDirs.make()),
      artifacts: {
        add: (file) => {
          if (closed) return;
          if (files.length < attemptFiles) files.push(file);
          else leftOut += 1;
        },
      },
      addSecret: scrubber.add,
      withhold: scrubber.withhold,
    },
    isEmpty: () => files.length === 0,
    keep: async (attempt, options) => {
      closed = true;
      if (leftOut > 0) {
        options.note(
          'warn',
          `${leftOut} files were skipped: an attempt may have at most ${attemptFiles} artifacts`,
        );
      }
      if (files.length === 0 || folder === null) return [];
      await scrubber.ready();
      const { withheld } = scrubber;
      if (withheld !== null) {
        options.note('warn', `the files of this run were not sent: ${withheld}`);
        return files.map(({ type }, index) => ({
          name: `withheld-${index + 1}`,
          type,
          size: 0,
          state: 'refused' as const,
          url: null,
        }));
      }
      const secrets = scrubber.secrets();
      const nameOf = artifactNames(secrets, scrubber.text);
      const named = files.map((file) => ({
        ...file,
        name: nameOf(file),
        contentType: plainContentType(file.contentType, scrubber.text),
      }));
      return parts.keepArtifacts({ ...attempt, workDir: await folder }, named, { ...options, secrets });
    },
    remove: async () => {
      closed = true;
      if (folder !== null) await parts.workDirs.remove(await folder);
    },
  };
}
