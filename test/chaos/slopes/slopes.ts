/** Whether what a long run measures stays flat. */

export type Sample = { at: number; values: ReadonlyMap<string, number> };

export type Slope = {
  name: string;
  mean: number;
  last: number;
  highest: number;
  perHour: number;
  growth: number;
};

/**
 * How much a value may grow while it is judged: a share of its mean, or so much of its unit if that is more. Or, for a
 * value that fills up to a limit in steps, that limit: it may not be above it at any moment.
 */
export type Tolerance = { share: number; least: number } | { most: number };

/** Slopes of each value by least squares over the second half of the samples, because the first half is warm-up. */
export function slopesOf(samples: readonly Sample[]): Slope[] {
  const half = samples.slice(Math.floor(samples.length / 2));
  const names = new Set(half.flatMap(({ values }) => [...values.keys()]));
  return [...names].map((name) => {
    const points = half.flatMap(({ at, values }) => {
      const value = values.get(name);
      return value === undefined ? [] : [{ x: at / 3_600_000, y: value }];
    });
    const meanOf = (pick: (point: { x: number; y: number }) => number) =>
      points.reduce((sum, point) => sum + pick(point), 0) / points.length;
    const [mx, my] = [meanOf(({ x }) => x), meanOf(({ y }) => y)];
    const variance = meanOf(({ x }) => (x - mx) ** 2);
    const perHour = variance === 0 ? 0 : meanOf(({ x, y }) => (x - mx) * (y - my)) / variance;
    const hours = (points.at(-1)?.x ?? 0) - (points[0]?.x ?? 0);
    return {
      name,
      mean: my,
      last: points.at(-1)?.y ?? 0,
      highest: Math.max(...points.map(({ y }) => y)),
      perHour,
      growth: perHour * hours,
    };
  });
}

/** One line for each value that grew more than `toleranceOf` its name allows. Values without a tolerance may grow. */
export function steepOf(slopes: readonly Slope[], toleranceOf: (name: string) => Tolerance | null): string[] {
  return slopes.flatMap(({ name, mean, highest, growth }) => {
    const tolerance = toleranceOf(name);
    if (tolerance === null) return [];
    if ('most' in tolerance) {
      return highest <= tolerance.most
        ? []
        : [`${name} reached ${highest}, and ${tolerance.most} is its limit`];
    }
    const most = Math.max(tolerance.least, tolerance.share * mean);
    return growth <= most
      ? []
      : [`${name} grew by ${growth.toFixed(1)} in the second half, and ${most.toFixed(1)} is allowed`];
  });
}
