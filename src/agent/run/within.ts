import { AgentError, JobAborted } from '../../errors.ts';
import type { Hold } from './holds.ts';

/**
 * Runs `execute` with a signal that fires as JobAborted('deadline') after `limitMs`, or with the hold's own reason.
 * If it does not return within `settleMs` after its signal, it is abandoned, so that its slot becomes free. `stopped`
 * is the signal's reason, if it had fired by the time `execute` resolved.
 */
export function within<T>(
  limits: { limitMs: number; settleMs: number },
  hold: Hold,
  execute: (signal: AbortSignal) => Promise<T>,
): Promise<{ value: T; stopped: JobAborted | null }> {
  const { limitMs, settleMs } = limits;
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    let stopped: JobAborted | null = null;
    let timer: NodeJS.Timeout | undefined;
    const abort = (reason: JobAborted) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const where = hold.stage === null ? '' : `, in its stage ${hold.stage}`;
        const text = `the executor did not end within ${settleMs} ms of its signal${where}`;
        reject(new AgentError('INTERNAL', text));
      }, settleMs);
      stopped ??= reason;
      controller.abort(reason);
    };
    timer = setTimeout(() => abort(new JobAborted('deadline')), limitMs);
    hold.onAbort = () => abort(hold.aborted ?? new JobAborted('cancelled'));
    const end = () => {
      clearTimeout(timer);
      hold.onAbort = null;
    };
    execute(controller.signal).then(
      (value) => {
        end();
        resolve({ value, stopped });
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}
