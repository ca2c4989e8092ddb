import PQueue from 'p-queue';
import type { Lane } from '../protocol/check-types.ts';

/**
 * Slots of each lane. One p-queue per lane, so that no lane delays another; p-queue gives concurrency only (its
 * `timeout` would free the slot while the work goes on).
 */
export type Lanes = {
  /** Slots of each lane that this agent has. */
  readonly slots: { readonly [L in Lane]?: number };
  /** Slots that neither run nor are waited for. */
  free: (lane: Lane) => number;
  running: (lane: Lane) => number;
  /** Runs `task` in a slot of the lane, in the order of asking. */
  run: <T>(lane: Lane, task: () => Promise<T>) => Promise<T>;
  /** Calls `listener` whenever a slot of the lane becomes free; returns the way to stop that. */
  onFree: (lane: Lane, listener: () => void) => () => void;
};

export function createLanes(slots: { readonly [L in Lane]?: number }): Lanes {
  const queues = new Map(
    Object.entries(slots).map(([lane, concurrency]) => [lane, new PQueue({ concurrency })] as const),
  );
  const queueOf = (lane: Lane): PQueue => {
    const queue = queues.get(lane);
    if (queue === undefined) throw new Error(`this agent has no lane ${lane}`);
    return queue;
  };
  return {
    slots,
    free: (lane) => {
      const queue = queueOf(lane);
      return Math.max(0, queue.concurrency - queue.pending - queue.size);
    },
    running: (lane) => queueOf(lane).pending,
    run: (lane, task) => queueOf(lane).add(task),
    onFree: (lane, listener) => {
      const queue = queueOf(lane);
      queue.on('next', listener);
      return () => queue.off('next', listener);
    },
  };
}
