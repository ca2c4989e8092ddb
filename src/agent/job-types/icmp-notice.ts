import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** Says once, at the start, that this host lets no ICMP check run, and how to change it: else only their results would tell. */
export async function warnWithoutIcmp(log: Log): Promise<void> {
  const { openPingSocket } = await import('../../executors/icmp/ping-socket-open.ts');
  try {
    (await openPingSocket(4)).close();
  } catch (error: unknown) {
    log.warn(`ICMP checks are errored on this host: ${toError(error).message}`);
  }
}
