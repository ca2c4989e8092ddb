import vm from 'node:vm';

/** Total time for bounded work: a budget that refills over time. */
const budgetMs = 500;
const refillPerMs = 0.05;
/** Fraction of a limit that applies while the budget is used up. */
const reducedFraction = 0.1;

let bounded: { script: vm.Script; context: vm.Context } | undefined;
let spentMs = 0;
let spentAt = 0;

/**
 * Runs `work` on this thread and stops it after `limitMs`, even inside an endless regular expression. Bounded work
 * has a budget of half a second, which refills at a twentieth of the elapsed time. While it is used up, the limit is
 * a tenth: endless patterns may slow an agent down, but not block it. V8's watchdog costs a thread and about 0.1 ms
 * per call, so use it only for work that may be endless.
 */
export function runBounded<Result>(
  work: () => Result,
  limitMs: number,
): { result: Result } | { stoppedAfterMs: number } {
  bounded ??= { script: new vm.Script('run()'), context: vm.createContext({}) };
  const startedAt = performance.now();
  spentMs = Math.max(0, spentMs - (startedAt - spentAt) * refillPerMs);
  const timeout = Math.ceil(spentMs < budgetMs ? limitMs : limitMs * reducedFraction);
  let done: { result: Result } | undefined;
  bounded.context['run'] = () => {
    done = { result: work() };
  };
  try {
    bounded.script.runInContext(bounded.context, { timeout });
  } catch (error: unknown) {
    if (!isTimeout(error)) throw error;
  } finally {
    bounded.context['run'] = undefined;
    spentAt = performance.now();
    spentMs += spentAt - startedAt;
  }
  return done ?? { stoppedAfterMs: timeout };
}

function isTimeout(error: unknown): boolean {
  // Not instanceof Error, because the error is created in the other context.
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
