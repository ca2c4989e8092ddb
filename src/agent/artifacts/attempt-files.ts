import type { ArtifactSink, ExecutionContext } from '../../executors/interface/executor.ts';
import type { Job } from '../../protocol/job.ts';
import type { Artifact } from '../../protocol/result.ts';
import type { Scripts } from '../../script/interface/scripts.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import { artifactNames, plainContentType } from './names.ts';
import type { JobScrubber } from '../scrubbing/own-secrets.ts';
import type { WorkDirs } from '../folders/work-dir.ts';

/** What attempts need for their files and for customer code: who runs it, where, and where the files go. */
export type FileParts = {
  /** Null in an agent that carries none of it. */
  scripts: Scripts | null;
  workDirs: WorkDirs;
  keepArtifacts: KeepArtifacts;
};

/** A file of an attempt under the name by which the service will know it. */
export type AttemptFile = Parameters<ArtifactSink['add']>[0];

/**
 * Takes the files of an attempt that has ended, scrubbed; tells what became of each, in order. `note` writes into the
 * result's log. When the signal fires with JobAborted `deadline` the files that are left are lost; rejects with any other
 * reason of the signal, and with nothing else.
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

/** Most files of one attempt. */
export const attemptFiles = 100;

/** The folder and the artifacts of one attempt. */
export type AttemptFiles = {
  /** What the executor gets. */
  context: Pick<ExecutionContext, 'scripts' | 'workDir' | 'artifacts' | 'addSecret'>;
  isEmpty: () => boolean;
  /** Takes the files that were handed over; what became of them. */
  keep: (
    attempt: { job: Pick<Job, 'jobId' | 'leaseToken'>; attempt: number },
    options: Omit<Parameters<KeepArtifacts>[2], 'secrets'>,
  ) => Promise<Artifact[]>;
  /** Removes the folder. Rejects with what the file system says. */
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
    },
    isEmpty: () => files.length === 0,
    keep: async (attempt, options) => {
      closed = true;
      if (leftOut > 0) {
        options.note('warn', `${leftOut} files are left out: an attempt may have ${attemptFiles} artifacts`);
      }
      if (files.length === 0 || folder === null) return [];
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
