import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toError } from '../../errors.ts';
import { installedEngines } from '../../script/suite/install/engines.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';
import { enginesRemedy } from '../../script/suite/install/install-command.ts';

/**
 * Probe: whether the engines of Playwright suites are installed in `enginesFolder` (absent = the package's own) and run
 * here.
 */
export function engineProbes(enginesFolder?: string): Probe[] {
  return [{ name: 'suite engines', run: (signal) => verdict(enginesFolder, signal) }];
}

async function verdict(
  enginesFolder: string | undefined,
  signal: AbortSignal,
): Promise<Omit<Finding, 'name'>> {
  const remedy = enginesRemedy();
  const engines = installedEngines(enginesFolder);
  if (engines.length === 0) return note('not installed: Playwright suites do not run', remedy);
  for (const { name, version, program } of engines) {
    try {
      await promisify(execFile)(program, ['--version'], { signal, env: {} });
    } catch (error: unknown) {
      const [cause = ''] = toError(error).message.split('\n', 1);
      return problem(
        `${name} ${version} does not run here: ${cause}`,
        'use a Linux with glibc 2.28 or newer',
      );
    }
  }
  return ok(engines.map(({ name, version }) => `${name === 'bun' ? 'Bun' : 'Node'} ${version}`).join(', '));
}
