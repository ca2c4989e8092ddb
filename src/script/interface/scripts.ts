import type { ScriptType } from '../../protocol/check-types.ts';
import type { Reason } from '../../protocol/reasons.ts';
import type { LogEntry } from '../../protocol/result.ts';
import type { ApiScripts, CheckScript } from '../../protocol/script.ts';
import type { RequestMessage, ResponseMessage } from '../child/api/messages.ts';
import type { PlaywrightRun } from './playwright-run.ts';
import type { SuiteOptions, SuiteRun } from './suite-run.ts';

/** Customer code, as executors see it: made once by the agent, shared by all attempts. */
export type Scripts = {
  /** Runtimes that can be used here, newest first. */
  readonly runtimes: readonly string[];
  /**
   * Starts the child process that serves all setup and teardown scripts of one run of an API check, on the runtime's Node.
   * Rejects with InvalidJobError RUNTIME_UNAVAILABLE, AgentError, or `signal.reason`.
   */
  openApiScripts: (options: ApiScriptOptions) => Promise<ApiScriptSession>;
  /**
   * Runs a browser or multi-step script. What goes wrong in or through the script stands in the answer; rejects with
   * InvalidJobError RUNTIME_UNAVAILABLE, AgentError (BROWSER_UNAVAILABLE …), or `signal.reason`. When it settles, no process
   * of the run is left.
   */
  runPlaywright: (options: PlaywrightOptions) => Promise<PlaywrightRun>;
  /**
   * Runs a Playwright suite: bundle, install, browsers, tests, report. What goes wrong in or through the project stands in
   * the answer. When the signal fires with JobAborted `deadline` or `cancelled`, the run is ended (TERM, then KILL) and the
   * answer tells what there was by then. Rejects with InvalidJobError RUNTIME_UNAVAILABLE (the engine), AgentError
   * (BUNDLE_UNAVAILABLE, BROWSER_UNAVAILABLE …), or `signal.reason` for other codes. When it settles, no process of the run
   * is left.
   */
  runSuite: (options: SuiteOptions) => Promise<SuiteRun>;
  /** Kills what runs and what waits; resolves when all of it is gone. */
  close: () => Promise<void>;
};

/** What every script run needs. */
export type ScriptRunOptions = {
  /** The attempt's own folder. */
  workDir: string;
  /** The whole environment of the script but what the host itself must add: nothing of the agent's own is handed on. */
  env: { readonly [name: string]: string };
  signal: AbortSignal;
  log: (level: LogEntry['level'], msg: string) => void;
  addSecret: (name: string, value: string) => void;
};

/** No folder: scripts and their files come by message, and they may write nowhere. */
export type ApiScriptOptions = Omit<ScriptRunOptions, 'workDir'> & { scripts: ApiScripts };

/** The request as setup scripts see and may change it (facts, 2.3). */
export type ScriptRequest = RequestMessage;
/** The response as teardown scripts see it; only `body` may be changed. */
export type ScriptResponse = ResponseMessage;

/** What came of a phase: null = all its scripts ended well. */
export type PhaseFailure = { reason: Reason; origin: 'group' | 'check' } | null;

export type ApiScriptSession = {
  /** Runs the setup scripts in order; the first failure ends the phase. `env` holds the variables that stand afterwards. */
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
  /** Ends the child and all that it started. Safe to call at any time, and more than once. */
  close: () => Promise<void>;
};

export type PlaywrightOptions = ScriptRunOptions & {
  checkType: ScriptType;
  script: CheckScript;
  /** Traces and videos are kept although the run passes. */
  keepAll: boolean;
  /** Milliseconds that the script may take. */
  timeoutMs: number;
};
