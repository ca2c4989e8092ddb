import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Packages that tests read and that are no dependencies: they are fetched once into build/packages. */

const folder = join(import.meta.dirname, '..', '..', 'build', 'packages');

/** The folder of an unpacked package, without its dependencies; null with one line if it cannot be had. */
export function packedPackage(name: string, version: string): string | null {
  const place = join(folder, `${name}-${version}`);
  if (existsSync(place)) return join(place, 'package');
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, 'new-'));
  try {
    const options = ['--silent', '--ignore-scripts', '--pack-destination', work];
    const packed = execFileSync('npm', ['pack', ...options, `${name}@${version}`], {
      cwd: work,
      encoding: 'utf8',
      timeout: 120_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const archive = packed.trim().split('\n').at(-1) ?? '';
    execFileSync('tar', ['-xzf', join(work, archive), '-C', work], { timeout: 120_000 });
    renameSync(work, place);
    return join(place, 'package');
  } catch {
    process.stdout.write(`skipped: the npm package ${name} ${version} could not be fetched\n`);
    return null;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
