/** Edits that make one text the other: insert, delete or replace a character, or swap two neighbours. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      line[column] = Math.min(
        (above[column] ?? 0) + 1,
        (line[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    before = above;
    above = line;
  }
  return above[b.length] ?? 0;
}

/** The name that is nearest to `typed`, within a third of its length; null = none is near. */
export function nearestName(typed: string, names: readonly string[]): string | null {
  let best: string | null = null;
  let fewest = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < fewest) [best, fewest] = [name, distance];
  }
  return best;
}
