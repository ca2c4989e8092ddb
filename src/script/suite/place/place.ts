import type { Reason } from '../../../protocol/reasons.ts';
import type { SuiteEngine } from '../../../protocol/suite-engines.ts';
import type { ChildLimits } from '../../process/program.ts';

/** What the stages of a suite's run share: its folders, its engine, its package manager, and the way to run a program. */

/** Folders of one run, all below the attempt's workDir; nothing else may be written by what runs. */
export type SuitePlace = {
  root: string;
  /** The bundle's root. */
  project: string;
  /** In which commands run: `project`, or a folder of it. */
  working: string;
  home: string;
  /** Short enough for sockets. */
  temporary: string;
  /** What our reporter and Playwright's write. */
  report: string;
};

/** A program that suites run on, as this host has it. */
export type Engine = {
  name: SuiteEngine;
  /** Whole, such as 22.23.3. */
  version: string;
  /** First in PATH: has node, npm, npx, pnpm, yarn, bun and bunx, all of this engine. */
  bin: string;
  /** What programs must be able to read for that. */
  readable: readonly string[];
};

export type PackageManager = {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** As far as the project or the lock file says. */
  version: string | null;
  /** Relative to the bundle's root; null = none was found, and installCommand does without. */
  lockFile: string | null;
  /** The shell command that installs what the lock file says. */
  install: string;
  /** What runs a program of the project's packages: `npx`, `pnpm exec`, `yarn`, `bunx`. */
  exec: string;
  /** Variables that its programs need besides, the tests' as well. */
  env: { readonly [name: string]: string };
};

export type ProgramEnd = {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Which bound it broke, if one. */
  exceeded: keyof ChildLimits | null;
  /** It was ended because its time was over, or because the signal fired. */
  timedOut: boolean;
  aborted: boolean;
};

/** Runs a shell command of a suite, confined as far as this host allows, and waits until nothing of it is left. */
export type RunProgram = (program: {
  command: string;
  cwd: string;
  /** The whole environment; PATH begins with the engine's. */
  env: { readonly [name: string]: string };
  /** Besides the run's own folders, the engine and the system. */
  readable?: readonly string[];
  writable?: readonly string[];
  timeoutMs: number;
  /** Milliseconds between TERM and KILL when it is ended. */
  graceMs?: number;
  signal: AbortSignal;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
}) => Promise<ProgramEnd>;

/** What is wrong is the customer's: the run ends here, `failed`, with this reason. */
export class SuiteFailed extends Error {
  readonly reason: Reason;
  constructor(reason: Reason) {
    super(reason.message);
    this.reason = reason;
    this.name = 'SuiteFailed';
  }
}
