/**
 * Detects a loop that is stuck: before each step the loop sets the maximum duration of the step. A loop that rests
 * (all slots busy, nothing to claim) is not stuck, however long it rests.
 *
 * A stuck event loop needs no watch: the probe is then not answered, which fails it. Once the event loop runs again,
 * a restart would fix nothing.
 */
export type TurnWatch = {
  /** Starts a step that takes at most `milliseconds`. */
  turn: (milliseconds: number) => void;
  rest: () => void;
  isStuck: () => boolean;
};

/** `clock` counts monotonic milliseconds (performance.now). */
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
