import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageRuntimes } from '../../agent/script-host.ts';

/** How to install runtimes and engines in this package: with its own scripts, or, in an image, by using another image. */

/** False in images, which contain no install scripts. `packageFolder` absent = this package's folder. */
const installs = (script: string, packageFolder = dirname(packageRuntimes())): boolean =>
  existsSync(join(packageFolder, 'scripts', script));

/** The command that runs an install script: with paths, unless the current folder is the package of a checkout. */
function command(script: string, packageFolder = dirname(packageRuntimes())): string {
  if (relative(packageFolder, process.cwd()) === '') return `node scripts/${script}`;
  // A global install has no `node` of its own name if it bundles one.
  return `${process.execPath} ${join(packageFolder, 'scripts', script)}`;
}

/** The remedy for a runtime that is not installed. */
export const runtimeRemedy = (name: string, packageFolder?: string): string =>
  installs('runtime.mjs', packageFolder)
    ? `${command('runtime.mjs', packageFolder)} install ${name}`
    : `for checks that need it, use the migration image (tag <version>-migrate-202409-202604, or docker build --build-arg RUNTIMES="${name} 2026.04"); see docs/migration.md for how to move off it`;

/** The remedy if no engine is installed. */
export const enginesRemedy = (packageFolder?: string): string =>
  installs('engines.mjs', packageFolder)
    ? `${command('engines.mjs', packageFolder)} install`
    : 'use the image with all check types (Dockerfile), which has them';
