import { lstat, mkdir, rename, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { AgentError, toError } from '../errors.ts';
import { reasonOf, type Reason } from '../protocol/reasons.ts';
import type { ScriptFile } from '../protocol/script.ts';
import { version } from '../version.ts';
import type { Browsers } from './browsers.ts';
import type { ChildEnd, ChildLimits } from './child-process.ts';
import { beforeItsTurn } from './child-slots.ts';
import { isPlainScript, plainScriptFile, plainScriptTest } from './plain-script.ts';
import { configText, needsModuleLoader, refusedSetting, scriptPathOf } from './playwright-config.ts';
import { hostEnvironment, removeFolder, type WarmProcess } from './playwright-process.ts';
import { readPlaywrightReport } from './playwright-report.ts';
import type { PlaywrightDetails, PlaywrightRun } from './playwright-run.ts';
import type { Runtime } from './runtimes.ts';
import { makeRemovable } from './remove-tree.ts';
import { writeScriptFiles } from './script-files.ts';
import type { PlaywrightOptions } from './scripts.ts';

export type OnceOptions = PlaywrightOptions & {
  runtime: Runtime;
  browsers: Browsers;
  extraCaFile: string | null;
  outputBytes: number;
  browserStartMs: number;
};

/** What the processes told while they ran. */
type Seen = {
  /** The config file was read: from here on it is the script that runs. */
  configured: boolean;
  /** It had not started within the time that a start may take. */
  browserLate: boolean;
  browser: 'unused' | 'starting' | 'started' | 'failed' | 'gone';
  browserMessage: string;
  /** The signal that ended it. */
  browserSignal: string | null;
  exceeded: keyof ChildLimits | null;
  timedOut: boolean;
};

/** Playwright ends its tests at the limit itself; what does not follow is killed this much later. */
const graceMs = 2000;
/** Loading takes half a second, on a machine that is out of breath many times that. */
const readyMs = 60_000;

/**
 * One run in a process that waits for it. The process and its folder are used up, whatever happens; files that are kept
 * stand in the workDir. Answers and rejects as `Scripts.runPlaywright`.
 */
export async function runOnce(warm: WarmProcess, options: OnceOptions): Promise<PlaywrightRun> {
  try {
    return await perform(warm, options);
  } finally {
    await warm.discard();
  }
}

async function perform(warm: WarmProcess, options: OnceOptions): Promise<PlaywrightRun> {
  const { script, signal } = options;
  const startTime = Date.now();
  const refused = (reason: Reason) => withoutReport(reason, options, startTime);
  const path = scriptPathOf(script);
  if ('code' in path) return refused(path);
  const setting = refusedSetting(script.playwrightConfig);
  if (setting !== null) return refused(setting);
  const { folder } = warm;
  const written = filesToWrite(options, path.path);
  const files = await writeScriptFiles(folder.script, { files: [...script.files, ...written.files] });
  if (files !== null) return refused(files);
  const paths = await writeHostFiles(warm, options, written.testPath).catch((error: unknown) => {
    const { code, message } = toError(error) as NodeJS.ErrnoException; // of node:fs
    const full = code === 'ENOSPC' || code === 'EDQUOT' || code === 'EROFS';
    throw new AgentError(full ? 'DISK_FULL' : 'INTERNAL', `the files of a script run: ${message}`, {
      cause: error,
    });
  });
  await readyOrAborted(warm, signal);

  const seen: Seen = {
    configured: false,
    browserLate: false,
    browser: 'unused',
    browserMessage: '',
    browserSignal: null,
    exceeded: null,
    timedOut: false,
  };
  const end = await watch(warm, options, seen, () =>
    warm.child.send({
      type: 'run',
      env: {
        ...options.env,
        ...hostEnvironment(folder, options),
        ...(needsModuleLoader(script, written.files[0].path) ? {} : { PW_DISABLE_TS_ESM: '1' }),
      },
      cwd: dirname(join(folder.script, path.path)),
      configFile: paths.config,
      checkType: options.checkType,
      captureFolder: paths.capture,
      outputBytes: options.outputBytes,
    }),
  );
  // From here on nothing of the run is left but its folder.
  signal.throwIfAborted();
  // The kernel ends whoever writes a file beyond the bound by this signal.
  const largeFile = seen.browserSignal === 'SIGXFSZ' || end.signal === 'SIGXFSZ' ? 'diskBytes' : null;
  const exceeded = seen.exceeded ?? end.exceeded ?? largeFile;
  if (exceeded !== null) {
    return refused(
      reasonOf('SCRIPT_KILLED', `The script was ended: it took more ${boundOf[exceeded]} than it may.`),
    );
  }
  if (seen.browserLate) throw browserFault(seen);

  const report = await keptReport(warm, options, { paths, startTime });
  for (const value of report?.secrets ?? []) options.addSecret('SERVICE_SECRET', value);
  if (seen.timedOut) {
    const message = `Your check run has reached the maximum run time of ${options.timeoutMs} ms.`;
    const timeout = refused(reasonOf('SCRIPT_TIMEOUT', message));
    // Its files are not kept (facts, 2.8), but what its tests did by then is told.
    return report === null ? timeout : { ...timeout, details: report.run.details };
  }
  if (report !== null && report.run.failure !== null && !['unused', 'started'].includes(seen.browser)) {
    throw browserFault(seen);
  }
  if (report !== null) return report.run;
  if (await isFull(options.workDir))
    throw new AgentError('DISK_FULL', 'the disk was full while the script ran');
  if (!seen.configured) {
    throw new AgentError(
      'INTERNAL',
      `Playwright's runner could not start: ${warm.lastLines.join(' ').slice(0, 2000)}`,
    );
  }
  for (const line of warm.lastLines) options.log('warn', stripVTControlCharacters(line));
  const how = end.signal === null ? `with exit code ${end.code ?? 'unknown'}` : `by ${end.signal}`;
  return refused(reasonOf('SCRIPT_THREW', `The script ended its process ${how} before its tests were over.`));
}

/** The script, first; and, for one without tests of its own, the test that runs it. `testPath`: where Playwright finds tests. */
function filesToWrite(
  { script, timeoutMs }: OnceOptions,
  path: string,
): { files: [ScriptFile, ...ScriptFile[]]; testPath: string } {
  if (!isPlainScript(script.content)) return { files: [{ path, content: script.content }], testPath: path };
  const file = plainScriptFile(path, script.content);
  const test = plainScriptTest(file.path, timeoutMs);
  return { files: [file, test], testPath: test.path };
}

/** Moves what the run left into the workDir and reads it. Null = the run was cut before its report was complete. */
async function keptReport(
  warm: WarmProcess,
  options: OnceOptions,
  { paths, startTime }: { paths: HostFiles; startTime: number },
): Promise<Awaited<ReturnType<typeof readPlaywrightReport>>> {
  const { folder } = warm;
  const kept = join(options.workDir, 'playwright');
  await rename(folder.root, kept).catch((error: unknown) => {
    throw new AgentError('INTERNAL', `the files of the run can't be kept: ${String(error)}`, {
      cause: error,
    });
  });
  await removeFolder(folder);
  // Without Landlock a script may have put a link in the place of its folder.
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

/** Whether nothing more can be written there. */
async function isFull(folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  if (found === null) return false;
  const { bavail, bsize, ffree, files } = found;
  return bavail * bsize < 65_536 || (files > 0 && ffree === 0);
}

/** Waits until the process can take the run. Rejects with AgentError when it can't, or `signal.reason`. */
async function readyOrAborted(warm: WarmProcess, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(readyMs)]);
  const aborted = new Promise<never>((_, reject) => {
    limit.addEventListener(
      'abort',
      () =>
        reject(
          signal.aborted
            ? signal.reason
            : new AgentError('INTERNAL', `Playwright's runner was not ready within ${readyMs / 1000} s`),
        ),
      { once: true },
    );
  });
  aborted.catch(() => undefined);
  signal.throwIfAborted();
  await Promise.race([warm.ready, aborted]).catch((error: unknown) => {
    throw beforeItsTurn(error);
  });
}

