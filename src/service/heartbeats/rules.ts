import type { IncomingHttpHeaders } from 'node:http';
import type { HeartbeatState } from './statements.ts';

/** Rules that decide the state of a ping from its timer (facts, 5.9). Pure. */

/** `timerFrom` is in milliseconds since the epoch; null = no timer is running. */
export type Timer = {
  state: HeartbeatState | null;
  timerFrom: number | null;
  /** When the heartbeat fails, if later than after the grace time: the service was away. Milliseconds since the epoch. */
  dueAt?: number | null;
  periodSeconds: number;
  graceSeconds: number;
};

/** A ping counts as on time if it is early by at most a tenth of the period, and by at most one minute. */
const earlyShare = 0.1;
const maxEarlySeconds = 60;

/**
 * EARLY: clearly before the period is over. RECEIVED: the first ping, the first after a failure, or close to the end
 * of the period.
 * GRACE: after the period, within the grace time. LATE: after the grace time, but before the failure was detected.
 */
export function stateOfPing(timer: Timer, at: number): HeartbeatState {
  const { state, timerFrom, dueAt, periodSeconds, graceSeconds } = timer;
  if (timerFrom === null || state === 'FAILING') return 'RECEIVED';
  const expected = timerFrom + periodSeconds * 1000;
  if (at > Math.max(expected + graceSeconds * 1000, dueAt ?? 0)) return 'LATE';
  if (at > expected) return 'GRACE';
  const tolerance = Math.min(periodSeconds * earlyShare, maxEarlySeconds) * 1000;
  return at < expected - tolerance ? 'EARLY' : 'RECEIVED';
}

const maxSource = 256;
const maxUserAgent = 512;

// PostgreSQL cannot store U+0000 or half of a surrogate pair, and the page shows no control characters.
// oxlint-disable-next-line no-control-regex -- those characters are the subject
const unstorable = /[\u0000-\u001f\u007f]|\p{Surrogate}/gu;
const cleaned = (text: string, max: number) => text.replace(unstorable, ' ').slice(0, max).trim();

/** The source of a ping: the origin of the calling page if there is one, otherwise the HTTP method. */
export function sourceOf(method: string, { origin, referer }: IncomingHttpHeaders): string {
  for (const text of [origin, referer]) {
    if (text === undefined || text === 'null' || !URL.canParse(text)) continue;
    const { protocol, host } = new URL(text);
    if (host !== '') return cleaned(`${protocol}//${host}`, maxSource);
  }
  return `HTTP ${method}`;
}

export const userAgentOf = (headers: IncomingHttpHeaders): string =>
  cleaned(headers['user-agent'] ?? '', maxUserAgent);

/** Percentage of pings among events; 0 when there are no events. */
export const successRatio = ({ all, pings }: { all: number; pings: number }): number =>
  all === 0 ? 0 : Math.round((pings / all) * 10_000) / 100;
