import { setTimeout as delay } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { Db } from '../db/database.ts';
import { connectedMs } from '../locations/agents.ts';
import { TooManyRequests } from '../http/errors.ts';
import { createRing, type PublishedEvent } from './ring.ts';
import type { EventStream, ResetReason } from './stream.ts';
import {
  countAgents,
  eventsChannel,
  hasOlderTransactions,
  keepReading,
  newestTransaction,
  stopReading,
  validAccess,
} from './statements.ts';

/** Passes published events to the open streams of this replica. */
export type EventHub = {
  /** Throws 429 beyond the limits. Resolves when no later change can be lacking. */
  admit(apiKeyId: string): Promise<void>;
  /** Adds a stream. `lastId`: it continues after this event; null = from now on. */
  add(stream: EventStream, lastId: string | null): void;
  remove(stream: EventStream): void;
  /** Ends all streams; new ones are refused. */
  stop(): void;
  close(): Promise<void>;
};

const maxStreams = 1_000;
const maxOfKey = 20;
/** Events that a stream which was cut off can catch up with. */
const ringSize = 5_000;
/** Events are collected for this long, so that a burst is one write. */
const batchMs = 100;
/** Between two writes. To wake an open page for each of many runs costs it more than to draw what changed. */
const writeEveryMs = 1_000;
/** `beat`: between two signs of life. `settle`: how long the first stream waits for transactions that began before it. */
const standardTimes = { beatMs: 15_000, settleMs: 1_000 };
const settleStepMs = 50;
/** Listening continues for this long without a stream, so that a page that is loaded again continues. */
const lingerMs = 30_000;

