import vm from 'node:vm';

/** Time that bounded work may take all in all: a stock, and what flows back into it. */
const stockMs = 500;
const refillPerMs = 0.05;
/** What is left of a limit while the stock is empty. */
const shortShare = 0.1;

let bounded: { script: vm.Script; context: vm.Context } | undefined;
let spentMs = 0;
let spentAt = 0;

/**
 * Runs `work` on this thread and stops it after `limitMs`, even inside one endless regular expression. When bounded work
 * has taken half a second lately, in few calls or many, the limit is a tenth until a twentieth of the time since has
 * flowed back: endless patterns may slow an agent, but not stall it. V8's watchdog costs a thread, about 0.1 ms a call:
 * for work that may be endless, not for every call.
 */
export function runBounded<Result>(
  work: () => Result,
  limitMs: number,
): { result: Result } | { stoppedAfterMs: number } {
  bounded ??= { script: new vm.Script('run()'), context: vm.createContext({}) };
  const startedAt = performance.now();
  spentMs = Math.max(0, spentMs - (startedAt - spentAt) * refillPerMs);
  const timeout = Math.ceil(spentMs < stockMs ? limitMs : limitMs * shortShare);
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
  // Not instanceof Error: the error is made in the other context.
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
