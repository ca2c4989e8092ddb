import { randomUUID } from 'node:crypto';

/** A change, as it is published. */
export type PublishedEvent = {
  account: string;
  kind: string;
  data: { checkId?: string | null; [field: string]: unknown };
};

/** An event with its place in this replica's order, and its text for the stream. */
export type RingEvent = { account: string; checkId: string | null; number: number; text: string };

/** The last events of this replica, by which a stream that was cut off continues. */
export type Ring = {
  add(event: PublishedEvent): RingEvent;
  /** The id of the newest event. */
  newest(): string;
  /** Events after an id; null = some of them are gone, or the id is another replica's. */
  after(id: string): RingEvent[] | null;
  /** Forgets everything: an id from before is not known any more. */
  clear(): void;
};

/** Creates the ring. It keeps the last `size` events. */
export function createRing(size: number): Ring {
  let epoch = randomUUID().slice(0, 8);
  let events: RingEvent[] = [];
  let number = 0;
  return {
    add: ({ account, kind, data }) => {
      number += 1;
      const text = `id: ${epoch}-${number}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
      const event = { account, checkId: data.checkId ?? null, number, text };
      events.push(event);
      // Cut in halves, so that it is seldom.
      if (events.length > 2 * size) events = events.slice(-size);
      return event;
    },
    newest: () => `${epoch}-${number}`,
    after: (id) => {
      const [, ofEpoch, at] = /^([0-9a-f]{8})-(\d{1,15})$/.exec(id) ?? [];
      const last = Number(at);
      if (ofEpoch !== epoch || last > number) return null;
      const oldest = events[0]?.number ?? number + 1;
      return last < oldest - 1 ? null : events.filter((event) => event.number > last);
    },
    clear: () => {
      epoch = randomUUID().slice(0, 8);
      events = [];
      number = 0;
    },
  };
}
