/** Formats numbers, times and statuses for the page. */

/** The CSS class of a status; each has a rule in the style sheet. */
export function colourOf(status: string): string {
  return status === 'cancelled' || status === 'missed' ? 'idle' : status;
}

/** How long ago a time in ISO format is, by the browser's clock. */
export function ago(iso: string | null | undefined): string {
  if (!iso) return 'never';
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  if (seconds < 100) return `${seconds} s ago`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}

export function milliseconds(value: unknown): string {
  if (typeof value !== 'number') return '–';
  if (value > 0 && value < 10) return `${value.toFixed(1)} ms`;
  return value < 10_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

/** A duration in milliseconds, for runs in progress. */
export function elapsed(duration: number): string {
  const seconds = Math.round(duration / 1000);
  if (seconds < 100) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function bytes(value: unknown): string {
  if (typeof value !== 'number') return '';
  if (value < 10_000) return `${value} B`;
  return value < 10_000_000 ? `${Math.round(value / 1000)} kB` : `${Math.round(value / 1e6)} MB`;
}

/** How often a check runs. Checks that run more than once a minute have an offset in seconds. */
export function every({
  frequency,
  frequencyOffset,
}: {
  frequency: number;
  frequencyOffset: number | null;
}): string {
  return frequency === 0 ? `every ${frequencyOffset ?? 10} s` : `every ${frequency} min`;
}

/** A share in percent, rounded to two places. With a failed run, it is at most 99.99 %. */
export function percent(value: number | null | undefined): string {
  if (typeof value !== 'number') return '–';
  return value >= 100 ? '100 %' : `${Math.min(99.99, value).toFixed(2)} %`;
}
