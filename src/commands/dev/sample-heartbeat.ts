import { pause } from '../../agent/link/backoff.ts';
import type { ApiClient } from './api.ts';
import { syncSamples, type KnownCheck } from './samples.ts';
import { sampleTag } from './sample-checks.ts';

/** Much shorter than the period, so that the heartbeat never fails while `dev` runs. */
const pingEveryMs = 45_000;
const pingTimeoutMs = 5_000;

/**
 * The sample heartbeat of `dev` and the job that it watches, which calls the ping URL periodically. When `dev` exits,
 * the heartbeat becomes late and then fails, which shows its purpose. Rejects with ServiceError.
 */
export async function startSampleHeartbeat(
  api: ApiClient,
  options: { serviceUrl: string; signal: AbortSignal },
): Promise<KnownCheck> {
  const name = 'Sample: a job that must call every minute';
  const heartbeat = { period: 1, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' };
  const body = { name, tags: [sampleTag], heartbeat };
  const [check] = await syncSamples(api, [{ type: 'HEARTBEAT', name, body }], options.signal);
  if (check === undefined) throw new Error('the service created no check');
  // The local address of our own service, whatever address the service gives to others.
  const { heartbeat: made } = (await api.get(`/v1/checks/${check.id}`)) as { heartbeat: { pingUrl: string } };
  const url = new URL(new URL(made.pingUrl).pathname, options.serviceUrl);
  void pingOnAndOn(url, options.signal);
  return check;
}

async function pingOnAndOn(url: URL, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // The check exists to notice a lost call.
    await fetch(url, { method: 'POST', signal: AbortSignal.timeout(pingTimeoutMs) }).catch(() => undefined);
    await pause(pingEveryMs, signal);
  }
}
