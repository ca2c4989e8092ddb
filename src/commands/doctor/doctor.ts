import { carriesScripts } from '../../agent/script-host.ts';
import { namesService, readAgentConfigIfAny, readLogLevel } from '../../config.ts';
import { exitCodes } from '../../errors.ts';
import { createNetwork } from '../../executors/system-network.ts';
import { uptimeTypes } from '../../protocol/check-types.ts';
import { parseArguments, type Command } from '../command.ts';
import { doctorLine } from '../line/doctor.ts';
import { asDatabaseProbes } from './as-database.ts';
import { evidenceProbes } from './evidence.ts';
import { findingsTable, ok, runProbes, type Probe } from './finding.ts';
import { grpcProbes } from './grpc.ts';
import { guardProbes } from './guards.ts';
import { machineProbes } from './machine.ts';
import { networkProbes } from './network.ts';
import { ownNetworkProbes } from './own-network.ts';
import { serviceProbes } from './service.ts';
import { tlsProbes } from './tls.ts';

/** Time limit of one probe, in milliseconds; all run at once. */
const probeLimitMs = 8000;

/** For a package without code for scripts. */
const withoutScripts: Probe = {
  name: 'check types',
  run: () => Promise.resolve(ok(`${uptimeTypes.join(', ')}: this package has no code for scripts`)),
};

/**
 * `doctor [--json]`: reports what works on this machine, what does not, and the remedies. Exit code 1 = a problem was
 * found.
 */
export const doctor: Command = async (args, { env, stdout }) => {
  const { values } = parseArguments(args, doctorLine);
  readLogLevel(env);
  const usesService = namesService(env);
  const settings = readAgentConfigIfAny(env, { usesService });

  const network = createNetwork({ useOsDnsResolver: settings.useOsDnsResolver });
  const findings = await runProbes(
    [
      ...serviceProbes(settings, { isNeeded: usesService }),
      ...networkProbes(network),
      ...tlsProbes(settings.extraCaFile),
      ...grpcProbes(),
      ...ownNetworkProbes(network, settings),
      ...evidenceProbes,
      ...asDatabaseProbes(settings.asDatabase, Date.now),
      ...machineProbes(settings),
      ...guardProbes(settings),
      ...(carriesScripts() ? (await import('./scripts.ts')).scriptProbes(settings) : [withoutScripts]),
    ],
    probeLimitMs,
  );
  network.close();
  const healthy = findings.every(({ status }) => status !== 'problem');
  stdout(values.json ? `${JSON.stringify({ healthy, findings })}\n` : findingsTable(findings));
  return healthy ? exitCodes.done : exitCodes.failed;
};
