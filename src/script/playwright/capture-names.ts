const captureName = /^capture-\d+-(\d+)\.jsonl$/;

/**
 * Of a folder's names, those of the files that the helpers' processes have left (child/capture-file.ts), in the order in
 * which these began: Playwright starts another process after a test that failed, and the folder has them in any order.
 */
export function captureNames(names: readonly string[]): string[] {
  const startOf = (name: string): number => Number(captureName.exec(name)?.[1]);
  return names.filter((name) => captureName.test(name)).sort((a, b) => startOf(a) - startOf(b));
}
