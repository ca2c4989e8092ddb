import type { AgentLocation } from '../locations/agent-statements.ts';
import { createCallLimit } from '../http/call-limit.ts';
import { TooManyRequests } from '../http/errors.ts';

/**
 * Limits calls that agents make rarely, by location and per minute within this replica. A key of a location cannot
 * fill the database with them. All other calls are limited by their content: jobs, leases and results.
 */

/** Enough for 100 agents of a location that start at the same time and then lose the service twice. */
const hellosPerMinute = 300;
const eventCallsPerMinute = 240;
/** Bytes of events in a minute, as sent and as stored. An agent sends at most 60 events of 20 kB in an hour. */
const eventBytesPerMinute = 8_000_000;

export type AgentCallLimits = {
  /** Counts a call before its body is read. `bytes` = the declared length of the body. Throws HttpError 429. */
  countCall(route: string, location: AgentLocation, bytes: number): void;
  /** Counts bytes of events that would be stored. Throws HttpError 429. */
  countEvents(location: AgentLocation, bytes: number): void;
};

export function createAgentCallLimits({ now }: { now: () => number }): AgentCallLimits {
  const hellos = createCallLimit({ perMinute: hellosPerMinute, now });
  const eventCalls = createCallLimit({ perMinute: eventCallsPerMinute, now });
  const sentBytes = createCallLimit({ perMinute: eventBytesPerMinute, now });
  const storedBytes = createCallLimit({ perMinute: eventBytesPerMinute, now });
  const refuse = (what: string, seconds: number) =>
    new TooManyRequests(`Too many ${what} with keys of this location`, seconds);

  return {
    countCall: (route, { locationId }, bytes) => {
      if (route === 'hello' && !hellos.take(locationId)) {
        throw refuse(`hellos (at most ${hellosPerMinute} in a minute)`, hellos.secondsLeft());
      }
      if (route !== 'events') return;
      if (!eventCalls.take(locationId)) {
        throw refuse(`event calls (at most ${eventCallsPerMinute} in a minute)`, eventCalls.secondsLeft());
      }
      if (!sentBytes.take(locationId, bytes)) {
        throw refuse(`bytes of events (at most ${eventBytesPerMinute} in a minute)`, sentBytes.secondsLeft());
      }
    },
    countEvents: ({ locationId }, bytes) => {
      if (storedBytes.take(locationId, bytes)) return;
      throw refuse(`bytes of events (at most ${eventBytesPerMinute} in a minute)`, storedBytes.secondsLeft());
    },
  };
}
