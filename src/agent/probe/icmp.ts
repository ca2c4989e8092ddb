import { lookUp, messageOf } from './address.ts';
import type { Prober } from './run.ts';
import type { IcmpSettings } from './settings/others.ts';

/** One echo request. */
export const probeIcmp: Prober<IcmpSettings> = async (settings, run) => {
  const { gauges, log, signal, network } = run;
  const phase = (name: string, ms: number) =>
    gauges.set('probe_icmp_duration_seconds', ms / 1000, { phase: name });
  gauges.phases('probe_icmp_duration_seconds', 'resolve', 'setup', 'rtt');
  const startedAt = performance.now();
  const address = await lookUp(run.target, settings.ip, run);
  phase('resolve', performance.now() - startedAt);
  if (address === null) return false;
  const settingUp = performance.now();
  try {
    const socket = await network.icmp(address.family, {
      source: settings.source,
      // The other program ignores the field for IPv6, where routers never fragment.
      whole: settings.dontFragment && address.family === 4,
    });
    phase('setup', performance.now() - settingUp);
    log('Sending an echo request', { address: address.address, way: socket.way });
    const reply = await socket.echo(address.address, {
      payloadBytes: settings.payloadBytes,
      // The signal is the time limit.
      timeoutMs: 2 ** 31 - 1,
      signal,
      ttl: settings.ttl,
    });
    if (reply === null || reply.error !== null) {
      log('No echo reply', { err: reply?.error?.code ?? 'timeout', from: reply?.error?.from });
      return false;
    }
    phase('rtt', reply.rttMs);
    if (reply.ttl !== null) gauges.set('probe_icmp_reply_hop_limit', reply.ttl);
    log('Got an echo reply', { rtt_ms: reply.rttMs });
    return true;
  } catch (error: unknown) {
    log('The echo request failed', { err: messageOf(error) });
    return false;
  }
};
