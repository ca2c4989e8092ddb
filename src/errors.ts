/**
 * The five kinds of exception. What a target does wrong is never one of them: that is an outcome, a value
 * (`executors/executor.ts`). Decide by class and `code`, never by message text.
 */

/** Closed list of the codes that our own exceptions carry; grouped by class. */
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
  | 'ICMP_UNAVAILABLE'
  | 'NETWORK_UNAVAILABLE'
  | 'BROWSER_UNAVAILABLE'
  | 'SANDBOX_UNAVAILABLE'
  | 'BUNDLE_UNAVAILABLE'
  // ServiceError
  | 'SERVICE_UNREACHABLE'
  | 'SERVICE_REFUSED'
  // FatalError
  | 'CONFIGURATION'
  | 'KEY_REFUSED'
  | 'DATABASE_IN_USE'
  | 'DATABASE_BROKEN'
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

/** Reason of an attempt's AbortSignal: its deadline passed, the service cancelled it, the agent stops, the lease is gone. */
export class JobAborted extends CodedError<'deadline' | 'cancelled' | 'shutdown' | 'lease-lost'> {
  constructor(code: JobAborted['code'], message: string = code) {
    super(code, message);
  }
}

/** The job itself can't be run: unknown type, unknown runtime, malformed. Result `errored`, never retried. */
export class InvalidJobError extends CodedError<'INVALID_JOB' | 'TYPE_UNAVAILABLE' | 'RUNTIME_UNAVAILABLE'> {}

/** Our own fault while running a job. Result `errored`; never charged to the target. */
export class AgentError extends CodedError<
  | 'INTERNAL'
  | 'DISK_FULL'
  | 'ICMP_UNAVAILABLE'
  | 'NETWORK_UNAVAILABLE'
  | 'BROWSER_UNAVAILABLE'
  | 'SANDBOX_UNAVAILABLE'
  | 'BUNDLE_UNAVAILABLE'
> {}

/**
 * The service can't be reached (also: something on the way answered in its place), or it refused a call itself.
 * `status` is absent when no answer came; `retryAfterMs` is what the answer asked for.
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

/** The process cannot go on: one clear line on standard error, then `exitCode`. */
export class FatalError extends CodedError<
  'CONFIGURATION' | 'KEY_REFUSED' | 'DATABASE_IN_USE' | 'DATABASE_BROKEN' | 'PORT_IN_USE'
> {
  readonly exitCode: number;
  constructor(code: FatalError['code'], message: string, options: ErrorOptions & { exitCode: number }) {
    super(code, message, options);
    this.exitCode = options.exitCode;
  }
}

/** Exit codes of every command (architecture: "Exit codes"). */
export const exitCodes = {
  done: 0,
  failed: 1,
  couldNotRun: 2,
  usage: 64,
  drainCut: 75,
  keyRefused: 77,
  configuration: 78,
} as const;

/** Any thrown value as an Error, so that a `catch (error: unknown)` can read `message` safely. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