/** Starts the run and follows it until nothing of it is left; fills `seen`. */
async function watch(
  warm: WarmProcess,
  options: OnceOptions,
  seen: Seen,
  start: () => void,
): Promise<ChildEnd> {
  const { child } = warm;
  const { signal } = options;
  const kill = () => {
    // What dying processes still say is of no account.
    warm.onMessage = () => undefined;
    void child.kill();
  };
  let browserTimer: NodeJS.Timeout | undefined;
  warm.onLine = () => undefined;
  warm.onMessage = (message) => {
    if (message.type === 'stage') seen.configured = true;
    else if (message.type === 'log' && typeof message['line'] === 'string') {
      const line = stripVTControlCharacters(message['line']).slice(0, 8192);
      if (line !== '') options.log(message['stream'] === 'stderr' ? 'warn' : 'info', line);
    } else if (message.type === 'secret' && typeof message['value'] === 'string') {
      const name = typeof message['name'] === 'string' ? message['name'].slice(0, 256) : 'SERVICE_SECRET';
      options.addSecret(name, message['value']);
    } else if (message.type === 'exceeded') {
      seen.exceeded ??= 'outputBytes';
      kill();
    } else if (message.type === 'browser') {
      const state = message['state'];
      if (state === 'signal') {
        if (typeof message['signal'] === 'string') seen.browserSignal = message['signal'].slice(0, 20);
        return;
      }
      clearTimeout(browserTimer);
      if (state === 'starting') {
        seen.browser = 'starting';
        browserTimer = setTimeout(() => {
          seen.browserLate = true;
          kill();
        }, options.browserStartMs);
      } else if (state === 'started') seen.browser = 'started';
      else if (state === 'failed' || state === 'gone') {
        seen.browser = state;
        if (typeof message['message'] === 'string') seen.browserMessage = message['message'].slice(0, 2000);
      }
    }
  };
  const capTimer = setTimeout(() => {
    seen.timedOut = true;
    kill();
  }, options.timeoutMs + graceMs);
  signal.addEventListener('abort', kill, { once: true });
  const started = performance.now();
  try {
    if (signal.aborted) kill();
    else start();
    const end = await child.ended;
    if (performance.now() - started >= options.timeoutMs) seen.timedOut = true;
    return end;
  } finally {
    clearTimeout(capTimer);
    clearTimeout(browserTimer);
    signal.removeEventListener('abort', kill);
    warm.onMessage = () => undefined;
  }
}

