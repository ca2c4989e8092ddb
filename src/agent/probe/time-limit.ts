import { JobAborted } from '../../errors.ts';
import type { ProbeModule } from './settings/module-file.ts';

/** The least of the module's time and that of the scrape, which needs half a second for itself. */

const offsetSeconds = 0.5;
const defaultSeconds = 120;

/** Seconds; null = the header is no number. */
export function timeoutSeconds(header: string | undefined, { timeoutMs }: ProbeModule): number | null {
  const scrape = header === undefined || header === '' ? defaultSeconds : Number(header);
  if (!Number.isFinite(scrape) || (header ?? '').trim() !== (header ?? '')) return null;
  // An offset that leaves nothing is not applied.
  const left = scrape - offsetSeconds > 0 ? scrape - offsetSeconds : scrape;
  const own = timeoutMs === null ? null : timeoutMs / 1000;
  const least = own === null ? left : Math.min(own, left);
  return least > 0 ? least : defaultSeconds - offsetSeconds;
}

/** A signal that fires as the deadline of a job does. `close` forgets it. */
export function deadlineSignal(seconds: number): {
  signal: AbortSignal;
  cancel: () => void;
  close: () => void;
} {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new JobAborted('deadline')), seconds * 1000);
  timer.unref();
  return {
    signal: controller.signal,
    cancel: () => controller.abort(new JobAborted('cancelled')),
    close: () => clearTimeout(timer),
  };
}
