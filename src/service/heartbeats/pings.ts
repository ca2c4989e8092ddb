import type { Db } from '../db/database.ts';
import {
  lockHeartbeat,
  lockHeartbeatByToken,
  type HeartbeatEvent,
  type LockedHeartbeat,
} from './statements.ts';
import type { Partitions } from '../db/partitions.ts';
import { storeOutcomes } from './outcomes.ts';
import { stateOfPing } from './rules.ts';

/** Records pings. Each ping passes the check and restarts its timer. */

export type PingDeps = { db: Db; now: () => number; partitions: Partitions };

export type Ping = {
  of: { token: string } | { accountId: string; checkId: string };
  source: string;
  userAgent: string;
};

/** 'unknown' = no such heartbeat. 'off' = the heartbeat or its group is deactivated, and nothing is recorded. */
export async function recordPing(
  { db, now, partitions }: PingDeps,
  { of, source, userAgent }: Ping,
): Promise<HeartbeatEvent | 'unknown' | 'off'> {
  return partitions.withDays(() =>
    db.tx(async (tx) => {
      const heartbeat =
        'token' in of ? await lockHeartbeatByToken(tx, of.token) : await lockHeartbeat(tx, of);
      if (heartbeat === undefined) return 'unknown';
      if (!heartbeat.activated) return 'off';
      const time = now();
      const state = stateOfPing(timerOf(heartbeat), time);
      const [event] = await storeOutcomes(tx, { partitions, now: time }, [
        { heartbeat, state, source, userAgent },
      ]);
      if (event === undefined) throw new Error('no event was stored');
      return event;
    }),
  );
}

const timerOf = ({ timerFrom, dueAt, ...rest }: LockedHeartbeat) => ({
  ...rest,
  timerFrom: timerFrom?.getTime() ?? null,
  dueAt: dueAt?.getTime() ?? null,
});