const boundOf: { readonly [L in keyof ChildLimits]: string } = {
  memoryBytes: 'memory',
  cpuSeconds: 'processor time',
  outputBytes: 'output',
  diskBytes: 'disk space',
  processes: 'processes',
};

/** It was the browser that made the run fail: it did not start, or ended on its own. */
function browserFault({ browser, browserMessage }: Seen): AgentError {
  const what =
    browser === 'starting'
      ? 'Chromium did not start in time'
      : browser === 'failed'
        ? `Chromium could not be started: ${browserMessage}`
        : 'Chromium ended unexpectedly while the script ran';
  return new AgentError('BROWSER_UNAVAILABLE', `${what}; run "location-agent doctor" on this host`);
}

type HostFiles = { config: string; capture: string; reporter: string; report: string };

/** Writes the config file and what belongs to it, outside of the user's files. */
async function writeHostFiles(
  warm: WarmProcess,
  options: OnceOptions,
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

/** A run of which no report is kept: the reason alone. */
function withoutReport(failure: Reason, options: OnceOptions, startTime: number): PlaywrightRun {
  const endTime = Date.now();
  const details: PlaywrightDetails = {
    runtimeVersion: options.runtime.name,
    playwrightVersion: options.runtime.playwrightVersion,
    startTime,
    endTime,
    errors: [failure.message],
    tests: [],
  };
  return { failure, degraded: null, durationMs: endTime - startTime, details, files: [] };
}
