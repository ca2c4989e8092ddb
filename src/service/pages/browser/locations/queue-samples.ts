import { get, withQuery } from '../base/service.ts';
import { locationsPath } from './types.ts';

/**
 * Samples of a location's queue, one a minute. The route allows 300 reads a day with one key, which many people may share.
 * So the samples are kept, and the figures that an open page reads anyway continue them.
 */

export type Samples = {
  readonly timestamps: readonly string[];
  readonly queueSize: readonly number[];
  readonly oldestScheduledCheckRun: readonly number[];
};

const minuteMs = 60_000;
/** Samples with a longer gap are read again, for example after the tab was hidden … */
const gapMs = 2.5 * minuteMs;
/** … but not sooner: 240 times a day. */
const readAgainMs = 6 * minuteMs;

const kept = new Map<string, { readonly readAt: number; samples: Samples }>();
const keyOf = (id: string, seconds: number) => `${id} ${seconds}`;
const lastOf = ({ timestamps }: Samples) => Date.parse(timestamps.at(-1) ?? '') || 0;

function isOld(key: string, now: number): boolean {
  const held = kept.get(key);
  if (held === undefined) return true;
  return now - Math.max(lastOf(held.samples), held.readAt) > gapMs && now - held.readAt > readAgainMs;
}

/** The samples of the last seconds: the kept ones, if they are not old. */
export async function readSamples(id: string, seconds: number, signal: AbortSignal): Promise<Samples> {
  const key = keyOf(id, seconds);
  const held = kept.get(key);
  if (held !== undefined && !isOld(key, Date.now())) return held.samples;
  const to = Math.floor(Date.now() / 1000);
  const path = withQuery(`${locationsPath}/${id}/metrics`, { from: to - seconds, to });
  const samples = await get<Samples>(path, signal);
  kept.set(key, { readAt: Date.now(), samples });
  return samples;
}

/**
 * Continues the kept samples with what waits now, once a minute. Returns the new samples, null if there is nothing new, or
 * 'old' if they have to be read again.
 */
export function continueSamples(
  id: string,
  seconds: number,
  { queued, oldestSeconds }: { queued: number; oldestSeconds: number },
): Samples | 'old' | null {
  const key = keyOf(id, seconds);
  const held = kept.get(key);
  if (held === undefined) return null;
  const now = Date.now();
  if (isOld(key, now)) return 'old';
  if (now - lastOf(held.samples) < minuteMs) return null;
  const { timestamps, queueSize, oldestScheduledCheckRun } = held.samples;
  const first = timestamps.findIndex((at) => Date.parse(at) >= now - seconds * 1000);
  const from = first === -1 ? timestamps.length : first;
  held.samples = {
    timestamps: [...timestamps.slice(from), new Date(now).toISOString()],
    queueSize: [...queueSize.slice(from), queued],
    oldestScheduledCheckRun: [...oldestScheduledCheckRun.slice(from), oldestSeconds],
  };
  return held.samples;
}
