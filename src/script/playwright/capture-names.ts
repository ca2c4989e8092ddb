const captureName = /^capture-\d+-(\d+)\.jsonl$/;

/**
 * Filters a folder's names for the files that the helpers' processes have written (child/capture/file.ts) and sorts
 * them by process start. Playwright starts another process after a failed test, and a folder lists files in any order.
 */
export function captureNames(names: readonly string[]): string[] {
  const startOf = (name: string): number => Number(captureName.exec(name)?.[1]);
  return names.filter((name) => captureName.test(name)).sort((a, b) => startOf(a) - startOf(b));
}
