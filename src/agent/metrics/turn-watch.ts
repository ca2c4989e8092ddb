/**
 * Knows whether a loop still turns: before each step the loop says how long the step may take at most. A loop that rests
 * (all slots busy, nothing to ask) is not stuck, however long it lasts.
 *
 * A stuck event loop needs no watch of its own: the probe is then not answered at all, which fails it. Once the event
 * loop turns again there is nothing a restart would mend.
 */
export type TurnWatch = {
  /** A step begins that ends within `milliseconds`. */
  turn: (milliseconds: number) => void;
  rest: () => void;
  isStuck: () => boolean;
};

/** `clock` counts milliseconds and never jumps (performance.now). */
export function createTurnWatch(clock: () => number = () => performance.now()): TurnWatch {
  let dueBy: number | null = null;
  return {
    turn: (milliseconds) => {
      dueBy = clock() + milliseconds;
    },
    rest: () => {
      dueBy = null;
    },
    isStuck: () => dueBy !== null && clock() > dueBy,
  };
}
