import { availableParallelism, totalmem } from 'node:os';

/** Memory of a browser with an open page, in bytes: the usual estimate per browser check. */
const browserJobBytes = 1.5 * 1024 ** 3;

/** Cores and memory that this process may use: the cgroup's limits if there are any, else the machine's. */
export function machine(): { cores: number; memoryBytes: number } {
  const constrained = process.constrainedMemory();
  const limited = constrained !== undefined && constrained > 0;
  return {
    cores: Math.max(1, availableParallelism()),
    memoryBytes: Math.floor(Math.min(totalmem(), limited ? constrained : Number.POSITIVE_INFINITY)),
  };
}

/** Slots of the browser lane for JOB_CONCURRENCY=auto: what fits in memory, at most one browser per core. */
export function browserSlots(host: { cores: number; memoryBytes: number }): number {
  return Math.max(1, Math.min(host.cores, Math.floor(host.memoryBytes / browserJobBytes)));
}
