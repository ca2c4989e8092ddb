import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Path of a compiled file of src/script/child, given its path there without extension. The bundled file is preferred
 * because it starts faster. If the sources run uncompiled (tests), the file is the one in dist, which must have been
 * built, because the runtime's Node may be too old to read TypeScript.
 */
export function childFile(name: string): string {
  const candidates = ['../child', '../../../dist/script/child'].flatMap((folder) =>
    ['cjs', 'js'].map((ending) => fileURLToPath(new URL(`${folder}/${name}.${ending}`, import.meta.url))),
  );
  return candidates.find((path) => existsSync(path)) ?? candidates.at(-1) ?? '';
}
