import type { Environment } from '../../config/read.ts';
import { exitCodes } from '../../errors.ts';
import type { Job } from '../../protocol/job.ts';
import type { ResultStatus } from '../../protocol/result.ts';

import type { FetchBundle } from '../../script/interface/suite-run.ts';
import { parseArguments, usageError, type Command } from '../command.ts';
import { runLine } from '../line/run.ts';
import { resultReport } from './report.ts';
import { readRunFile } from './file.ts';
import { isFolder, readFolder, type FolderOptions } from './folder.ts';
import { runHere } from './here.ts';
import { isScriptFile, readScriptFile, variableOf } from './script-file.ts';
import { inTemporaryFolder } from '../temporary-folder.ts';

const exitCodeOf: { readonly [S in ResultStatus]: number } = {
  passed: exitCodes.done,
  degraded: exitCodes.done,
  failed: exitCodes.failed,
  errored: exitCodes.couldNotRun,
  cancelled: exitCodes.couldNotRun,
  missed: exitCodes.couldNotRun,
};

type Values = ReturnType<typeof parseArguments<typeof runLine.options>>['values'];

/** The options of each kind of check; `json` and `output` are for all. */
const only = {
  script: ['type', 'runtime', 'env'],
  folder: [
    'env',
    'project',
    'tag',
    'config',
    'include',
    'install-command',
    'test-command',
    'engine',
    'refresh-cache',
  ],
  file: ['name'],
} as const;

/**
 * `run FILE|DIR [--json] [--output DIR]`, and the options of scripts and suites (see main): runs one check with the
 * code of the daemon, but without a service. Ctrl-C cancels it.
 */
export const run: Command = async (args, { env, stdout, stderr }) => {
  const { values, positionals } = parseArguments(args, runLine);
  const [path, ...others] = positionals;
  if (path === undefined)
    throw usageError('run needs the file of a check, or the folder of a suite', runLine);
  if (others.length > 0) throw usageError('run takes one file or folder', runLine);
  const kind = isFolder(path) ? 'folder' : isScriptFile(path) ? 'script' : 'file';
  const foreign = Object.keys(values).find((name) => !['json', 'output', ...only[kind]].includes(name));
  if (foreign !== undefined) throw usageError(`--${foreign} ${notFor[kind]}`, runLine);

  const performed = async (job: Job, fetchBundle?: FetchBundle) => {
    const results = await runHere(job, {
      env,
      stderr,
      output: values.output ?? 'artifacts',
      ...(fetchBundle === undefined ? {} : { fetchBundle }),
    });
    const last = results.at(-1);
    if (last === undefined) {
      stderr('location-agent: the check finished without a result\n');
      return exitCodes.couldNotRun;
    }
    stdout(values.json ? `${JSON.stringify(last)}\n` : resultReport(job.checkName, results));
    return exitCodeOf[last.status];
  };
  if (kind !== 'folder') return performed(await jobIn(path, kind, { values, env }));
  return inTemporaryFolder(async (temporary, signal) => {
    const now = Date.now();
    const { job, fetchBundle } = await readFolder(path, folderOptions(values), { temporary, now, stderr });
    signal.throwIfAborted();
    return performed(job, fetchBundle);
  });
};

const notFor = {
  script: 'is not for scripts',
  folder: 'is not for a suite folder',
  file: 'is not for a JSON file: set it in the file',
} as const;

async function jobIn(
  path: string,
  kind: 'script' | 'file',
  { values, env }: { values: Values; env: Environment },
): Promise<Job> {
  const { type, runtime, name, env: variables = [] } = values;
  return kind === 'script'
    ? readScriptFile(path, { type, runtime, variables, now: Date.now() })
    : readRunFile(path, { now: Date.now(), env, ...(name === undefined ? {} : { name }) });
}

function folderOptions(values: Values): FolderOptions {
  return {
    variables: (values.env ?? []).map(variableOf),
    projects: values.project ?? [],
    tags: values.tag ?? [],
    configPath: values.config ?? null,
    installCommand: values['install-command'] ?? null,
    testCommand: values['test-command'] ?? null,
    engine: values.engine ?? null,
    include: values.include ?? [],
    refreshCache: values['refresh-cache'] ?? false,
  };
}
