/** Durations and sizes as the configuration file writes them. */

const units: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** Milliseconds of `500ms`, `5s` or `1m30s`; null = the text is no duration. */
export function durationMs(text: string): number | null {
  if (text === '0') return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) return null;
  return parts.reduce((sum, [, number, unit]) => sum + Number(number) * (units.get(unit ?? '') ?? 0), 0);
}

const powers: ReadonlyMap<string, number> = new Map([
  ['', 0],
  ['K', 1],
  ['M', 2],
  ['G', 3],
]);

/** Bytes of `10MB`, `512KiB` or `100`, where KB is 1024 bytes, too; null = the text is no size. */
export function sizeBytes(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)([KMG]?)(?:i?B)?$/.exec(text.trim());
  if (match === null) return null;
  return Math.floor(Number(match[1]) * 1024 ** (powers.get(match[2] ?? '') ?? 0));
}
