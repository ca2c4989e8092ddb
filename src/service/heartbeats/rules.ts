import type { IncomingHttpHeaders } from 'node:http';
import type { HeartbeatState } from './statements.ts';

/** What a ping means, by the timer it comes to (facts, 5.9): pure rules. */

/** Milliseconds since the epoch; `timerFrom` null = no timer runs. */
export type Timer = {
  state: HeartbeatState | null;
  timerFrom: number | null;
  periodSeconds: number;
  graceSeconds: number;
};

/** A ping that comes this much before its moment, at most, is in time: a tenth of the period, a minute at most. */
const earlyShare = 0.1;
const mostEarlySeconds = 60;

/**
 * EARLY: clearly before the period is over. RECEIVED: the first ping, the first after a failure, and one about when the
 * period is over. GRACE: later, within the grace. LATE: later than that, but before anybody noticed.
 */
export function stateOfPing(timer: Timer, at: number): HeartbeatState {
  const { state, timerFrom, periodSeconds, graceSeconds } = timer;
  if (timerFrom === null || state === 'FAILING') return 'RECEIVED';
  const expected = timerFrom + periodSeconds * 1000;
  if (at > expected + graceSeconds * 1000) return 'LATE';
  if (at > expected) return 'GRACE';
  const tolerance = Math.min(periodSeconds * earlyShare, mostEarlySeconds) * 1000;
  return at < expected - tolerance ? 'EARLY' : 'RECEIVED';
}

const mostSource = 256;
const mostUserAgent = 512;

// PostgreSQL stores neither U+0000 nor half of a surrogate pair, and the page shows no control characters.
// oxlint-disable-next-line no-control-regex -- those characters are the subject
const unstorable = /[\u0000-\u001f\u007f]|\p{Surrogate}/gu;
const cleaned = (text: string, most: number) => text.replace(unstorable, ' ').slice(0, most).trim();

/** How a ping arrived: the origin of the page that it came from, else the HTTP method. */
export function sourceOf(method: string, { origin, referer }: IncomingHttpHeaders): string {
  for (const text of [origin, referer]) {
    if (text === undefined || text === 'null' || !URL.canParse(text)) continue;
    const { protocol, host } = new URL(text);
    if (host !== '') return cleaned(`${protocol}//${host}`, mostSource);
  }
  return `HTTP ${method}`;
}

export const userAgentOf = (headers: IncomingHttpHeaders): string =>
  cleaned(headers['user-agent'] ?? '', mostUserAgent);

/** Percent of pings among events; 0 where there were none. */
export const successRatio = ({ all, pings }: { all: number; pings: number }): number =>
  all === 0 ? 0 : Math.round((pings / all) * 10_000) / 100;
