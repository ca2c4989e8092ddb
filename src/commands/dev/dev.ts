import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  agentEnvironment,
  logLevels,
  readAgentSettings,
  readLogLevel,
  type AgentConfig,
  type LogLevel,
} from '../../config.ts';
import { readServiceConfig } from '../../config/service.ts';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { createLog } from '../../log.ts';
import { createScrubber } from '../../secrets/scrubber/scrubber.ts';
import { startService, type RunningService } from '../../service/service.ts';
import { startMailTarget } from '../../targets/mail-target.ts';
import { startTargets, type TargetPorts } from '../../targets/targets.ts';
import { parseArguments, type Command } from '../command.ts';
import { devLine } from '../line/dev.ts';
import { startAgentProcess, type AgentProcess } from './agent.ts';
import { createApiClient, type ApiClient } from './api.ts';
import { watchResults } from './results.ts';
import { installNewestRuntime } from './runtime.ts';
import { startSamples, syncSamples, type KnownCheck } from './samples.ts';
import { logEveryExit } from '../last-words.ts';
import { jsonStyle, readableLine, styledLine } from '../../log-line.ts';
import { sampleChecks } from './sample-checks.ts';
import { startSampleHeartbeat } from './sample-heartbeat.ts';
import { sampleScripts } from './sample-scripts.ts';
import { sampleSuite } from './sample-suite.ts';
import { generated, secretsOf } from '../service.ts';

/** How long new results are printed. */
const watchMs = 60_000;

/**
 * `dev`: the service, an agent, sample targets and sample checks on one machine. Prints one line of JSON on standard
 * output when everything is ready. A signal stops the parts in order: the agent drains, then the service closes, then
 * the targets.
 */
export const dev: Command = async (args, { env, stdout, stderr, logStyle = jsonStyle }) => {
  parseArguments(args, devLine);
  const level = readLogLevel(env);
  const agentSettings = readAgentSettings(env);
  // The requests that dev makes to print results would exceed the request limit of one key.
  const settings = { SERVICE_RATE_LIMIT: '0', ...env };
  let config = readServiceConfig(settings);
  const isText = logStyle.format === 'text';
  // With JSON, every line on standard error is an object.
  const print = (line: string): void =>
    stderr(isText ? `${line}\n` : styledLine(logStyle, { level: 'INFO', part: 'dev', msg: line.trim() }));
  const printLog = (line: string, part: string): void =>
    stderr(isText ? `${readableLine(line, part, logStyle.colour)}\n` : `${line}\n`);

  const signals = watchSignals();
  const closers: (() => Promise<unknown>)[] = [];
  let isAsItShould = (): void => undefined;
  try {
    const targets = await startTargets();
    closers.push(targets.close);
    if (config.notifications.smtpUrl === null) {
      const mailbox = await startMailTarget({
        folder: join(config.dataDir, 'mailbox'),
        onMail: ({ to, file }) => print(`mail to ${to.join(', ')}: ${file}`),
      });
      closers.push(mailbox.close);
      config = readServiceConfig({ ...settings, SMTP_URL: `smtp://127.0.0.1:${mailbox.port}` });
    }
    signals.stopped.throwIfAborted();

    let scrubber = createScrubber(secretsOf(config));
    const log = createLog({
      level,
      scrub: (line) => scrubber.text(line),
      destination: { write: (line) => printLog(line.trimEnd(), 'service') },
    });
    isAsItShould = logEveryExit(log, 'dev');
    const service = await startService({ config, log });
    closers.push(service.close);
    signals.stopped.throwIfAborted();
    const { keys } = service;
    if (keys === null) {
      const message = `dev needs the keys of its first start, which are not in ${config.dataDir}: set another SERVICE_DATA_DIR or DATABASE_URL`;
      throw new FatalError('CONFIGURATION', message, { exitCode: exitCodes.configuration });
    }

    scrubber = createScrubber([...secretsOf(config), ...generated(keys)]);

    const api = createApiClient(service.url, keys.apiKey, signals.stopped);
    const samples = sampleChecks(targets.ports, keys.locationSlug);
    const checks: KnownCheck[] = await syncSamples(api, samples, signals.stopped).catch((error: unknown) => {
      print(`the sample checks could not be created: ${toError(error).message}`);
      return [];
    });
    const heartbeat = await startSampleHeartbeat(api, {
      serviceUrl: service.url,
      signal: signals.stopped,
    }).catch((error: unknown): null => {
      print(`the sample heartbeat could not be created: ${toError(error).message}`);
      return null;
    });
    if (heartbeat !== null) checks.push(heartbeat);
    signals.stopped.throwIfAborted();

    const agent = await startAgentProcess({
      env: agentEnvironment(env, {
        apiKey: keys.locationKey,
        serviceUrl: service.url,
        extraCaFile: await trustTargets(agentSettings, targets.caCertificate),
        // The agent logs its health port at INFO. Lines below the user's log level are dropped below.
        logLevel: logLevels.indexOf(level) > logLevels.indexOf('INFO') ? 'INFO' : level,
        scriptNetworks: scriptNetworks(targets.ports),
      }),
      onLine: (line) => {
        if (isAtLeast(line, level)) printLog(line, 'agent');
      },
      signal: signals.stopped,
    });
    closers.push(agent.stop);
    signals.onAgain(() => void agent.stop());

    const serviceUrl = config.publicUrl ?? service.url;
    const ready = {
      ready: true,
      serviceUrl,
      accountId: service.accountId,
      apiKey: keys.apiKey,
      locationKey: keys.locationKey,
      agentHealthUrl: agent.healthUrl,
      webUrl: `${serviceUrl}/`,
      signInUrl: await signInUrl(service, { serviceUrl, apiKey: keys.apiKey }),
    };
    stdout(`${JSON.stringify(ready)}\n`);
    print(signInHint(ready.signInUrl));
    // The other checks run without a runtime, so startup does not wait for it.
    const runtime = installNewestRuntime({ env, print });
    closers.push(runtime.close);
    const scripts = runtime.installed.then(async (there) =>
      there && !signals.stopped.aborted
        ? startSamples(api, sampleScripts(targets.ports, keys.locationSlug), signals.stopped)
        : [],
    );
    void scripts.catch((error: unknown) => {
      if (!signals.stopped.aborted)
        print(`the sample checks with scripts could not be created: ${toError(error).message}`);
    });
    const suites = runtime.engines.then(async (there) => {
      if (!there || signals.stopped.aborted) return [];
      return startSamples(api, [await sampleSuite(api, targets.ports, keys.locationSlug)], signals.stopped);
    });
    void suites.catch((error: unknown) => {
      if (!signals.stopped.aborted) print(`the sample suite could not be created: ${toError(error).message}`);
    });
    const { failed } = service;
    return await untilTheEnd({
      api,
      checks,
      scripts,
      suites,
      agent,
      failed,
      stopped: signals.stopped,
      print,
    });
  } catch (error: unknown) {
    if (signals.stopped.aborted && error === signals.stopped.reason) return exitCodes.done;
    throw error;
  } finally {
    // Close in reverse order. A failure must not keep the others open.
    for (const close of closers.reverse()) {
      await close().catch((error: unknown) => print(`not closed cleanly: ${toError(error).message}`));
    }
    signals.stop();
    isAsItShould();
  }
};

