import { AgentError, JobAborted } from '../../../errors.ts';
import { withTimeLimit } from '../../../time-limit.ts';

/** The one clock of a run: from the bundle to the end of its tests. */
export type SuiteDeadline = {
  /** Fires with JobAborted `deadline` or `cancelled` (the run tells what there is), or another reason (it just ends). */
  readonly signal: AbortSignal;
  /** Milliseconds; 0 when it is over. */
  remaining: () => number;
  /** How the signal ended the run; null when it did not, or not in a way that a result tells. */
  cut: () => 'deadline' | 'cancelled' | null;
  /** Rejects with the signal's reason when it just ends the run. */
  throwIfLost: () => void;
  /** For what follows the tests, `limitMs` long: only what just ends the run fires it. */
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
      // A cancel counts whenever it comes: nobody waits for the result.
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

/** What a run that the agent's own end cuts rejects with. */
export const agentEnds = () => new AgentError('INTERNAL', 'the agent ends');
