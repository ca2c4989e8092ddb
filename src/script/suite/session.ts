import { join } from 'node:path';
import type { LogEntry } from '../../protocol/result.ts';
import type { BrowserStore } from './browsers/store.ts';
import type { SuiteDeadline } from './place/deadline.ts';
import { makePlace } from './place/folders.ts';
import { openOutput, type SuiteOutput } from './place/output.ts';
import type { RunProgram, SuitePlace } from './place/place.ts';
import { programRunner, suiteLimits } from './program.ts';
import type { SuiteFacts } from './result.ts';
import type { FetchBundle, SuiteOptions, SuiteRun } from '../interface/suite-run.ts';
import { createStages, type SuiteStages } from './place/stages.ts';

/** The state that the runs of one agent share, and the stages of one run. */

export type SuiteRunnerOptions = {
  /** The folder for browsers, dependency caches and other files that outlive a run. */
  dataFolder: string;
  extraCaFile?: string | null;
  /** Where to look for Playwright's own builds before the usual paths. */
  playwrightBrowsersPath?: string | null;
  /** The engines for suites (`findEngines`); absent = those of the package. */
  enginesFolder?: string;
  /** Absent = this host cannot fetch bundles. */
  fetchBundle?: FetchBundle;
  /**
   * Variables only for installers (packages and browsers), overridden by the check's own: proxies with their passwords,
   * authorities, registries. Tests never get them.
   */
  installEnvironment?: { readonly [name: string]: string };
  /** Where dependencies of passed runs are kept for later runs; absent = local. */
  dependencyCache?: 'local' | 'off';
  /** Number of suites that may run at a time, which share the memory. Absent = one. */
  suiteSlots?: number;
  warn: (line: string) => void;
  /** Size in bytes above which a report is rejected and sent without attachments; absent = the protocol's limit. */
  artifactBytes?: () => number;
  /** Milliseconds between two log lines of a long stage. */
  stageWordMs?: number;
};

const outputName = 'output.log';

/** The state that runs share. */
export type Host = SuiteRunnerOptions & {
  store: BrowserStore;
  closing: AbortSignal;
  sandbox: () => Promise<boolean>;
};

/** The state that the stages of one run share. */
export type Run = {
  given: SuiteOptions;
  host: Host;
  place: SuitePlace;
  deadline: SuiteDeadline;
  stages: SuiteStages;
  output: SuiteOutput;
  /** Logs to the run's log, and to the file of its output. */
  log: (level: LogEntry['level'], msg: string) => void;
  program: RunProgram;
  /** The same for folders that belong to no run, without access to the run's files. */
  programIn: (place: SuitePlace, readable: () => readonly string[]) => RunProgram;
  /** Paths that programs may read in addition to the run's folders and the system; stages add to it. */
  readable: string[];
  facts: SuiteFacts;
};

/** Creates what the stages need. Rejects with SuiteFailed BUNDLE_INVALID, AgentError DISK_FULL or INTERNAL. */
export async function openRun({
  given,
  host,
  deadline,
  facts,
}: Pick<Run, 'given' | 'host' | 'deadline' | 'facts'>): Promise<Run> {
  const place = await makePlace(given.workDir, given.suite.workingDir);
  const output = openOutput(join(place.root, outputName), (line) => given.log('info', line));
  const log: Run['log'] = (level, msg) => {
    output.note(msg);
    given.log(level, msg);
  };
  const readable = host.extraCaFile === null || host.extraCaFile === undefined ? [] : [host.extraCaFile];
  const stages = createStages({
    log,
    onStage: given.onStage,
    ...(host.stageWordMs === undefined ? {} : { everyMs: host.stageWordMs }),
  });
  const limits = suiteLimits(host.suiteSlots ?? 1);
  const programIn: Run['programIn'] = (apart, mayRead) =>
    programRunner({ place: apart, limits, readable: mayRead });
  const program = programRunner({
    place,
    limits,
    readable: () => readable,
    bun: () => [facts.engine?.name, facts.packageManager?.name].includes('bun'),
  });
  deadline.signal.addEventListener('abort', () => {
    const cut = deadline.cut();
    if (cut === null) return;
    const where = stages.current() ?? 'no stage was running';
    const seconds = Math.round((facts.limitMs - deadline.remaining()) / 1000);
    const why = cut === 'cancelled' ? ' because it was cancelled' : '';
    facts.endedIn = `the suite was stopped${why} after ${seconds} s, while ${where}`;
    log(cut === 'cancelled' ? 'warn' : 'error', facts.endedIn);
  });
  return { given, host, place, deadline, stages, output, log, program, programIn, readable, facts };
}

/** Adds the file with the complete output. */
export async function withOutput(
  { output, place }: Run,
  files: SuiteRun['files'],
): Promise<SuiteRun['files']> {
  if (!(await output.close())) return files;
  const path = join(place.root, outputName);
  return [{ path, name: outputName, type: 'log', contentType: 'text/plain; charset=utf-8' }, ...files];
}
