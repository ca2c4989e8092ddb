/** `value` rounded to at most `decimals` decimal places, which removes binary rounding noise from sums. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}

/**
 * `part` of `all` in percent, cut to `decimals` places, so that only all of them are 100. Null for none of none. Divides
 * last: 0.57 * 100 is less than 57 in binary.
 */
export function shareOf(part: number, all: number, decimals = 2): number | null {
  const scale = 10 ** decimals;
  return all === 0 ? null : Math.floor((part * 100 * scale) / all) / scale;
}
