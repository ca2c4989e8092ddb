import { protocolLimits } from '../../protocol/agent-calls.ts';
import { answerMarginMs } from '../claiming/poller.ts';

/** How often the agent asks for the checks that it holds, and how long it waits for an answer. In milliseconds. */

/** After an outage the service waits for one lease before it takes checks away, so the agent asks sooner. */
export const maxRetryMs = 5_000;
/**
 * An agent that stops soon after it last heard of the service asks often enough, and for answers that come at once, to
 * hear of a service that answers in time.
 */
const stopping = { marginMs: 5_000, retryMs: 2_000, retryAfterMs: 10_000 };

/** Within a list, only its end may be missing. */
const listingSeconds = 1;

/**
 * Limits of one call. `isRetry`: the last one has failed. `isListing`: the last answer was a part of a list. `stopsSoon`:
 * without an answer the agent stops its checks.
 */
export function callPace({
  isRetry,
  isListing,
  stopsSoon,
}: {
  isRetry: boolean;
  isListing: boolean;
  stopsSoon: boolean;
}) {
  const waitSeconds = isRetry ? 0 : isListing ? listingSeconds : protocolLimits.keepingWaitSeconds;
  const marginMs = stopsSoon && !isRetry ? stopping.marginMs : answerMarginMs;
  return { waitSeconds, timeoutMs: waitSeconds * 1000 + marginMs };
}

/** The wait after a failure. `retryAfterMs`: what the service asked for; `backoffMs`: what the number of failures asks for. */
export function retryPace(retryAfterMs: number, backoffMs: number, stopsSoon: boolean): number {
  return stopsSoon
    ? Math.max(Math.min(retryAfterMs, stopping.retryAfterMs), Math.min(stopping.retryMs, backoffMs))
    : Math.max(retryAfterMs, Math.min(maxRetryMs, backoffMs));
}
