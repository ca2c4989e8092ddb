/** `value` with so many decimals at most: sums of fractions would otherwise show the noise of binary fractions. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
