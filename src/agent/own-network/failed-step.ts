import type { Job } from '../../protocol/job.ts';
import type { Reason } from '../../protocol/reasons.ts';
import { nameServerStep, type LastStep } from './attempt-target.ts';
import type { Failure } from './facts.ts';

/** The failed step of an attempt; null if nothing was sent. */
export function failureOf(
  job: Job,
  attempt: {
    last: LastStep;
    details: Readonly<Record<string, unknown>>;
    reason: Reason;
    startedAt: number;
    endedAt: number;
  },
): Failure | null {
  const { last, details, reason, startedAt, endedAt } = attempt;
  const base = {
    hostname: null,
    address: null,
    port: null,
    viaProxy: false,
    lostName: false,
    startedAt,
    endedAt,
  };
  if (last !== null && 'hostname' in last) {
    return { ...base, step: 'name', hostname: last.hostname, lostName: reason.code === 'ENOTFOUND' };
  }
  const server = nameServerStep(details);
  if (server !== null) {
    if (server.usesSystem) return { ...base, step: 'name' };
    return server.address === null
      ? null
      : { ...base, step: 'connection', address: server.address, port: server.port };
  }
  const address = last?.addresses[0]?.address;
  if (last === null || address === undefined) return null;
  return { ...base, step: 'connection', address, port: last.port, viaProxy: usesProxy(job, details, reason) };
}

/** Whether the connection of the attempt led to the location's proxy, which only HTTP requests use. */
function usesProxy({ proxyUrl }: Job, details: Readonly<Record<string, unknown>>, { code }: Reason): boolean {
  if (proxyUrl === null || proxyUrl === '' || !('hops' in details)) return false;
  // A variable may be empty, and then there is no proxy.
  return code === 'PROXY_FAILED' || !proxyUrl.includes('{{');
}
