import { readLogLevel } from '../config.ts';
import { readServiceConfig, type ServiceConfig } from '../config/service.ts';
import type { Environment } from '../config/read.ts';
import { exitCodes } from '../errors.ts';
import { createLog } from '../log.ts';
import { createScrubber } from '../secrets/scrubber.ts';
import { Secret } from '../secrets/secret.ts';
import type { Keys } from '../service/keys-file.ts';
import { startService } from '../service/service.ts';
import { usageError, type Command } from './command.ts';

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
  const stopped = nextSignal();
  const running = await startService({ config, log });
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
    log.info({ signal: await stopped }, 'service stops');
  } finally {
    await running.close();
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

/** The first signal that asks for an end. A second one ends the process at once, as it does by default. */
function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
    const onSignal = (signal: NodeJS.Signals) => {
      for (const name of signals) process.off(name, onSignal);
      resolve(signal);
    };
    for (const name of signals) process.on(name, onSignal);
  });
}
