import type { TraceAnswer } from '../evidence/trace-answers.ts';

/** One probe for each number of hops from `from` to `to`. */
export type Round = {
  from: number;
  to: number;
  /** How long to wait for each answer. */
  waitMs: number;
  /** The round ends after so many silent hops in a row; 0 = it does not. */
  maxSilent: number;
};

/** Called for each hop in order; null: it was silent. */
export type OnHop = (ttl: number, answer: TraceAnswer | null) => void;

/** Sends the probes of one trace; all of them are one flow for routers. */
export type Prober = {
  /** How they are sent. `ping` and `raw`: the kind of the ICMP socket. */
  way: 'tcp' | 'udp' | 'ping' | 'raw';
  /**
   * Sends the probes of a round. It may go on for some hops after the target. Rejects with ProbeRefused, or with the
   * signal's reason after it has reported the hops so far.
   */
  round: (round: Round, signal: AbortSignal, onHop: OnHop) => Promise<void>;
  close: () => void;
};

/** This host could not send a probe. `code` is the errno name, such as ENETUNREACH. */
export class ProbeRefused extends Error {
  readonly code: string;
  readonly syscall = 'connect';
  constructor(code: string) {
    super(`probes cannot be sent: ${code}`);
    this.name = 'ProbeRefused';
    this.code = code;
  }
}