/** Creates the hub. It listens only while there are streams. `now`: milliseconds since the epoch. */
export function createEventHub({
  db,
  now,
  warn,
  times = standardTimes,
}: {
  db: Db;
  now: () => number;
  warn: (error: string) => void;
  times?: { beatMs: number; settleMs: number };
}): EventHub {
  const replicaId = uuidv7();
  const ring = createRing(ringSize);
  const streams = new Set<EventStream>();
  let pending: ReturnType<typeof ring.add>[] = [];
  let flushing: NodeJS.Timeout | undefined;
  let flushedAt = -Infinity;
  let beating: NodeJS.Timeout | undefined;
  let lingering: NodeJS.Timeout | undefined;
  let listening: Promise<() => Promise<void>> | null = null;
  let ending: Promise<void> = Promise.resolve();
  let upkeep: Promise<void> = Promise.resolve();
  let isStopped = false;
  let admitted = new Map<string, number>();
  /** Agents by account and location. */
  let agents = new Map<string, number>();
  /** Accounts whose agents were counted before. */
  let counted = new Set<string>();
  /** Transactions that began before this one may still commit changes without an event; null = none. */
  let unsettled: string | null = null;

  function publish(event: PublishedEvent): void {
    pending.push(ring.add(event));
    flushSoon();
  }

  /** A change after a quiet second is sent almost at once; others wait for those that follow. */
  function flushSoon(): void {
    flushing ??= setTimeout(flush, Math.max(batchMs, flushedAt + writeEveryMs - performance.now()));
  }

  function flush(): void {
    flushing = undefined;
    flushedAt = performance.now();
    const events = pending;
    pending = [];
    const byAccount = new Map<string, typeof events>();
    for (const event of events) {
      const own = byAccount.get(event.account);
      if (own === undefined) byAccount.set(event.account, [event]);
      else own.push(event);
    }
    let isBusy = false;
    for (const stream of streams) {
      const own = byAccount.get(stream.accountId) ?? [];
      if (own.length > 0 || stream.isBusy()) stream.deliver(own, ring.newest());
      isBusy ||= stream.isBusy();
    }
    if (isBusy) flushSoon();
  }

  function onNotification(payload: string): void {
    try {
      const message = JSON.parse(payload) as PublishedEvent | { endedAccess: string }; // written by our own triggers
      if ('endedAccess' in message) endStreams(message.endedAccess);
      else publish(message);
    } catch (error) {
      warn(toError(error).message);
    }
  }

  /** Ends the streams of a key or a session. */
  function endStreams(accessId: string): void {
    for (const stream of streams)
      if (stream.apiKeyId === accessId || stream.sessionId === accessId) stream.end();
  }

  /** Notifications may have been lost: nobody can continue from an earlier event. */
  function onLost(reason: ResetReason = 'CONNECTION_LOST'): void {
    ring.clear();
    pending = [];
    for (const stream of streams) stream.reset(reason, ring.newest());
  }

  /** Waits for changes whose triggers ran while nobody listened. What takes longer is followed by a reset. */
  async function settle(): Promise<void> {
    unsettled = await newestTransaction(db);
    for (let waited = 0; waited < times.settleMs && (await isUnsettled()); waited += settleStepMs)
      await delay(settleStepMs, undefined, { ref: false });
  }

  async function isUnsettled(): Promise<boolean> {
    if (unsettled === null || (await hasOlderTransactions(db, unsettled))) return unsettled !== null;
    unsettled = null;
    return false;
  }

  async function listen(): Promise<() => Promise<void>> {
    await ending;
    const stop = await db.listen(eventsChannel, onNotification, () => onLost());
    try {
      await keepReading(db, replicaId);
      await settle();
    } catch (error) {
      // Otherwise the next stream would listen a second time, and hear everything twice.
      await stop().catch(() => undefined);
      throw error;
    }
    beating = setInterval(beat, times.beatMs);
    beating.unref();
    return stop;
  }

  function beat(): void {
    for (const stream of streams) stream.beat();
    upkeep = upkeep.then(keepUp).catch((error: unknown) => warn(toError(error).message));
  }

  /** Renews the triggers' term, ends the streams of those who may not read any more, and looks for agents that came or went. */
  async function keepUp(): Promise<void> {
    if (isStopped) return;
    await keepReading(db, replicaId);
    if (streams.size === 0) return;
    const open = [...streams];
    // Triggers tell of deleted keys and sessions. Others have expired, or were deleted while a stream was being opened.
    const valid = await validAccess(db, {
      apiKeyIds: [...new Set(open.map(({ apiKeyId }) => apiKeyId))],
      sessionIds: open.flatMap(({ sessionId }) => sessionId ?? []),
      now: new Date(now()),
    });
    for (const stream of open)
      if (!valid.has(stream.apiKeyId) || (stream.sessionId !== null && !valid.has(stream.sessionId)))
        stream.end();
    if (unsettled !== null && !(await isUnsettled())) onLost('LATE_CHANGES');
    const accountIds = [...new Set(open.map(({ accountId }) => accountId))];
    const counts = await countAgents(db, {
      accountIds,
      connectedSince: new Date(now() - connectedMs),
    });
    const [known, were] = [agents, counted];
    agents = new Map(counts.map((row) => [`${row.accountId} ${row.slugName}`, row.agentCount]));
    counted = new Set(accountIds);
    for (const { accountId, slugName, agentCount } of counts) {
      // A location that was created since had no agent.
      const before = known.get(`${accountId} ${slugName}`) ?? 0;
      if (!were.has(accountId) || before === agentCount) continue;
      publish({ account: accountId, kind: 'location', data: { slugName, agentCount } });
    }
  }

  /** Stops listening after a while, unless a stream comes. */
  function endSoon(): void {
    if (streams.size > 0 || isStopped) return;
    clearTimeout(lingering);
    lingering = setTimeout(endListening, lingerMs);
    lingering.unref();
  }

  function endListening(): void {
    const stop = listening;
    listening = null;
    clearInterval(beating);
    clearTimeout(flushing);
    flushing = undefined;
    pending = [];
    agents = new Map();
    counted = new Set();
    unsettled = null;
    ring.clear();
    if (stop === null) return;
    ending = stop
      .then(async (end) => {
        await upkeep;
        await end();
        await stopReading(db, replicaId);
      })
      .catch((error: unknown) => warn(toError(error).message));
  }

  return {
    admit: async (apiKeyId) => {
      const ofKey = [...streams].filter((stream) => stream.apiKeyId === apiKeyId).length;
      const coming = [...admitted.values()].reduce((sum, count) => sum + count, 0);
      if (isStopped || streams.size + coming >= maxStreams)
        throw new TooManyRequests(`Too many event streams (at most ${maxStreams})`, 30);
      if (ofKey + (admitted.get(apiKeyId) ?? 0) >= maxOfKey)
        throw new TooManyRequests(`Too many event streams with this API key (at most ${maxOfKey})`, 10);
      admitted.set(apiKeyId, (admitted.get(apiKeyId) ?? 0) + 1);
      clearTimeout(lingering);
      try {
        listening ??= listen();
        await listening;
        // So that the first change of agents is noticed as well.
        if (counted.size === 0) upkeep = upkeep.then(keepUp).catch(() => undefined);
      } catch (error) {
        listening = null;
        throw error;
      } finally {
        const left = (admitted.get(apiKeyId) ?? 1) - 1;
        if (left > 0) admitted.set(apiKeyId, left);
        else admitted.delete(apiKeyId);
        // The client may have left meanwhile, so that its stream is never added.
        endSoon();
      }
    },
    add: (stream, lastId) => {
      clearTimeout(lingering);
      streams.add(stream);
      if (lastId === null) return;
      const missed = ring.after(lastId);
      if (missed === null) return stream.reset('TOO_OLD', ring.newest());
      const waiting = new Set(pending);
      const own = missed.filter((event) => event.account === stream.accountId && !waiting.has(event));
      if (own.length > 0) stream.deliver(own, ring.newest());
    },
    remove: (stream) => {
      streams.delete(stream);
      endSoon();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(lingering);
      for (const stream of streams) stream.end();
      streams.clear();
      admitted = new Map();
    },
    close: async () => {
      endListening();
      await ending;
    },
  };
}
