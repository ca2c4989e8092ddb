import type { ChildSlots, ReleaseSlot } from '../process/child-slots.ts';

/**
 * Slots of API script runs. While the request of a run is in progress, its process does nothing yet holds a slot. A
 * target that lets every request time out would therefore hold up all other checks with scripts. So a run may be asked
 * to release process and slot if its request takes long and others wait; its teardown then gets new ones.
 */
export type SlotKeeper = {
  /** Same as ChildSlots.take for `api`. */
  take: (signal: AbortSignal) => Promise<ReleaseSlot>;
  /** Marks the process as idle. `leave` releases it and its slot. Call the returned function to withdraw the offer. */
  park: (leave: () => Promise<void>) => () => void;
};

/**
 * Milliseconds of a request after which its process may be asked to make room. With fast targets, a run needs one
 * process.
 */
const patienceMs = 250;

export function createSlotKeeper(slots: ChildSlots): SlotKeeper {
  const parked: { leave: () => Promise<void> }[] = [];
  let leaving = 0;

  /** Asks as many idle runs as there are waiting ones, the longest idle first. */
  const relieve = () => {
    while (slots.waiting.api > leaving) {
      const longestIdle = parked.shift();
      if (longestIdle === undefined) return;
      leaving += 1;
      void longestIdle.leave().finally(() => {
        leaving -= 1;
      });
    }
  };

  return {
    take: (signal) => {
      const slot = slots.take('api', signal);
      relieve();
      return slot;
    },
    park: (leave) => {
      const entry = { leave };
      const timer = setTimeout(() => {
        parked.push(entry);
        relieve();
      }, patienceMs);
      return () => {
        clearTimeout(timer);
        const index = parked.indexOf(entry);
        if (index >= 0) parked.splice(index, 1);
      };
    },
  };
}
