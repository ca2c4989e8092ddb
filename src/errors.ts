/**
 * The five kinds of exception. Failures of a target are never exceptions: they are outcomes, which are values
 * (`executors/interface/executor.ts`). Decide by class and `code`, never by message text.
 */

/** Closed list of the codes of our own exceptions, grouped by class. */
export type ErrorCode =
  // JobAborted
  | 'deadline'
  | 'cancelled'
  | 'shutdown'
  | 'lease-lost'
  // InvalidJobError
  | 'INVALID_JOB'
  | 'TYPE_UNAVAILABLE'
  | 'RUNTIME_UNAVAILABLE'
  // AgentError
  | 'INTERNAL'
  | 'DISK_FULL'
  | 'DISK_UNAVAILABLE'
  | 'ICMP_UNAVAILABLE'
  | 'NETWORK_UNAVAILABLE'
  | 'BROWSER_UNAVAILABLE'
  | 'SANDBOX_UNAVAILABLE'
  | 'BUNDLE_UNAVAILABLE'
  | 'AGENT_OVERLOADED'
  // ServiceError, FatalError
  | 'SERVICE_UNREACHABLE'
  | 'SERVICE_REFUSED'
  // FatalError
  | 'CONFIGURATION'
  | 'USAGE'
  | 'KEY_REFUSED'
  | 'DATABASE_IN_USE'
  | 'DATABASE_BROKEN'
  | 'MODULES_UNAVAILABLE'
  | 'PORT_IN_USE';

type ErrorOptions = { cause?: unknown };

abstract class CodedError<Code extends ErrorCode> extends Error {
  readonly code: Code;
  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** Reason of an attempt's AbortSignal: deadline passed, run cancelled by the service, agent stopping, or lease lost. */
export class JobAborted extends CodedError<'deadline' | 'cancelled' | 'shutdown' | 'lease-lost'> {
  constructor(code: JobAborted['code'], message: string = code) {
    super(code, message);
  }
}

/**
 * The job itself cannot be run: unknown type, unknown runtime, malformed. Its result is `errored` and is not retried.
 */
export class InvalidJobError extends CodedError<'INVALID_JOB' | 'TYPE_UNAVAILABLE' | 'RUNTIME_UNAVAILABLE'> {}

/** Our own fault while running a job. The result is `errored` and is never charged to the target. */
export class AgentError extends CodedError<
  | 'INTERNAL'
  | 'DISK_FULL'
  | 'DISK_UNAVAILABLE'
  | 'ICMP_UNAVAILABLE'
  | 'NETWORK_UNAVAILABLE'
  | 'BROWSER_UNAVAILABLE'
  | 'SANDBOX_UNAVAILABLE'
  | 'BUNDLE_UNAVAILABLE'
  | 'AGENT_OVERLOADED'
> {}

/**
 * The service is unreachable (an intermediary may have answered instead), or it refused a call itself. `status` is
 * absent if there was no answer; `retryAfterMs` is the answer's Retry-After.
 */
export class ServiceError extends CodedError<'SERVICE_UNREACHABLE' | 'SERVICE_REFUSED'> {
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  constructor(
    code: ServiceError['code'],
    message: string,
    options: ErrorOptions & { status?: number; retryable: boolean; retryAfterMs?: number },
  ) {
    super(code, message, options);
    this.status = options.status;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The process cannot continue: it prints one line on standard error and exits with `exitCode`. */
export class FatalError extends CodedError<
  | 'CONFIGURATION'
  | 'USAGE'
  | 'SERVICE_UNREACHABLE'
  | 'SERVICE_REFUSED'
  | 'KEY_REFUSED'
  | 'DATABASE_IN_USE'
  | 'DATABASE_BROKEN'
  | 'MODULES_UNAVAILABLE'
  | 'PORT_IN_USE'
> {
  readonly exitCode: number;
  /** The message without its remedy. */
  readonly summary: string;
  /** How to fix it; null = the summary says so, or the command's help does. */
  readonly remedy: string | null;
  constructor(
    code: FatalError['code'],
    summary: string,
    options: ErrorOptions & { exitCode: number; remedy?: string },
  ) {
    super(code, options.remedy === undefined ? summary : `${summary}: ${options.remedy}`, options);
    this.exitCode = options.exitCode;
    this.summary = summary;
    this.remedy = options.remedy ?? null;
  }
}

/** Exit codes of all commands. */
export const exitCodes = {
  done: 0,
  failed: 1,
  couldNotRun: 2,
  usage: 64,
  drainCut: 75,
  keyRefused: 77,
  configuration: 78,
} as const;

/** Converts any thrown value to an Error, so that a `catch (error: unknown)` can read `message` safely. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
