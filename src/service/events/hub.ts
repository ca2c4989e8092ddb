import { toError } from '../../errors.ts';
import { uuidv7 } from '../engine/ids.ts';
import type { Db } from '../db/database.ts';
import { connectedMs } from '../locations/agents.ts';
import { TooManyRequests } from '../http/errors.ts';
import { createRing, type PublishedEvent } from './ring.ts';
import type { EventStream } from './stream.ts';
import { countAgents, eventsChannel, existingKeys, keepReading, stopReading } from './statements.ts';

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
const beatMs = 15_000;
/** Listening continues for this long without a stream, so that a page that is loaded again continues. */
const lingerMs = 30_000;

/** Creates the hub. It listens only while there are streams. `now`: milliseconds since the epoch. */
export function createEventHub({
  db,
  now,
  warn,
}: {
  db: Db;
  now: () => number;
  warn: (error: string) => void;
}): EventHub {
  const replicaId = uuidv7();
  const ring = createRing(ringSize);
  const streams = new Set<EventStream>();
  let pending: ReturnType<typeof ring.add>[] = [];
  let flushing: NodeJS.Timeout | undefined;
  let beating: NodeJS.Timeout | undefined;
  let lingering: NodeJS.Timeout | undefined;
  let listening: Promise<() => Promise<void>> | null = null;
  let ending: Promise<void> = Promise.resolve();
  let upkeep: Promise<void> = Promise.resolve();
  let isStopped = false;
  let admitted = new Map<string, number>();
  /** Agents by account and location. */
  let agents = new Map<string, number>();

  function publish(event: PublishedEvent): void {
    pending.push(ring.add(event));
    flushing ??= setTimeout(flush, batchMs);
  }

  function flush(): void {
    flushing = undefined;
    const events = pending;
    pending = [];
    const byAccount = new Map<string, typeof events>();
    for (const event of events)
      byAccount.set(event.account, [...(byAccount.get(event.account) ?? []), event]);
    let isBusy = false;
    for (const stream of streams) {
      const own = byAccount.get(stream.accountId) ?? [];
      if (own.length > 0 || stream.isBusy()) stream.deliver(own, ring.newest());
      isBusy ||= stream.isBusy();
    }
    if (isBusy) flushing ??= setTimeout(flush, batchMs);
  }

  function onNotification(payload: string): void {
    try {
      publish(JSON.parse(payload) as PublishedEvent); // written by our own triggers
    } catch (error) {
      warn(toError(error).message);
    }
  }

  /** Notifications may have been lost: nobody can continue from an earlier event. */
  function onLost(): void {
    ring.clear();
    pending = [];
    for (const stream of streams) stream.reset('CONNECTION_LOST', ring.newest());
  }

  async function listen(): Promise<() => Promise<void>> {
    await ending;
    const stop = await db.listen(eventsChannel, onNotification, onLost);
    await keepReading(db, replicaId);
    beating = setInterval(beat, beatMs);
    beating.unref();
    return stop;
  }

  function beat(): void {
    for (const stream of streams) stream.beat();
    upkeep = upkeep.then(keepUp).catch((error: unknown) => warn(toError(error).message));
  }

  /** Renews the triggers' term, ends the streams of deleted keys, and looks for agents that came or went. */
  async function keepUp(): Promise<void> {
    if (isStopped) return;
    await keepReading(db, replicaId);
    if (streams.size === 0) return;
    const open = [...streams];
    const keys = await existingKeys(db, [...new Set(open.map(({ apiKeyId }) => apiKeyId))]);
    for (const stream of open) if (!keys.has(stream.apiKeyId)) stream.end();
    const counts = await countAgents(db, {
      accountIds: [...new Set(open.map(({ accountId }) => accountId))],
      connectedSince: new Date(now() - connectedMs),
    });
    const known = agents;
    agents = new Map(counts.map((row) => [`${row.accountId} ${row.slugName}`, row.agentCount]));
    for (const { accountId, slugName, agentCount } of counts) {
      const before = known.get(`${accountId} ${slugName}`);
      if (before === undefined || before === agentCount) continue;
      publish({ account: accountId, kind: 'location', data: { slugName, agentCount } });
    }
  }

  function endListening(): void {
    const stop = listening;
    listening = null;
    clearInterval(beating);
    clearTimeout(flushing);
    flushing = undefined;
    pending = [];
    agents = new Map();
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
        if (agents.size === 0) upkeep = upkeep.then(keepUp).catch(() => undefined);
      } catch (error) {
        listening = null;
        throw error;
      } finally {
        const left = (admitted.get(apiKeyId) ?? 1) - 1;
        if (left > 0) admitted.set(apiKeyId, left);
        else admitted.delete(apiKeyId);
      }
    },
    add: (stream, lastId) => {
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
      if (streams.size > 0 || isStopped) return;
      clearTimeout(lingering);
      lingering = setTimeout(endListening, lingerMs);
      lingering.unref();
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
