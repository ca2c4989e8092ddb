import type { Lane } from '../../protocol/check-types.ts';
import { createPoller, type Poller } from './poller.ts';
import { createTurnWatch, type TurnWatch } from '../metrics/turn-watch.ts';

/** The loops that ask the service for jobs, one for each lane. */
export type Claiming = {
  /** Starts to claim jobs of these lanes too. */
  start: (lanes: readonly Lane[]) => void;
  /** True if one of the loops is stuck. */
  isStuck: () => boolean;
  /** Stops new claims; open claims may still be answered. Resolves when all loops have ended. */
  finish: () => Promise<void>;
  /** Aborts open claims as well. */
  cut: () => void;
};

export function createClaiming(
  options: Omit<Parameters<typeof createPoller>[0], 'lane' | 'watch'>,
): Claiming {
  const loops: { poller: Poller; watch: TurnWatch }[] = [];
  return {
    start: (lanes) => {
      for (const lane of lanes) {
        const watch = createTurnWatch();
        const poller = createPoller({ ...options, lane, watch });
        loops.push({ poller, watch });
        poller.start();
      }
    },
    isStuck: () => loops.some(({ watch }) => watch.isStuck()),
    finish: async () => {
      await Promise.all(loops.map(({ poller }) => poller.finish()));
    },
    cut: () => {
      for (const { poller } of loops) poller.cut();
    },
  };
}
