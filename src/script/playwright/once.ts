import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { AgentError, toError } from '../../errors.ts';
import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import { withTimeLimit } from '../../time-limit.ts';
import type { ChildLimits } from '../process/program.ts';
import { beforeItsTurn } from '../process/child-slots.ts';
import { needsModuleLoader, refusedSetting, scriptPathOf } from './config.ts';
import { lostSecretReason } from '../process/lost-secret.ts';
import { isFull, isRefusedByDisk } from '../process/full-disk.ts';
import { browserFault, followRun, type FollowOptions } from './follow.ts';
import { filesOfScript, keptReport, writeHostFiles, type HostFileOptions } from './folder.ts';
import { readSecretRecords } from './secret-records.ts';
import { hostEnvironment, type WarmProcess } from './process.ts';
import type { PlaywrightDetails, PlaywrightRun } from '../interface/playwright-run.ts';
import { writeScriptFiles } from '../process/script-files.ts';
import type { PlaywrightOptions } from '../interface/scripts.ts';
import { shortened } from '../../shortened.ts';

export type OnceOptions = PlaywrightOptions &
  HostFileOptions &
  FollowOptions & { extraCaFile: string | null; outputBytes: number };

/** Loading takes half a second, and many times that on an overloaded machine. */
const readyMs = 60_000;

/**
 * One run in a process that is already waiting for it. Process and folder are used up in any case; files that are kept
 * are moved to the workDir. Resolves and rejects like `Scripts.runPlaywright`.
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
  const written = filesOfScript(options, path.path);
  const files = await writeScriptFiles(folder.script, { files: [...script.files, ...written.files] });
  if (files !== null) return refused(files);
  const paths = await writeHostFiles(warm, options, written.testPath).catch((error: unknown) => {
    const { message } = toError(error);
    const full = isRefusedByDisk(error);
    throw new AgentError(full ? 'DISK_FULL' : 'INTERNAL', `the files of a script run: ${message}`, {
      cause: error,
    });
  });
  await readyOrAborted(warm, signal);

  const { seen, end } = await followRun(warm, options, () =>
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
  // From here on only the run's folder is left. Messages may have been lost with the processes; the records are not.
  const named = await readSecretRecords(paths.capture);
  for (const value of named.secrets) options.addSecret('SERVICE_SECRET', value);
  if (named.lostSecret !== null) options.withhold(named.lostSecret);
  signal.throwIfAborted();
  seen.lostSecret ??= named.lostSecret;
  if (seen.lostSecret !== null) return refused(lostSecretReason(seen.lostSecret));
  // The kernel sends this signal to a process that writes beyond the file size limit.
  const largeFile = seen.browserSignal === 'SIGXFSZ' || end.signal === 'SIGXFSZ' ? 'diskBytes' : null;
  const exceeded = seen.exceeded ?? end.exceeded ?? largeFile;
  if (exceeded !== null) {
    return refused(
      reasonOf('SCRIPT_KILLED', `The script was killed: it used more ${boundOf[exceeded]} than allowed.`),
    );
  }
  if (seen.browserLate) throw browserFault(seen);

  const report = await keptReport(warm, options, { paths, startTime });
  if (seen.timedOut) {
    const message = `Your check run has reached the maximum run time of ${options.timeoutMs} ms.`;
    const timeout = refused(reasonOf('SCRIPT_TIMEOUT', message));
    // Its files are not kept (facts, 2.8), but the results of its tests so far are.
    return report === null ? timeout : { ...timeout, details: report.details };
  }
  if (report !== null && report.failure !== null && !['unused', 'started'].includes(seen.browser)) {
    throw browserFault(seen);
  }
  if (report !== null) return report;
  if (await isFull(options.workDir))
    throw new AgentError('DISK_FULL', 'the disk was full while the script ran');
  if (!seen.configured) {
    throw new AgentError(
      'INTERNAL',
      `Playwright's runner could not start: ${shortened(warm.lastLines.join(' '), 2000)}`,
    );
  }
  for (const line of warm.lastLines) options.log('warn', stripVTControlCharacters(line));
  const how = end.signal === null ? `with exit code ${end.code ?? 'unknown'}` : `with ${end.signal}`;
  return refused(
    reasonOf('SCRIPT_THREW', `The script's process exited ${how} before its tests were finished.`),
  );
}

/** Waits until the process can take the run. Rejects with AgentError if it cannot, or with `signal.reason`. */
async function readyOrAborted(warm: WarmProcess, signal: AbortSignal): Promise<void> {
  const limit = withTimeLimit(signal, readyMs);
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

const boundOf: { readonly [L in keyof ChildLimits]: string } = {
  memoryBytes: 'memory',
  cpuSeconds: 'processor time',
  outputBytes: 'output',
  diskBytes: 'disk space',
  processes: 'processes',
};

/** A run without a report: only the reason. */
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
