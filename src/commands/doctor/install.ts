import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRuntimes } from '../../agent/script-host.ts';

/** How what scripts and suites run on comes into this package: by its own scripts, or, where it is an image, by another image. */

/** False in images, which carry no scripts for installing. `packageFolder` absent = this package's. */
const installs = (script: string, packageFolder = dirname(packageRuntimes())): boolean =>
  existsSync(join(packageFolder, 'scripts', script));

/** What to do for a runtime that is not here. */
export const runtimeRemedy = (name: string, packageFolder?: string): string =>
  installs('runtime.mjs', packageFolder)
    ? `node scripts/runtime.mjs install ${name}`
    : `for checks that need it, use the migration image (tag <version>-migrate-202409-202604, or docker build --build-arg RUNTIMES="${name} 2026.04"); docs/migration.md says how to leave it`;

/** What to do where nothing is here that suites run on. */
export const enginesRemedy = (packageFolder?: string): string =>
  installs('engines.mjs', packageFolder)
    ? 'node scripts/engines.mjs install'
    : 'use the image with all check types (Dockerfile), which has them';
