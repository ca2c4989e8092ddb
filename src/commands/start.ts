import { createAgent } from '../agent/agent.ts';
import { keepLittleGarbage } from '../agent/load/little-garbage.ts';
import { ownSecrets } from '../agent/scrubbing/own-secrets.ts';
import { readAgentConfig, readLogLevel } from '../config.ts';
import type { Environment } from '../config/read.ts';
import { unverifiedTlsWarning } from '../config/unverified-tls.ts';
import { exitCodes, FatalError, toError } from '../errors.ts';
import { createLog } from '../log.ts';
import type { LogStyle } from '../log-line.ts';
import { createScrubberOffThread } from '../secrets/scrubber/table-thread.ts';
import { internalFault } from './last-words.ts';
import { version } from '../version.ts';
import { parseArguments, type Command } from './command.ts';
import { startLine } from './line/start.ts';
import { createServiceManager } from './service-manager.ts';

/** `start`: runs the agent until a signal or a rejected key stops it. */
export const start: Command = (args, { env, logStyle }) => {
  parseArguments(args, startLine);
  return runStart(env, logStyle);
};

/**
 * Runs the agent with this environment. The first SIGTERM or SIGINT drains, a second one cuts the drain short. Resolves
 * with 0, or with 75 if jobs were cut off. Rejects with FatalError if the agent cannot continue.
 */
export async function runStart(env: Environment, style?: LogStyle): Promise<number> {
  keepLittleGarbage();
  const config = readAgentConfig(env);
  const scrubber = await createScrubberOffThread(ownSecrets(config));
  const log = createLog({
    level: readLogLevel(env),
    scrub: scrubber.text,
    style,
  });
  const warning = unverifiedTlsWarning(env);
  if (warning !== null) log.warn(warning);
  const agent = createAgent({ config, log, version, scrubber });
  const manager = createServiceManager({ env, log, isAlive: agent.isAlive });

  let signals = 0;
  let ended: (end: Promise<number>) => void = () => undefined;
  const end = new Promise<number>((resolve) => (ended = resolve));
  const onSignal = () => {
    signals += 1;
    manager.stopping();
    if (signals > 1) return agent.cancel();
    ended(agent.drain().then(({ cut }) => (cut > 0 ? exitCodes.drainCut : exitCodes.done)));
  };
  // After an unexpected fault the agent's state is unknown; the outbox is safe on disk.
  const onUncaught = (error: unknown) => {
    log.fatal({ ...internalFault, err: toError(error) }, 'unexpected fault: the agent exits');
    process.exit(exitCodes.couldNotRun);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  process.on('uncaughtException', onUncaught).on('unhandledRejection', onUncaught);
  try {
    await agent.start();
    manager.ready();
    const how = await Promise.race([end, agent.failed]);
    if (how instanceof FatalError) {
      await agent.stop();
      throw how;
    }
    return how;
  } finally {
    manager.close();
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
    process.off('uncaughtException', onUncaught).off('unhandledRejection', onUncaught);
  }
}
