import type { AlertChannelRow } from '../alert-channels/statements.ts';
import type { ChannelType } from '../alert-channels/configs.ts';

/**
 * Limits concurrent tries per channel, per account and per configured gateway in this replica, so that targets that
 * hang do not block the others. A caller without a turn gets the time to wait before it tries again.
 */
export type Turns = {
  /**
   * A turn lasts until `end` is called. Without a turn, `waitMs` is the time until the next chance.
   */
  begin(channel: Pick<AlertChannelRow, 'id' | 'type'>, accountId: string): Turn;
};
export type Turn = { isNow: true; end: () => void } | { isNow: false; waitMs: number };

/** Concurrency of the notification queue. */
export const places = 40;
const max = { ofChannel: 4, ofAccount: 12, ofGateway: 16 };
/** The gap between two tries that wait for the same lane is a share of its last try's duration, within these limits. */
const shortestGapMs = 25;
const longestWaitMs = 10 * 60_000;
/** Maximum number of idle lanes whose last duration is remembered. */
const maxIdle = 5000;

type Lane = { max: number; running: number; lastMs: number; nextAt: number };

/** Types whose target URL belongs to the channel. */
const ownTargets: readonly ChannelType[] = ['WEBHOOK', 'CHAT_A'];

export function createTurns(now: () => number): Turns {
  const lanes = new Map<string, Lane>();

  function laneOf(name: string, maxAtOnce: number): [name: string, lane: Lane] {
    const lane = lanes.get(name) ?? { max: maxAtOnce, running: 0, lastMs: 0, nextAt: 0 };
    lanes.set(name, lane);
    return [name, lane];
  }

  return {
    begin: ({ id, type }, accountId) => {
      const own = [
        laneOf(`channel ${id}`, max.ofChannel),
        laneOf(`account ${accountId}`, max.ofAccount),
        ...(ownTargets.includes(type) ? [] : [laneOf(`gateway ${type}`, max.ofGateway)]),
      ];
      const from = now();
      const full = own.filter(([, lane]) => lane.running >= lane.max);
      if (full.length > 0) {
        for (const [, lane] of full) {
          const next = Math.max(lane.nextAt, from) + Math.max(shortestGapMs, lane.lastMs / lane.max);
          lane.nextAt = Math.min(next, from + longestWaitMs);
        }
        return { isNow: false, waitMs: Math.max(...full.map(([, lane]) => lane.nextAt)) - from };
      }
      for (const [, lane] of own) lane.running += 1;
      return {
        isNow: true,
        end: () => {
          const at = now();
          for (const [name, lane] of own) {
            lane.running -= 1;
            lane.lastMs = at - from;
            if (lane.running === 0 && lane.nextAt <= at && lanes.size > maxIdle) lanes.delete(name);
          }
        },
      };
    },
  };
}
