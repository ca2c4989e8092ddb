import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openDataDir } from '../../agent/folders/data-dir.ts';
import {
  createScriptHost,
  packageEngines,
  packageRuntimes,
  scriptSettings,
  type ScriptHost,
} from '../../agent/script-host.ts';
import type { AgentConfig } from '../../config.ts';
import type { Job } from '../../protocol/job.ts';
import { createScriptReach } from '../../agent/script-reach.ts';
import type { ScriptsOptions } from '../../script/create-scripts.ts';
import type { FetchBundle } from '../../script/interface/suite-run.ts';
import { enginesRemedy } from '../../script/suite/install/install-command.ts';
import { runtimeRemedy } from '../doctor/install.ts';

/** The runtime that a job needs; null = it has no scripts. */
export function runtimeOf(job: Job): string | null {
  if ('script' in job) return job.script.runtimeId;
  return 'scripts' in job ? (job.scripts?.runtimeId ?? null) : null;
}

/**
 * The code is of the person who runs the command, on their own machine: only networks that they name themselves limit
 * it.
 */
function ownNetwork(settings: Omit<AgentConfig, 'apiKey'>): ScriptsOptions['network'] {
  const { scriptAllowedNetworks, scriptDeniedNetworks } = settings;
  const isLimited = scriptAllowedNetworks !== null || scriptDeniedNetworks.length > 0;
  return isLimited ? createScriptReach(settings).network : () => 'unlimited';
}

/**
 * Runtimes and engines with one slot, as in a daemon. `runtimeId`: the runtime that the job needs, null = none. If the
 * runtime or the engine is not installed, `note` gets a line with the command that installs it. Throws FatalError for a
 * data directory that cannot be used.
 */
export async function openScriptHost(
  settings: Omit<AgentConfig, 'apiKey'>,
  options: {
    runtimeId: string | null;
    /** The source of a suite's bundle; undefined = the job is not a suite. */
    fetchBundle: FetchBundle | undefined;
    warn: (line: string) => void;
    note: (line: string) => void;
  },
): Promise<ScriptHost> {
  const { runtimeId, fetchBundle, warn, note } = options;
  await openDataDir(settings.dataDir);
  const host = createScriptHost({
    ...scriptSettings(settings),
    runtimesFolder: packageRuntimes(),
    enginesFolder: packageEngines(),
    slots: 1,
    network: ownNetwork(settings),
    suiteSlots: 1,
    ...(fetchBundle === undefined ? {} : { fetchBundle }),
    warn,
  });
  await host.refresh();
  // The result names what is missing; a reader at this machine can also install it.
  const isKnown = runtimeId !== null && existsSync(join(packageRuntimes(), runtimeId, 'package.json'));
  if (isKnown && !host.runtimes().includes(runtimeId)) {
    note(`runtime ${runtimeId} is not installed (remedy: ${runtimeRemedy(runtimeId)})`);
  }
  if (fetchBundle !== undefined && host.engines().length === 0) {
    note(`the engines of suites are not installed (remedy: ${enginesRemedy()})`);
  }
  return host;
}
