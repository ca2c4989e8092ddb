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

/** What the runs of one agent share, and what the stages of one run do. */

export type SuiteRunnerOptions = {
  /** Where browsers, dependency caches and other things that outlive a run are kept. */
  dataFolder: string;
  extraCaFile?: string | null;
  /** Where Playwright's own builds are looked for before the usual places. */
  playwrightBrowsersPath?: string | null;
  /** What suites run on (`findEngines`); absent = that of the package. */
  enginesFolder?: string;
  /** Absent = this host has no way to a bundle. */
  fetchBundle?: FetchBundle;
  /**
   * Added to the environment of installers (packages and browsers) alone, beneath the check's own variables: proxies, with
   * their passwords, authorities, registries. Never part of what tests see.
   */
  installEnvironment?: { readonly [name: string]: string };
  /** Where dependencies of passing runs are kept for later ones; absent = local. */
  dependencyCache?: 'local' | 'off';
  /** Suites that may run at a time: they share the memory. Absent = one. */
  suiteSlots?: number;
  warn: (line: string) => void;
  /** Bytes above which a report is refused, and goes without what tests attached as well; absent = the protocol's. */
  artifactBytes?: () => number;
  /** Milliseconds between two words of a stage that lasts. */
  stageWordMs?: number;
};

const outputName = 'output.log';

/** What runs share. */
export type Host = SuiteRunnerOptions & {
  store: BrowserStore;
  closing: AbortSignal;
  sandbox: () => Promise<boolean>;
};

/** What the stages of one run share. */
export type Run = {
  given: SuiteOptions;
  host: Host;
  place: SuitePlace;
  deadline: SuiteDeadline;
  stages: SuiteStages;
  output: SuiteOutput;
  /** To the run's log, and to the file of its output. */
  log: (level: LogEntry['level'], msg: string) => void;
  program: RunProgram;
  /** The same for folders that are no run's, with nothing of the run in reach. */
  programIn: (place: SuitePlace, readable: () => readonly string[]) => RunProgram;
  /** What programs may read besides the run's folders and the system; stages add to it. */
  readable: string[];
  facts: SuiteFacts;
};

/** Makes what the stages need. Rejects with SuiteFailed BUNDLE_INVALID, AgentError DISK_FULL or INTERNAL. */
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
    const where = stages.current() ?? 'no stage was going on';
    const seconds = Math.round((facts.limitMs - deadline.remaining()) / 1000);
    const why = cut === 'cancelled' ? ' because it was cancelled' : '';
    facts.endedIn = `the suite was ended${why} after ${seconds} s, while ${where}`;
    log(cut === 'cancelled' ? 'warn' : 'error', facts.endedIn);
  });
  return { given, host, place, deadline, stages, output, log, program, programIn, readable, facts };
}

/** With the file of all that was printed. */
export async function withOutput(
  { output, place }: Run,
  files: SuiteRun['files'],
): Promise<SuiteRun['files']> {
  if (!(await output.close())) return files;
  const path = join(place.root, outputName);
  return [{ path, name: outputName, type: 'log', contentType: 'text/plain; charset=utf-8' }, ...files];
}
