import { readLogLevel } from '../config.ts';
import { readServiceConfig, type ServiceConfig } from '../config/service.ts';
import type { Environment } from '../config/read.ts';
import { unverifiedTlsWarning } from '../config/unverified-tls.ts';
import { exitCodes } from '../errors.ts';
import { createLog, type Log } from '../log.ts';
import type { LogStyle } from '../log-line.ts';
import { createScrubber } from '../secrets/scrubber/scrubber.ts';
import { Secret } from '../secrets/secret.ts';
import type { Keys } from '../service/keys-file.ts';
import { startService, type RunningService } from '../service/service.ts';
import { parseArguments, type Command } from './command.ts';
import { serviceLine } from './line/service.ts';
import { logEveryExit } from './last-words.ts';
import { createServiceManager } from './service-manager.ts';

/** `service`: runs until SIGTERM or SIGINT. Prints one line of JSON on standard output when it is ready. */
export const service: Command = async (args, { env, stdout, logStyle }) => {
  parseArguments(args, serviceLine);
  return runService(env, { stdout, logStyle });
};

/** Same as the command, for callers with their own environment. Resolves with the exit code. */
export async function runService(
  env: Environment,
  { stdout, logStyle }: { stdout: (text: string) => void; logStyle?: LogStyle | undefined } = {
    stdout: (text) => void process.stdout.write(text),
  },
): Promise<number> {
  const level = readLogLevel(env);
  const config = readServiceConfig(env);
  let scrubber = createScrubber(secretsOf(config));
  const log = createLog({
    level,
    scrub: (line) => scrubber.text(line),
    style: logStyle,
  });
  const warning = unverifiedTlsWarning(env);
  if (warning !== null) log.warn(warning);
  const expectExit = logEveryExit(log, 'the service');
  const stopped = nextSignal(log);
  const manager = createServiceManager({ env, log, isAlive: () => true });
  let running: RunningService;
  try {
    running = await startService({ config, log });
  } catch (error) {
    // Our caller reports it.
    expectExit();
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
    manager.ready();
    const end = await Promise.race([stopped, running.failed]);
    if (end instanceof Error) throw end;
    log.info({ signal: end }, 'service is stopping');
  } finally {
    manager.stopping();
    await withinTime(running.close(), log);
    manager.close();
    expectExit();
  }
  return exitCodes.done;
}

/** The secrets of the configuration. They must not appear in a log line, whatever an error message quotes. */
export function secretsOf(config: ServiceConfig): { name: string; value: string }[] {
  return secretsWithin('', config).flatMap(({ name, secret }) => {
    const value = secret.reveal();
    // Database drivers quote parts of a URL.
    const password = URL.canParse(value) ? decodeURIComponent(new URL(value).password) : '';
    return [{ name, value }, ...(password === '' ? [] : [{ name: `${name}.password`, value: password }])];
  });
}

/** Collects secrets from the whole configuration, so that a new one cannot be forgotten. */
function secretsWithin(path: string, value: unknown): { name: string; secret: Secret }[] {
  if (value instanceof Secret) return [{ name: path, secret: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    secretsWithin(path === '' ? key : `${path}.${key}`, item),
  );
}

/** The values that the first start generated. */
export function generated({ apiKey, locationKey, encryptionKey }: Keys): { name: string; value: string }[] {
  return Object.entries({ apiKey, locationKey, encryptionKey }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
}

/** Longer than every wait during shutdown. */
const closeMs = 60_000;

/** Exits even if a part hangs while it closes. */
async function withinTime(closing: Promise<void>, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      log.error({ waitedMs: closeMs }, 'the service did not close in time: it exits anyway');
      resolve();
    }, closeMs);
  });
  await Promise.race([closing, late]).finally(() => clearTimeout(timer));
}

/** The first signal that requests a shutdown. A second one kills the process at once, which is Node's default. */
function nextSignal(log: Log): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
    let isFirst = true;
    const onSignal = (signal: NodeJS.Signals) => {
      if (isFirst) {
        isFirst = false;
        return resolve(signal);
      }
      log.error({ signal }, 'second signal: the service exits at once');
      for (const name of signals) process.off(name, onSignal);
      process.kill(process.pid, signal);
    };
    for (const name of signals) process.on(name, onSignal);
  });
}
