import { availableParallelism, totalmem } from 'node:os';

/** A browser with a page open, in bytes: what the field reckons per browser check. */
const browserJobBytes = 1.5 * 1024 ** 3;

/** Cores and memory that this process may use: the cgroup's where it has a limit, else the machine's. */
export function machine(): { cores: number; memoryBytes: number } {
  const constrained = process.constrainedMemory();
  const limited = constrained !== undefined && constrained > 0;
  return {
    cores: Math.max(1, availableParallelism()),
    memoryBytes: Math.floor(Math.min(totalmem(), limited ? constrained : Number.POSITIVE_INFINITY)),
  };
}

/** Slots of the browser lane for JOB_CONCURRENCY=auto: what memory holds, at most one browser per core. */
export function browserSlots(host: { cores: number; memoryBytes: number }): number {
  return Math.max(1, Math.min(host.cores, Math.floor(host.memoryBytes / browserJobBytes)));
}
