import { toError } from '../../errors.ts';
import type { Network } from '../../executors/interface/network.ts';
import { withNames } from '../../executors/evidence/hop-names.ts';
import {
  traceroute,
  type Traceroute,
  type TraceTarget,
  type TraceTimes,
  type Unavailable,
} from '../../executors/evidence/traceroute.ts';

/** Traceroutes for all failing checks of an agent: one for each target and minute, a few at a time. */
export type Traces = {
  /**
   * The traceroute to a target for the current minute: finished, in progress, or started now. Never rejects. If the
   * signal fires, it returns that as the reason, and the traceroute continues for other callers.
   */
  to: (target: TraceTarget, signal: AbortSignal) => Promise<Traceroute | Unavailable>;
  /** Whether there is a finished one. */
  has: (target: TraceTarget) => boolean;
  close: () => void;
};

const maxAgeMs = 60_000;
const maxTraces = 4;
/** Traceroutes that wait for a slot; further ones would be too late for their results. */
const maxWaiting = 8;
const maxKept = 500;
const queueFull: Unavailable = { unavailable: 'too many other traces were in progress' };
/** Maximum time of one traceroute, including its wait for a slot and its names. */
export const traceLimitMs = 5000;

type Kept = { at: number; done: boolean; trace: Promise<Traceroute | Unavailable> };

/** `now`: milliseconds since the epoch. */
export function createTraces(options: {
  network: Pick<Network, 'nameServers'>;
  now: () => number;
  times?: TraceTimes;
}): Traces {
  const { network, now, times } = options;
  const kept = new Map<string, Kept>();
  /** Traceroutes that are in progress or wait. */
  const limits = new Set<AbortController>();
  let running = 0;
  const waiting: (() => void)[] = [];

  const keyOf = ({ way, address, port }: TraceTarget) => `${way} ${port} ${address}`;

  const recent = (target: TraceTarget): Kept | null => {
    const found = kept.get(keyOf(target));
    return found === undefined || now() - found.at > maxAgeMs ? null : found;
  };

  const turn = async (): Promise<void> => {
    if (running < maxTraces) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const startNext = () => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };

  const make = async (target: TraceTarget): Promise<Traceroute | Unavailable> => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), traceLimitMs);
    limits.add(limit);
    await turn();
    try {
      if (limit.signal.aborted) {
        // Nothing was sent, so do not remember it: the next caller may succeed.
        kept.delete(keyOf(target));
        return queueFull;
      }
      const options = { signal: limit.signal, now, ...(times === undefined ? {} : { times }) };
      const found = await traceroute(target, options);
      return 'unavailable' in found ? found : { ...found, hops: await withNames(found.hops, network) };
    } catch (error) {
      // A rejection without a listener would end the agent.
      return { unavailable: toError(error).message };
    } finally {
      clearTimeout(timer);
      limits.delete(limit);
      startNext();
    }
  };

  const begin = (target: TraceTarget): Kept => {
    const entry: Kept = { at: now(), done: false, trace: make(target) };
    void entry.trace.then(() => (entry.done = true));
    const key = keyOf(target);
    kept.delete(key);
    kept.set(key, entry);
    for (const old of kept.keys()) {
      if (kept.size <= maxKept) break;
      kept.delete(old);
    }
    return entry;
  };

  return {
    to: (target, signal) => {
      const known = recent(target);
      if (known === null && waiting.length >= maxWaiting) {
        return Promise.resolve(queueFull);
      }
      const { trace } = known ?? begin(target);
      return Promise.race([trace, stopped(signal)]);
    },
    has: (target) => recent(target)?.done === true,
    close: () => {
      for (const limit of limits) limit.abort();
      kept.clear();
    },
  };
}

function stopped(signal: AbortSignal): Promise<Unavailable> {
  return new Promise((resolve) => {
    const giveUp = () => resolve({ unavailable: 'there was no time left' });
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}
