import { lstat, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../../errors.ts';
import type { ScriptFile } from '../../protocol/script.ts';
import { version } from '../../version.ts';
import type { Browsers } from './browsers.ts';
import { isPlainScript, plainScriptFile, plainScriptTest } from './plain-script.ts';
import { configText } from './config.ts';
import { removeFolder, type WarmProcess } from './process.ts';
import { readPlaywrightReport } from './report.ts';
import { makeRemovable } from '../process/remove-tree.ts';
import type { Runtime } from '../process/runtimes.ts';
import type { PlaywrightOptions } from '../interface/scripts.ts';

/** The folder of a run: files written before the run, and files read after it. */
export type HostFileOptions = Pick<PlaywrightOptions, 'checkType' | 'script' | 'keepAll' | 'timeoutMs'> & {
  runtime: Runtime;
  browsers: Browsers;
};

/** Paths of the agent's own files in the folder of a run, outside the user's files. */
export type HostFiles = { config: string; capture: string; reporter: string; report: string };

/** Writes the config file and the files that it needs. Rejects with errors of the file system. */
export async function writeHostFiles(
  warm: WarmProcess,
  options: HostFileOptions,
  scriptPath: string,
): Promise<HostFiles> {
  const { folder } = warm;
  const paths = {
    config: join(folder.root, 'playwright.config.cjs'),
    reporterModule: join(folder.root, 'reporter.cjs'),
    capture: join(folder.root, 'capture'),
    reporter: join(folder.root, 'run.json'),
    report: join(folder.root, 'report.json'),
  };
  const text = configText(
    {
      checkType: options.checkType,
      script: options.script,
      scriptFolder: folder.script,
      outputFolder: folder.output,
      reporterFile: paths.reporter,
      reportFile: paths.report,
      reporterModule: paths.reporterModule,
      keepAll: options.keepAll,
      video: options.browsers.ffmpeg !== null,
      timeoutMs: options.timeoutMs,
      agentVersion: version,
    },
    scriptPath,
  );
  await mkdir(paths.capture, { mode: 0o700 });
  await writeFile(paths.config, text);
  await writeFile(
    paths.reporterModule,
    "'use strict';\nmodule.exports = globalThis[Symbol.for('location-agent.playwright')].reporter;\n",
  );
  return paths;
}

/**
 * The script first, then, if it has no tests of its own, the test that runs it. `testPath`: where Playwright finds
 * tests.
 */
export function filesOfScript(
  { script, timeoutMs }: Pick<PlaywrightOptions, 'script' | 'timeoutMs'>,
  path: string,
): { files: [ScriptFile, ...ScriptFile[]]; testPath: string } {
  if (!isPlainScript(script.content)) return { files: [{ path, content: script.content }], testPath: path };
  const file = plainScriptFile(path, script.content);
  const test = plainScriptTest(file.path, timeoutMs);
  return { files: [file, test], testPath: test.path };
}

/** Moves the run's files to the workDir and reads them. Null = the run was cut off before its report was complete. */
export async function keptReport(
  warm: WarmProcess,
  options: HostFileOptions & Pick<PlaywrightOptions, 'workDir'>,
  { paths, startTime }: { paths: HostFiles; startTime: number },
): Promise<Awaited<ReturnType<typeof readPlaywrightReport>>> {
  const { folder } = warm;
  const kept = join(options.workDir, 'playwright');
  await rename(folder.root, kept).catch((error: unknown) => {
    throw new AgentError('INTERNAL', `the files of the run cannot be kept: ${String(error)}`, {
      cause: error,
    });
  });
  await removeFolder(folder);
  // Without Landlock, a script may have replaced its folder with a link.
  if (!(await lstat(kept)).isDirectory()) return null;
  await makeRemovable(kept).catch(() => undefined);
  const moved = (path: string) => join(kept, path.slice(folder.root.length));
  return readPlaywrightReport({
    checkType: options.checkType,
    runtimeVersion: options.runtime.name,
    playwrightVersion: options.runtime.playwrightVersion,
    folder: kept,
    originalFolder: folder.root,
    scriptFolder: moved(folder.script),
    outputFolder: moved(folder.output),
    captureFolder: moved(paths.capture),
    reporterFile: moved(paths.reporter),
    jsonReport: moved(paths.report),
    startTime,
  });
}
