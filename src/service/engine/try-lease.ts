import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** Leases of tries, such as of a mail: whoever dies during a try leaves a lease that ends. */

/** How long a try lasts without renewal, and how often it is renewed. */
export const tryLeaseSeconds = 20;
const renewEveryMs = 5_000;

/** Renews the lease of a try while `work` runs. If `work` rejects, the lease is released. */
export async function whileRenewed<T>(
  {
    renew,
    release,
    log,
    facts,
  }: {
    renew: () => Promise<void>;
    release: () => Promise<void>;
    log: Log;
    /** What the log names. */
    facts: { [name: string]: string };
  },
  work: () => Promise<T>,
): Promise<T> {
  const timer = setInterval(() => {
    renew().catch((error: unknown) =>
      log.warn({ ...facts, error: toError(error).message }, 'the lease of a try was not renewed'),
    );
  }, renewEveryMs);
  try {
    return await work();
  } catch (error) {
    await release();
    throw error;
  } finally {
    clearInterval(timer);
  }
}
