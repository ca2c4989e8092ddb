import type { ChildSlots, ReleaseSlot } from '../process/child-slots.ts';

/**
 * Slots of API script runs. While the request of a run is under way its process does nothing, yet holds a slot: a target
 * that lets every request time out would hold up all other checks with scripts. So a run may be asked to give up process
 * and slot once its request takes long and others wait; its teardown then gets new ones.
 */
export type SlotKeeper = {
  /** As ChildSlots.take for `api`. */
  take: (signal: AbortSignal) => Promise<ReleaseSlot>;
  /** From now on the process is idle. `leave` gives it and its slot up. The answer ends the offer. */
  park: (leave: () => Promise<void>) => () => void;
};

/** Milliseconds that a request may take before its process can be asked to make room: quick targets cost one process. */
const patienceMs = 250;

export function createSlotKeeper(slots: ChildSlots): SlotKeeper {
  const parked: { leave: () => Promise<void> }[] = [];
  let leaving = 0;

  /** Asks as many as are waited for, the longest idle first. */
  const relieve = () => {
    while (slots.waiting.api > leaving) {
      const longest = parked.shift();
      if (longest === undefined) return;
      leaving += 1;
      void longest.leave().finally(() => {
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