/** The address that signs this machine's user in; null = the key of the first start was deleted. */
async function signInUrl(
  service: RunningService,
  { serviceUrl, apiKey }: { serviceUrl: string; apiKey: string },
): Promise<string | null> {
  const token = await service.newSignInToken(apiKey);
  return token === null ? null : `${serviceUrl}/sign-in?token=${token}`;
}

const signInHint = (url: string | null): string =>
  url === null
    ? '\nThe API key of the first start was deleted: sign in with another one.'
    : `\nOpen ${url} in a browser: it signs you in, once and within 10 minutes. The next start prints another one.`;

/** Prints results for a while, then waits for a signal or for an agent that cannot continue. */
async function untilTheEnd(parts: {
  api: ApiClient;
  checks: readonly KnownCheck[];
  /** The checks that are created once a runtime is installed. */
  scripts: Promise<KnownCheck[]>;
  /** The suite that is created once engines are installed. */
  suites: Promise<KnownCheck[]>;
  agent: AgentProcess;
  /** Fires when the service cannot continue. */
  failed: Promise<FatalError>;
  stopped: AbortSignal;
  print: (line: string) => void;
}): Promise<number> {
  const { agent, stopped, print } = parts;
  print('\nEverything is running. Results of the sample checks for one minute:');
  const watching = { print, untilMs: watchMs, signal: stopped };
  void watchResults(parts.api, parts.checks, watching);
  // Script checks run once a minute, so it takes longer until each has a result.
  void parts.scripts.then(
    (checks) => watchResults(parts.api, checks, { ...watching, untilMs: 2 * watchMs }),
    () => undefined,
  );
  void parts.suites.then(
    (checks) => watchResults(parts.api, checks, { ...watching, untilMs: 3 * watchMs }),
    () => undefined,
  );
  const signalled = new Promise<null>((resolve) => {
    if (stopped.aborted) resolve(null);
    stopped.addEventListener('abort', () => resolve(null));
  });
  const end = await Promise.race([signalled, agent.ended, parts.failed]);
  if (end !== null) throw end;
  print('Stopping: the agent drains, then the service closes.');
  return agent.stop();
}

/** A PEM file of authorities for the agent: those of the sample targets and, if set, the user's. */
async function trustTargets(settings: Omit<AgentConfig, 'apiKey'>, caCertificate: string): Promise<string> {
  const others =
    settings.extraCaFile === null ? '' : await readFile(settings.extraCaFile, 'utf8').catch(() => '');
  const file = join(settings.dataDir, 'sample-targets.pem');
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
  await writeFile(file, `${caCertificate}\n${others}`);
  return file;
}

/** Whether a line of the agent's log has at least the configured level. Lines without a level are always shown. */
function isAtLeast(line: string, level: LogLevel): boolean {
  const own = logLevels.find((name) => line.startsWith(`{"level":"${name}"`));
  return own === undefined || logLevels.indexOf(own) >= logLevels.indexOf(level);
}

/** The first SIGTERM, SIGINT or SIGHUP fires `stopped`; each later one calls the listeners given to `onAgain`. */
function watchSignals() {
  const names = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
  const stopped = new AbortController();
  let again: () => void = () => undefined;
  const onSignal = (): void => {
    if (stopped.signal.aborted) again();
    else stopped.abort(new Error('stopped by a signal'));
  };
  for (const name of names) process.on(name, onSignal);
  return {
    stopped: stopped.signal,
    onAgain: (listener: () => void) => void (again = listener),
    stop: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}

/** Scripts of the samples reach the sample targets, which are on loopback, and every network that is not special. */
function scriptNetworks(ports: TargetPorts): string[] {
  return ['0.0.0.0/0', '::/0', ...Object.values(ports).map((port) => `127.0.0.1:${port}`)];
}
