import type { ScriptType } from '../../protocol/check-types.ts';
import type { Reason } from '../../protocol/reasons.ts';
import type { LogEntry } from '../../protocol/result.ts';
import type { ApiScripts, CheckScript } from '../../protocol/script.ts';
import type { RequestMessage, ResponseMessage } from '../child/api/messages.ts';
import type { PlaywrightRun } from './playwright-run.ts';
import type { SuiteOptions, SuiteRun } from './suite-run.ts';

/** Customer code, as executors see it: created once by the agent, shared by all attempts. */
export type Scripts = {
  /** Installed runtimes, newest first. */
  readonly runtimes: readonly string[];
  /**
   * Starts the child process that serves all setup and teardown scripts of one API check run, on the runtime's Node.
   * Rejects with InvalidJobError RUNTIME_UNAVAILABLE, AgentError, or `signal.reason`.
   */
  openApiScripts: (options: ApiScriptOptions) => Promise<ApiScriptSession>;
  /**
   * Runs a browser or multi-step script. Failures of the script are part of the outcome. Rejects with InvalidJobError
   * RUNTIME_UNAVAILABLE, AgentError (BROWSER_UNAVAILABLE …), or `signal.reason`. When it settles, no process of the run
   * is left.
   */
  runPlaywright: (options: PlaywrightOptions) => Promise<PlaywrightRun>;
  /**
   * Runs a Playwright suite: bundle, install, browsers, tests, report. Failures of the project are part of the outcome.
   * If the signal fires with JobAborted `deadline` or `cancelled`, the run is stopped (TERM, then KILL) and the outcome
   * contains the results so far. Rejects with InvalidJobError RUNTIME_UNAVAILABLE (the engine), AgentError
   * (BUNDLE_UNAVAILABLE, BROWSER_UNAVAILABLE …), or `signal.reason` for other codes. When it settles, no process of the
   * run is left.
   */
  runSuite: (options: SuiteOptions) => Promise<SuiteRun>;
  /** Kills running and waiting processes; resolves when all of them are gone. */
  close: () => Promise<void>;
};

/** The input of every script run. */
export type ScriptRunOptions = {
  /** The attempt's own folder. */
  workDir: string;
  /**
   * The complete environment of the script, except what the host must add: nothing of the agent's own environment is
   * passed on.
   */
  env: { readonly [name: string]: string };
  signal: AbortSignal;
  log: (level: LogEntry['level'], msg: string) => void;
  addSecret: (name: string, value: string) => void;
  /** Called if a secret of the script cannot be masked: then no text or file of the run may leave the agent. */
  withhold: (why: string) => void;
};

/** No folder: scripts and their files arrive by message, and they may write nowhere. */
export type ApiScriptOptions = Omit<ScriptRunOptions, 'workDir'> & { scripts: ApiScripts };

/** The request as setup scripts receive it and may change it (facts, 2.3). */
export type ScriptRequest = RequestMessage;
/** The response as teardown scripts receive it; only `body` may be changed. */
export type ScriptResponse = ResponseMessage;

/** The outcome of a phase: null = all its scripts succeeded. */
export type PhaseFailure = { reason: Reason; origin: 'group' | 'check' } | null;

export type ApiScriptSession = {
  /** Runs the setup scripts in order; the first failure stops the phase. `env` contains the variables after the phase. */
  setup: (request: ScriptRequest) => Promise<{
    request: ScriptRequest;
    env: { [name: string]: string };
    failure: PhaseFailure;
  }>;
  /** Runs the teardown scripts in order. */
  teardown: (
    request: ScriptRequest,
    response: ScriptResponse,
  ) => Promise<{ response: ScriptResponse; env: { [name: string]: string }; failure: PhaseFailure }>;
  /** Kills the child and every process that it started. Safe to call at any time, and more than once. */
  close: () => Promise<void>;
};

export type PlaywrightOptions = ScriptRunOptions & {
  checkType: ScriptType;
  script: CheckScript;
  /** Traces and videos are kept even if the run passes. */
  keepAll: boolean;
  /** Time limit of the script in milliseconds. */
  timeoutMs: number;
};
