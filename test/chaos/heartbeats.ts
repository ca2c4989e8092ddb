import type { Api } from '../e2e/program.ts';
import type { ChaosCheck } from './facts.ts';
import { sleep } from './programs.ts';

/** Heartbeats: the oracle is the job that pings them, and stops to ping those that it makes bad. */

/** Seconds after which a silent heartbeat fails, and the time between two pings. */
export const heartbeatSeconds = { period: 30, grace: 10, ping: 10 };

/** A ping that the service said it has recorded. Its name is its User-Agent, which its result keeps. */
export type Ping = { check: string; at: number; name: string };

const serviceBase = 'http://service';

export type Heartbeats = {
  checks: ChaosCheck[];
  pings: Ping[];
  /** Paths of the ping URLs, by the name of the check. */
  paths: Map<string, string>;
};

/** Holds the heartbeats of a world. */
export const noHeartbeats = (): Heartbeats => ({ checks: [], pings: [], paths: new Map() });

type NewHeartbeat = { api: Api; name: string; alertChannelSubscriptions: object[] };

/** Creates a heartbeat that waits for its first ping. */
export async function addHeartbeat(
  heartbeats: Heartbeats,
  { api, name, alertChannelSubscriptions }: NewHeartbeat,
): Promise<void> {
  const { period, grace } = heartbeatSeconds;
  const made = await api<{ id: string; heartbeat: { pingUrl: string } }>('POST', '/v1/checks/heartbeat', {
    name,
    heartbeat: { period, periodUnit: 'seconds', grace, graceUnit: 'seconds' },
    alertChannelSubscriptions,
  });
  if (made.status !== 201) throw new Error(`no check ${name}: ${JSON.stringify(made.body)}`);
  heartbeats.checks.push({ id: made.body.id, kind: 'heartbeat', name, intervalMs: 0, offsetMs: 0, bad: [] });
  heartbeats.paths.set(name, new URL(made.body.heartbeat.pingUrl, serviceBase).pathname);
}

/** Pings all heartbeats that are not bad, until it is stopped. A ping without an answer is repeated, as curl does. */
export function startPings(heartbeats: Heartbeats, serviceUrl: string): () => void {
  let isOn = true;
  const isBad = ({ bad }: ChaosCheck) => bad.at(-1)?.to === Number.MAX_SAFE_INTEGER;
  let count = 0;
  const pingOf = async (check: ChaosCheck): Promise<void> => {
    for (let tries = 0; tries < 3; tries++) {
      const name = `chaos-ping/${++count}`;
      const answer = await fetch(`${serviceUrl}${heartbeats.paths.get(check.name)}`, {
        headers: { 'user-agent': name },
        signal: AbortSignal.timeout(3_000),
      }).catch(() => null);
      await answer?.text().catch(() => null);
      if (answer?.status === 200)
        return void heartbeats.pings.push({ check: check.name, at: Date.now(), name });
      await sleep(500);
    }
  };
  const loopOf = async (check: ChaosCheck, waitMs: number): Promise<void> => {
    await sleep(waitMs);
    while (isOn) {
      const began = performance.now();
      if (!isBad(check)) await pingOf(check);
      await sleep(heartbeatSeconds.ping * 1_000 - (performance.now() - began));
    }
  };
  const apart = (heartbeatSeconds.ping * 1_000) / Math.max(1, heartbeats.checks.length);
  for (const [index, check] of heartbeats.checks.entries()) void loopOf(check, index * apart);
  return () => void (isOn = false);
}
