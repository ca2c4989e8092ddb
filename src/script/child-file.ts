import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Path of a compiled file of src/script/child, by its name without extension. From the sources (tests) it is the one in
 * dist, which must have been built: the Node of a runtime may be older than one that reads TypeScript.
 */
export function childFile(name: string): string {
  const beside = fileURLToPath(new URL(`./child/${name}.js`, import.meta.url));
  if (existsSync(beside)) return beside;
  return fileURLToPath(new URL(`../../dist/script/child/${name}.js`, import.meta.url));
}
