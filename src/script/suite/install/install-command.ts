import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How to install what the package does not contain: with its own scripts, or, in an image, by using another image. */

/** This program's package: four folders up from src/script/suite/install as from dist/script/suite/install. */
export const ownPackage = fileURLToPath(new URL('../../../..', import.meta.url)).replace(/\/$/, '');

/**
 * The command that runs one of the scripts of the package in `packageFolder`, with paths unless it is the current
 * folder. Null in images, which contain no such scripts.
 */
export function installCommand(script: string, packageFolder = ownPackage): string | null {
  const file = join(packageFolder, 'scripts', script);
  if (!existsSync(file)) return null;
  if (relative(packageFolder, process.cwd()) === '') return `node scripts/${script}`;
  // A global install has no `node` of its own name if it bundles one.
  return `${process.execPath} ${file}`;
}

/** The remedy if no engine is installed. `packageFolder` absent = this program's. */
export function enginesRemedy(packageFolder?: string): string {
  const command = installCommand('engines.mjs', packageFolder);
  return command === null
    ? 'use the image with all check types (Dockerfile), which has them'
    : `${command} install`;
}
