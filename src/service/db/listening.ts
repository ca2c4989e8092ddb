import pg from 'pg';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** LISTEN on one connection for all channels: each would cost the server a process and memory. */
export type Listening = {
  /**
   * Calls `fn` with each payload, and `onGap` after each time that some may have been lost. Rejects if the server cannot be
   * reached. Resolves to what ends it.
   */
  listen(channel: string, fn: (payload: string) => void, onGap?: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

type Subscription = {
  channel: string;
  fn: (payload: string) => void;
  onGap: (() => void) | undefined;
  /** False until the server listens for it. */
  isListening: boolean;
};

const relistenMs = 1_000;

/** Opens the connection with the first channel, replaces it when it breaks, and ends it with the last channel. */
export function createListening(settings: pg.ClientConfig, log: Log | undefined): Listening {
  const subscriptions = new Set<Subscription>();
  let connection: Promise<pg.Client> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let asking: Promise<unknown> = Promise.resolve();

  /** One statement at a time, as the driver wants it. */
  function ask(client: pg.Client, sql: string): Promise<unknown> {
    const answer = asking.then(() => client.query(sql));
    asking = answer.catch(() => undefined);
    return answer;
  }

  function connected(): Promise<pg.Client> {
    if (connection !== null) return connection;
    clearTimeout(timer);
    const client = new pg.Client(settings);
    let isOver = false;
    const onEnd = (error?: Error) => {
      if (isOver) return;
      isOver = true;
      if (connection === opening) connection = null;
      client.end().catch(() => undefined);
      if (![...subscriptions].some(({ isListening }) => isListening)) return;
      log?.warn({ error: error?.message ?? 'ended' }, 'listening connection broke');
      timer = setTimeout(() => void connected().catch(() => undefined), relistenMs);
    };
    client.on('error', onEnd);
    client.on('end', () => onEnd());
    client.on('notification', ({ channel, payload }) => {
      for (const each of subscriptions) if (each.channel === channel) each.fn(payload ?? '');
    });
    const opening: Promise<pg.Client> = (async () => {
      try {
        await client.connect();
        const again = [...subscriptions].filter(({ isListening }) => isListening);
        if (again.length > 0) await ask(client, again.map(({ channel }) => `listen ${channel}`).join('; '));
        for (const { onGap } of again) onGap?.();
        if (subscriptions.size === 0) onEnd();
        return client;
      } catch (error) {
        onEnd(toError(error));
        throw error;
      }
    })();
    connection = opening;
    return opening;
  }

  async function end(): Promise<void> {
    clearTimeout(timer);
    const last = connection;
    connection = null;
    await (await last?.catch(() => null))?.end();
  }

  return {
    listen: async (channel, fn, onGap) => {
      const subscription: Subscription = { channel, fn, onGap, isListening: false };
      subscriptions.add(subscription);
      const isUsed = () => [...subscriptions].some((each) => each.channel === channel);
      try {
        const client = await connected();
        await ask(client, `listen ${channel}`).catch((error: unknown) => {
          // A connection that does not answer is given up: another statement would wait as long.
          client.emit('error', toError(error));
          throw error;
        });
        // Else the connection broke with the answer, and nobody has noted that this channel needs another one.
        subscription.isListening = true;
        if (connection === null) await connected();
      } catch (error) {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0) await end();
        throw error;
      }
      return async () => {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0) return end();
        const client = await connection?.catch(() => null);
        if (client !== null && client !== undefined && !isUsed())
          await ask(client, `unlisten ${channel}`).catch(() => undefined);
      };
    },
    close: async () => {
      subscriptions.clear();
      await end();
    },
  };
}
