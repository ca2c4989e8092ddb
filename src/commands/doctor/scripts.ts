import { packageRuntimes } from '../../agent/script-host.ts';
import type { AgentConfig } from '../../config.ts';
import { browserProbes } from './browsers.ts';
import { engineProbes } from './engines.ts';
import type { Probe } from './finding.ts';
import { isolationProbes } from './isolation.ts';
import { runtimeProbes } from './runtimes.ts';

/** The requirements of customers' scripts. Loaded only if the package has code for scripts; the uptime image has none. */
export function scriptProbes(settings: Pick<AgentConfig, 'playwrightBrowsersPath'>): Probe[] {
  return [
    ...runtimeProbes(packageRuntimes()),
    ...engineProbes(),
    ...browserProbes(packageRuntimes(), settings.playwrightBrowsersPath),
    ...isolationProbes(),
  ];
}
