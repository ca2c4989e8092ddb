import type { Reason } from '../../../protocol/reasons.ts';
import type { SuiteEngine } from '../../../protocol/suite-engines.ts';
import type { ChildLimits } from '../../process/program.ts';

/**
 * Shared by the stages of a suite's run: its folders, its engine, its package manager, and the function that runs
 * programs.
 */

/** Folders of one run, all below the attempt's workDir; the run's programs can write nowhere else. */
export type SuitePlace = {
  root: string;
  /** The bundle's root. */
  project: string;
  /** The folder in which commands run: `project`, or a folder inside it. */
  working: string;
  home: string;
  /** Short enough for socket paths. */
  temporary: string;
  /** The output of our reporter and Playwright's. */
  report: string;
};

/** An engine for suites that is installed on this host. */
export type Engine = {
  name: SuiteEngine;
  /** The complete version, such as 22.23.3. */
  version: string;
  /** First in PATH: contains node, npm, npx, pnpm, yarn, bun and bunx of this engine. */
  bin: string;
  /** The paths that programs must be able to read to use it. */
  readable: readonly string[];
};

export type PackageManager = {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** As far as the project or the lock file gives it. */
  version: string | null;
  /** Relative to the bundle's root; null = none was found, and installCommand works without it. */
  lockFile: string | null;
  /** The shell command that installs the lock file's packages. */
  install: string;
  /** The command that runs a program of the project's packages: `npx`, `pnpm exec`, `yarn`, `bunx`. */
  exec: string;
  /** Additional variables for its programs and the tests. */
  env: { readonly [name: string]: string };
};

export type ProgramEnd = {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The limit that it exceeded, if any. */
  exceeded: keyof ChildLimits | null;
  /** It was stopped because its time was over, or because the signal fired. */
  timedOut: boolean;
  aborted: boolean;
};

/** Runs a shell command of a suite, confined as far as this host allows, and waits until no process of it is left. */
export type RunProgram = (program: {
  command: string;
  cwd: string;
  /** The complete environment; PATH begins with the engine's. */
  env: { readonly [name: string]: string };
  /** In addition to the run's own folders, the engine and the system. */
  readable?: readonly string[];
  writable?: readonly string[];
  /** Writable folders in the machine's /tmp; not needed where it has a /tmp of its own. */
  shared?: readonly string[];
  timeoutMs: number;
  /** It runs tests, whose browsers may use their own sandbox. */
  browserSandbox?: boolean;
  /** Milliseconds between TERM and KILL when it is stopped. */
  graceMs?: number;
  signal: AbortSignal;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
}) => Promise<ProgramEnd>;

/** An error of the customer: the run ends here as `failed`, with this reason. */
export class SuiteFailed extends Error {
  readonly reason: Reason;
  constructor(reason: Reason) {
    super(reason.message);
    this.reason = reason;
    this.name = 'SuiteFailed';
  }
}
