import type { Phases } from '../tcp/timings.ts';
import type { UdpProgress } from './udp.ts';

/** The data collected about the exchange with one server, also while it runs and when it fails. */
export type Trace = {
  startedAt: number;
  phases: Phases;
  /** The phase in progress: the time since its start belongs to it if the exchange ends now. */
  open: { phase: keyof Phases; since: number } | null;
  udp: UdpProgress;
  /** Queries sent over connections. */
  streamTries: number;
  /** The UDP answer was truncated, and the query was sent again by TCP. */
  truncatedRetry: boolean;
  tls: { protocol: string | null; cipher: string; authorized: boolean; error: string | null } | null;
  httpVersion: string | null;
};

/** The trace of an exchange that starts now. */
export function newTrace(): Trace {
  return {
    startedAt: performance.now(),
    phases: {},
    open: null,
    udp: { tries: 0, ignored: 0, lastMismatch: null },
    streamTries: 0,
    truncatedRetry: false,
    tls: null,
    httpVersion: null,
  };
}

/** Ends the current phase, if any, and starts the next. Repeated phases (UDP, then TCP) add up. */
export function enterPhase(trace: Trace, phase: keyof Phases | null): void {
  const now = performance.now();
  if (trace.open !== null) {
    const { phase: before, since } = trace.open;
    trace.phases[before] = (trace.phases[before] ?? 0) + now - since;
  }
  trace.open = phase === null ? null : { phase, since: now };
}
