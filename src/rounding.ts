/** `value` rounded to at most `decimals` decimal places, which removes binary rounding noise from sums. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
