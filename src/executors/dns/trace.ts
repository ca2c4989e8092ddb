import type { Phases } from '../tcp/timings.ts';
import type { UdpProgress } from './udp.ts';

/** What one server's exchange has gathered, also while it runs and when it fails. */
export type Trace = {
  startedAt: number;
  phases: Phases;
  /** A phase that has begun: the time since then belongs to it if the exchange ends here. */
  open: { phase: keyof Phases; since: number } | null;
  udp: UdpProgress;
  /** Queries sent over connections. */
  streamTries: number;
  /** The answer by UDP was cut off, and the query sent again by TCP. */
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

/** Ends the phase that is open, if any, and begins the next; phases that come twice (UDP, then TCP) add up. */
export function enterPhase(trace: Trace, phase: keyof Phases | null): void {
  const now = performance.now();
  if (trace.open !== null) {
    const { phase: before, since } = trace.open;
    trace.phases[before] = (trace.phases[before] ?? 0) + now - since;
  }
  trace.open = phase === null ? null : { phase, since: now };
}
