import { installCommand } from '../../script/suite/install/install-command.ts';

/** The remedy for a runtime that is not installed. `packageFolder` absent = this program's package. */
export function runtimeRemedy(name: string, packageFolder?: string): string {
  const command = installCommand('runtime.mjs', packageFolder);
  return command === null
    ? `for checks that need it, use the migration image (tag <version>-migrate-202409-202604, or docker build --build-arg RUNTIMES="${name} 2026.04"); see docs/migration.md for how to move off it`
    : `${command} install ${name}`;
}
