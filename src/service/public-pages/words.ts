/** Display names of codes. */

const words: { readonly [code: string]: string } = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
  MAINTENANCE: 'Maintenance',
  CRITICAL: 'Critical',
  MAJOR: 'Major',
  MEDIUM: 'Medium',
  MINOR: 'Minor',
  SCHEDULED: 'Scheduled',
  IN_PROGRESS: 'In progress',
  VERIFYING: 'Verifying',
  COMPLETED: 'Completed',
  CANCELLED: 'Cancelled',
};

export const wordOf = (code: string): string => words[code] ?? code;

/** `4 Mar 2026, 05:06 UTC`. */
export function momentText(at: Date | number, timezone = 'UTC'): string {
  const text = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  return text.format(at);
}

const day = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
});
/** `4 Mar 2026`. */
export const dayText = (at: number): string => day.format(at);

/** `1 h 5 min`; less than one minute is shown as 1 min. */
export function durationText(milliseconds: number): string {
  const minutes = Math.max(1, Math.round(milliseconds / 60_000));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60)];
  const parts = [
    ...(days > 0 ? [`${days} d`] : []),
    ...(hours > 0 ? [`${hours} h`] : []),
    ...(minutes % 60 > 0 ? [`${minutes % 60} min`] : []),
  ];
  return parts.join(' ');
}
