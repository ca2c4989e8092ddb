import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { toError } from '../../errors.ts';
import { findRuntimes, type FoundRuntime } from '../../script/process/runtimes.ts';
import { note, ok, problem, type Finding, type Probe } from './finding.ts';
import { runtimeRemedy } from './install.ts';

/** Probes per runtime of `runtimesFolder`: whether it is installed, whether its Node runs here, and how to install it. */
export function runtimeProbes(runtimesFolder: string): Probe[] {
  const found = findRuntimes(runtimesFolder);
  if (found.length === 0) {
    const message =
      'none in this package: API checks run without scripts; browser and multi-step checks do not run';
    return [{ name: 'runtimes', run: () => Promise.resolve(note(message)) }];
  }
  return found.map((each) => ({ name: `runtime ${each.name}`, run: (signal) => verdict(each, signal) }));
}

async function verdict(
  { name, stage, state }: FoundRuntime,
  signal: AbortSignal,
): Promise<Omit<Finding, 'name'>> {
  const remedy = runtimeRemedy(name);
  if (state.is === 'broken') return problem(state.reason, remedy);
  if (state.is === 'missing') {
    // A missing runtime that checks should no longer use is no loss.
    return note(`not installed (stage ${stage})`, stage === 'DEPRECATED' ? null : remedy);
  }
  const { node, nodeVersion, playwrightVersion } = state.runtime;
  try {
    await promisify(execFile)(node, ['--version'], { signal, env: {} });
  } catch (error: unknown) {
    const [cause = ''] = toError(error).message.split('\n', 1);
    return problem(`its Node does not run here: ${cause}`, 'use a Linux with glibc 2.28 or newer');
  }
  return ok(`Node ${nodeVersion}, Playwright ${playwrightVersion}`);
}
