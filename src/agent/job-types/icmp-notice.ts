import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/**
 * Logs once at start-up that this host cannot run ICMP checks, and how to change that. Otherwise only the results
 * would show it.
 */
export async function warnWithoutIcmp(log: Log): Promise<void> {
  const { openPingSocket } = await import('../../executors/icmp/ping-socket-open.ts');
  try {
    (await openPingSocket(4)).close();
  } catch (error: unknown) {
    log.warn(`ICMP checks cannot run on this host: ${toError(error).message}`);
  }
}
