import { statSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { attemptLimitMs, type EnvironmentVariable, type JobOf } from '../../protocol/job.ts';
import { engineVersions, suiteEngines } from '../../protocol/suite-engines.ts';
import { suiteMinutes, type Suite } from '../../protocol/suite.ts';
import { packBundle } from '../../script/suite/bundle/pack.ts';
import type { FetchBundle } from '../../script/interface/suite-run.ts';
import { packedLines } from '../bundle.ts';
import { usageError } from '../command.ts';
import { localJob } from './local-job.ts';

/**
 * A folder as a Playwright suite: packed as for the service, then run from the archive, so that both runs use the same
 * files.
 */

export type FolderOptions = {
  variables: readonly EnvironmentVariable[];
  projects: readonly string[];
  tags: readonly string[];
  /** Relative to the folder. */
  configPath: string | null;
  installCommand: string | null;
  testCommand: string | null;
  /** `node`, `node@24`, `bun`. */
  engine: string | null;
  include: readonly string[];
  refreshCache: boolean;
};

export type FolderRun = { job: JobOf<'PLAYWRIGHT'>; fetchBundle: FetchBundle };

/** True if `run` treats `path` as a suite. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * The suite in `folder` as a job, with its bundle in `temporary`. Throws FatalError: 64 = an option is invalid, 2 = the
 * folder cannot be packed.
 */
export async function readFolder(
  folder: string,
  options: FolderOptions,
  { temporary, now, stderr }: { temporary: string; now: number; stderr: (text: string) => void },
): Promise<FolderRun> {
  const engine = engineOf(options.engine);
  const archive = join(temporary, 'bundle.tgz');
  const packed = await packBundle({
    folder,
    to: archive,
    include: options.include,
    needsLockFile: options.installCommand === null,
  });
  stderr(packedLines(packed));
  const suite: Suite = {
    bundle: { key: 'local', digest: packed.digest, size: packed.size },
    workingDir: packed.workingDir,
    installCommand: options.installCommand,
    testCommand: options.testCommand,
    configPath: options.configPath,
    projects: [...options.projects],
    tags: [...options.tags],
    engine,
    browsers: [],
    maxMinutes: suiteMinutes.default,
    refreshCache: options.refreshCache,
  };
  const job: JobOf<'PLAYWRIGHT'> = {
    ...localJob('PLAYWRIGHT', {
      name: basename(resolve(folder)),
      variables: options.variables,
      now,
      limitMs: attemptLimitMs({ checkType: 'PLAYWRIGHT', suite }),
    }),
    suite,
  };
  return { job, fetchBundle: (_bundle, { path }) => copyFile(archive, path) };
}

function engineOf(text: string | null): Suite['engine'] {
  if (text === null) return null;
  const [given = '', version] = text.toLowerCase().split('@');
  const name = suiteEngines.find((known) => known === given);
  if (name === undefined)
    throw usageError(`--engine must be one of ${suiteEngines.join(', ')}, such as node@24`);
  const known = engineVersions[name];
  if (version !== undefined && !known.includes(version))
    throw usageError(`--engine ${name} must have version ${known.join(', ')}`);
  return { name, version: version ?? known[0] ?? '' };
}
