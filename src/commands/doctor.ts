import { packageRuntimes } from '../agent/script-host.ts';
import { readAgentConfigIfAny, readLogLevel } from '../config.ts';
import { exitCodes } from '../errors.ts';
import { createNetwork } from '../executors/system-network.ts';
import { parseArguments, usageError, type Command } from './command.ts';
import { browserProbes } from './doctor-browsers.ts';
import { engineProbes } from './doctor-engines.ts';
import { findingsTable, runProbes } from './doctor-finding.ts';
import { isolationProbes } from './doctor-isolation.ts';
import { machineProbes } from './doctor-machine.ts';
import { networkProbes } from './doctor-network.ts';
import { runtimeProbes } from './doctor-runtimes.ts';
import { serviceProbes } from './doctor-service.ts';

/** Longest time of one probe, in milliseconds; all run at once. */
const probeLimitMs = 8000;

/** `doctor [--json]`: what works on this machine, what does not, and how to mend it. 1 = something is to be mended. */
export const doctor: Command = async (args, { env, stdout }) => {
  const { values, positionals } = parseArguments(args, { json: { type: 'boolean', default: false } });
  if (positionals.length > 0) throw usageError('doctor takes no arguments');
  readLogLevel(env);
  const settings = readAgentConfigIfAny(env);

  const network = createNetwork({ useOsDnsResolver: settings.useOsDnsResolver });
  const findings = await runProbes(
    [
      ...serviceProbes(settings),
      ...networkProbes(network),
      ...machineProbes(settings),
      ...runtimeProbes(packageRuntimes()),
      ...engineProbes(),
      ...browserProbes(packageRuntimes(), settings.playwrightBrowsersPath),
      ...isolationProbes(),
    ],
    probeLimitMs,
  );
  network.close();
  const healthy = findings.every(({ status }) => status !== 'problem');
  stdout(values.json ? `${JSON.stringify({ healthy, findings })}\n` : findingsTable(findings));
  return healthy ? exitCodes.done : exitCodes.failed;
};
