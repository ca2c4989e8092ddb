import { pause } from '../../agent/link/backoff.ts';
import type { ApiClient } from './api.ts';
import { syncSamples, type KnownCheck } from './samples.ts';
import { sampleTag } from './sample-checks.ts';

/** Well within its period, so that it never fails while `dev` runs. */
const pingEveryMs = 45_000;
const pingTimeoutMs = 5_000;

/**
 * The sample heartbeat of `dev` and the job that it watches: a call of its ping URL every so often. It is late, and then
 * failed, as soon as `dev` has ended: that is what heartbeats are for. Rejects with ServiceError.
 */
export async function startSampleHeartbeat(
  api: ApiClient,
  options: { serviceUrl: string; signal: AbortSignal },
): Promise<KnownCheck> {
  const name = 'Sample: a job that must call every minute';
  const heartbeat = { period: 1, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' };
  const body = { name, tags: [sampleTag], heartbeat };
  const [check] = await syncSamples(api, [{ type: 'HEARTBEAT', name, body }]);
  if (check === undefined) throw new Error('the service made no check');
  // The API's own answer. From this machine, whatever address the service tells others.
  const { heartbeat: made } = (await api.get(`/v1/checks/${check.id}`)) as { heartbeat: { pingUrl: string } };
  const url = new URL(new URL(made.pingUrl).pathname, options.serviceUrl);
  void pingOnAndOn(url, options.signal);
  return check;
}

async function pingOnAndOn(url: URL, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // A call that is lost is what the check is there to notice.
    await fetch(url, { method: 'POST', signal: AbortSignal.timeout(pingTimeoutMs) }).catch(() => undefined);
    await pause(pingEveryMs, signal);
  }
}
