import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Path of a compiled file of src/script/child, by its name without extension: the bundled one where the build made one, which
 * starts quicker. From the sources (tests) it is the one in dist, which must have been built: the Node of a runtime may be
 * older than one that reads TypeScript.
 */
export function childFile(name: string): string {
  const candidates = ['./child', '../../dist/script/child'].flatMap((folder) =>
    ['cjs', 'js'].map((ending) => fileURLToPath(new URL(`${folder}/${name}.${ending}`, import.meta.url))),
  );
  return candidates.find((path) => existsSync(path)) ?? candidates.at(-1) ?? '';
}
