import { readLogLevel } from '../config.ts';
import { readServiceConfig, type ServiceConfig } from '../config/service.ts';
import type { Environment } from '../config/read.ts';
import { exitCodes } from '../errors.ts';
import { createLog, type Log } from '../log.ts';
import { createScrubber } from '../secrets/scrubber/scrubber.ts';
import { Secret } from '../secrets/secret.ts';
import type { Keys } from '../service/keys-file.ts';
import { startService, type RunningService } from '../service/service.ts';
import { usageError, type Command } from './command.ts';
import { leaveLastWords } from './last-words.ts';

/** `service`: runs until SIGTERM or SIGINT. One line of JSON on standard output says that everything answers. */
export const service: Command = async (args, { env, stdout }) => {
  if (args.length > 0) throw usageError('service takes no arguments');
  return runService(env, { stdout });
};

/** As the command, for callers with an environment of their own. Resolves with the exit code. */
export async function runService(
  env: Environment,
  { stdout }: { stdout: (text: string) => void } = { stdout: (text) => void process.stdout.write(text) },
): Promise<number> {
  const level = readLogLevel(env);
  const config = readServiceConfig(env);
  let scrubber = createScrubber(secretsOf(config));
  const log = createLog({ level, scrub: (line) => scrubber.text(line) });
  const isAsItShould = leaveLastWords(log, 'the service');
  const stopped = nextSignal(log);
  let running: RunningService;
  try {
    running = await startService({ config, log });
  } catch (error) {
    // Told by who has called us.
    isAsItShould();
    throw error;
  }
  if (running.keys !== null) scrubber = createScrubber([...secretsOf(config), ...generated(running.keys)]);
  try {
    const serviceUrl = config.publicUrl ?? running.url;
    const ready = {
      ready: true,
      serviceUrl,
      accountId: running.accountId,
      apiKey: null,
      locationKey: null,
      agentHealthUrl: null,
      webUrl: `${serviceUrl}/`,
      keysFile: running.keysFile,
    };
    stdout(`${JSON.stringify(ready)}\n`);
    const end = await Promise.race([stopped, running.failed]);
    if (end instanceof Error) throw end;
    log.info({ signal: end }, 'service stops');
  } finally {
    await withinTime(running.close(), log);
    isAsItShould();
  }
  return exitCodes.done;
}

/** The secrets of the configuration: none of them may be in a log line, whatever an error's message repeats. */
export function secretsOf(config: ServiceConfig): { name: string; value: string }[] {
  return secretsWithin('', config).flatMap(({ name, secret }) => {
    const value = secret.reveal();
    // Drivers quote parts of a URL.
    const password = URL.canParse(value) ? decodeURIComponent(new URL(value).password) : '';
    return [{ name, value }, ...(password === '' ? [] : [{ name: `${name}.password`, value: password }])];
  });
}

/** Wherever in the configuration they stand: one that is added later is not forgotten. */
function secretsWithin(path: string, value: unknown): { name: string; secret: Secret }[] {
  if (value instanceof Secret) return [{ name: path, secret: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    secretsWithin(path === '' ? key : `${path}.${key}`, item),
  );
}

/** What the first start generated. */
export function generated({ apiKey, locationKey, encryptionKey }: Keys): { name: string; value: string }[] {
  return Object.entries({ apiKey, locationKey, encryptionKey }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
}

/** Longer than all that waits for something at the end. */
const closeMs = 60_000;

/** What hangs does not keep the process. */
async function withinTime(closing: Promise<void>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      log.error({ waitedMs: closeMs }, 'the service could not be closed in time: it ends as it is');
      resolve();
    }, closeMs);
  });
  await Promise.race([closing, late]).finally(() => clearTimeout(timer));
}

/** The first signal that asks for an end. A second one ends the process at once, as it does by default. */
function nextSignal(log: Log): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
    let isFirst = true;
    const onSignal = (signal: NodeJS.Signals) => {
      if (isFirst) {
        isFirst = false;
        return resolve(signal);
      }
      log.error({ signal }, 'told again: the service ends at once');
      for (const name of signals) process.off(name, onSignal);
      process.kill(process.pid, signal);
    };
    for (const name of signals) process.on(name, onSignal);
  });
}
