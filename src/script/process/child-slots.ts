import { availableParallelism } from 'node:os';
import { AgentError, JobAborted } from '../../errors.ts';

/** The two uses of slots: setup and teardown scripts take seconds, Playwright runs take minutes. */
export type SlotUse = 'api' | 'playwright';

/** Releases the slot; calls after the first do nothing. */
export type ReleaseSlot = () => void;

export type ChildSlots = {
  readonly total: number;
  /** Waits for a slot, first come, first served within a use; rejects with `signal.reason`. */
  take: (use: SlotUse, signal: AbortSignal) => Promise<ReleaseSlot>;
  /** Taken slots and waiting callers, by use. */
  readonly taken: { readonly [U in SlotUse]: number };
  readonly waiting: { readonly [U in SlotUse]: number };
};

type Waiter = { use: SlotUse; grant: () => void };

/**
 * A gate for the processes that run customer code. Each use leaves a quarter of the slots (at least one) to the other.
 * Long Playwright runs therefore never block an API check, and many API checks never block a browser.
 */
export function createChildSlots(total: number): ChildSlots {
  const kept = Math.max(1, Math.floor(total / 4));
  const most = Math.max(1, total - kept);
  const taken = { api: 0, playwright: 0 };
  const queue: Waiter[] = [];

  const free = (use: SlotUse) => taken[use] < most && taken.api + taken.playwright < total;
  const serve = () => {
    for (let i = 0; i < queue.length;) {
      const waiter = queue[i];
      if (waiter !== undefined && free(waiter.use)) {
        queue.splice(i, 1);
        waiter.grant();
      } else i += 1;
    }
  };
  const occupy = (use: SlotUse): ReleaseSlot => {
    taken[use] += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      taken[use] -= 1;
      serve();
    };
  };

  return {
    total,
    taken,
    get waiting() {
      const count = (use: SlotUse) => queue.filter((waiter) => waiter.use === use).length;
      return { api: count('api'), playwright: count('playwright') };
    },
    take: (use, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (free(use) && !queue.some((waiter) => waiter.use === use)) return resolve(occupy(use));
        const waiter: Waiter = {
          use,
          grant: () => {
            signal.removeEventListener('abort', leave);
            resolve(occupy(use));
          },
        };
        const leave = () => {
          queue.splice(queue.indexOf(waiter), 1);
          reject(signal.reason);
        };
        signal.addEventListener('abort', leave, { once: true });
        queue.push(waiter);
      }),
  };
}

/** The gate of this process: at most 2 × cores concurrent children that run customer code (at least 2). */
export const childSlots = createChildSlots(2 * availableParallelism());

/** A deadline that passes before the script has started is not the script's fault. */
export function beforeItsTurn(error: unknown): unknown {
  if (!(error instanceof JobAborted) || error.code !== 'deadline') return error;
  return new AgentError('INTERNAL', 'no process for the script was free before the deadline', {
    cause: error,
  });
}
