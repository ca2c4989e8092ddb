/** When the outbox writes next: at the earliest of the times that were asked for. */
export type CommitTimer = {
  /** Writes after this time at the latest; 0 = before the call returns. */
  within: (delayMs: number) => void;
  stop: () => void;
};

export function createCommitTimer(commit: () => void): CommitTimer {
  let timer: NodeJS.Timeout | undefined;
  /** By performance.now. */
  let dueAt = Infinity;
  const stop = (): void => {
    clearTimeout(timer);
    dueAt = Infinity;
  };
  return {
    within: (delayMs) => {
      const at = performance.now() + delayMs;
      if (at >= dueAt) return;
      stop();
      if (delayMs === 0) {
        commit();
        return;
      }
      dueAt = at;
      timer = setTimeout(() => {
        dueAt = Infinity;
        commit();
      }, delayMs);
    },
    stop,
  };
}
