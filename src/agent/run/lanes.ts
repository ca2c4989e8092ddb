import PQueue from 'p-queue';
import { lanes as allLanes, type Lane } from '../../protocol/check-types.ts';

/**
 * Slots of each lane. Each lane has its own p-queue, so that no lane delays another. Only p-queue's concurrency is
 * used; its `timeout` would free the slot while the work continues.
 */
export type Lanes = {
  /** Slots of each lane that this agent has. */
  readonly slots: { readonly [L in Lane]?: number };
  /** Slots that are not in use and not waited for. */
  free: (lane: Lane) => number;
  running: (lane: Lane) => number;
  /** Runs `task` in a slot of the lane, first come, first served. */
  run: <T>(lane: Lane, task: () => Promise<T>) => Promise<T>;
  /** Calls `listener` whenever a slot of the lane becomes free; returns a function that removes it. */
  onFree: (lane: Lane, listener: () => void) => () => void;
  /** Adds a lane that this agent did not have. */
  open: (lane: Lane, slots: number) => void;
};

export function createLanes(slots: { readonly [L in Lane]?: number }): Lanes {
  const own: { [L in Lane]?: number } = {};
  const queues = new Map<Lane, PQueue>();
  const open = (lane: Lane, concurrency: number) => {
    own[lane] = concurrency;
    queues.set(lane, new PQueue({ concurrency }));
  };
  for (const lane of allLanes) {
    const concurrency = slots[lane];
    if (concurrency !== undefined) open(lane, concurrency);
  }
  const queueOf = (lane: Lane): PQueue => {
    const queue = queues.get(lane);
    if (queue === undefined) throw new Error(`this agent has no lane ${lane}`);
    return queue;
  };
  return {
    slots: own,
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
    open,
  };
}
