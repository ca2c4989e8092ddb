import { AgentError, JobAborted } from '../../../errors.ts';
import { withTimeLimit } from '../../../time-limit.ts';

/** The deadline of a run: from the bundle to the end of its tests. */
export type SuiteDeadline = {
  /**
   * Fires with JobAborted `deadline` or `cancelled` (the run reports its results so far), or another reason (it only
   * stops).
   */
  readonly signal: AbortSignal;
  /** Milliseconds left; 0 when the time is over. */
  remaining: () => number;
  /** How the signal stopped the run; null if it did not, or if the run will report no result. */
  cut: () => 'deadline' | 'cancelled' | null;
  /** Rejects with the signal's reason if the run only stops. */
  throwIfLost: () => void;
  /** A signal for the work after the tests, `limitMs` long: it fires only if the run only stops. */
  after: (limitMs: number) => AbortSignal;
  stop: () => void;
};

export function startDeadline(options: {
  limitMs: number;
  signal: AbortSignal;
  closing: AbortSignal;
}): SuiteDeadline {
  const { limitMs, closing } = options;
  const began = performance.now();
  const main = new AbortController();
  const later = new AbortController();
  const isCut = (reason: unknown) =>
    reason instanceof JobAborted && (reason.code === 'deadline' || reason.code === 'cancelled');
  const timer = setTimeout(() => main.abort(new JobAborted('deadline')), limitMs);
  const onAbort = () => {
    const reason: unknown = closing.aborted ? closing.reason : options.signal.reason;
    main.abort(reason);
    if (!isCut(reason)) later.abort(reason);
  };
  options.signal.addEventListener('abort', onAbort);
  closing.addEventListener('abort', onAbort);
  if (options.signal.aborted || closing.aborted) onAbort();
  return {
    signal: main.signal,
    remaining: () => Math.max(0, limitMs - (performance.now() - began)),
    cut: () => {
      // A cancellation counts at any time, because nobody waits for the result.
      const { reason } = options.signal;
      if (reason instanceof JobAborted && reason.code === 'cancelled') return 'cancelled';
      const abortReason: unknown = main.signal.reason;
      return abortReason instanceof JobAborted &&
        (abortReason.code === 'deadline' || abortReason.code === 'cancelled')
        ? abortReason.code
        : null;
    },
    throwIfLost: () => later.signal.throwIfAborted(),
    after: (afterMs) => withTimeLimit(later.signal, afterMs),
    stop: () => {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', onAbort);
      closing.removeEventListener('abort', onAbort);
    },
  };
}

/** The rejection of a run that is cut off because the agent stops. */
export const agentStops = () => new AgentError('INTERNAL', 'the agent is stopping');
