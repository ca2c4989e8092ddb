import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Path of a compiled file of src/script/child, by its path there without extension. The bundled file is preferred because it
 * starts faster. When the sources run as they are (tests), the file is the one in dist, which must have been built: the Node of
 * a runtime may be too old to read TypeScript.
 */
export function childFile(name: string): string {
  const candidates = ['../child', '../../../dist/script/child'].flatMap((folder) =>
    ['cjs', 'js'].map((ending) => fileURLToPath(new URL(`${folder}/${name}.${ending}`, import.meta.url))),
  );
  return candidates.find((path) => existsSync(path)) ?? candidates.at(-1) ?? '';
}
