import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProxyConfig } from '../../config.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import { createNetwork } from '../../executors/system-network.ts';
import type { Secret } from '../../secrets/secret.ts';
import { refusalOf } from './access.ts';
import { messageOf } from './address.ts';
import { allowedTargets, TargetRefused, type AllowedTargets } from './allowed-targets.ts';
import { Gauges } from './gauges.ts';
import { createProbeLog } from './probe-log.ts';
import { probers } from './probers.ts';
import type { Prober, ProbeRun } from './run.ts';
import { ProbeConfigError } from './settings/fields.ts';
import { readModules, type ProbeModule, type ProbeModules } from './settings/module-file.ts';
import { deadlineSignal, timeoutSeconds } from './time-limit.ts';

/** `GET /probe` in the manner of blackbox_exporter, on the agent's metrics port. */

export type ProbeEndpointOptions = {
  readonly file: string;
  readonly targets: readonly string[];
  readonly token: Secret | null;
  /** The proxies of the agent's own environment, for modules that want them. */
  readonly proxy: ProxyConfig;
  readonly useOsDnsResolver: boolean;
  readonly now: () => number;
};
export type ProbeEndpoint = {
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  close: () => void;
};

/** Probes at a time; more are refused, because each holds a connection. */
const maxProbes = 256;
const textType = 'text/plain; charset=utf-8';
const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** Reads the file. Throws FatalError (78) that names what cannot be used. */
export async function createProbeEndpoint(options: ProbeEndpointOptions): Promise<ProbeEndpoint> {
  let modules: ProbeModules;
  try {
    modules = await readModules(options.file, options.proxy);
  } catch (error: unknown) {
    if (!(error instanceof ProbeConfigError)) throw error;
    throw new FatalError('CONFIGURATION', `PROBE_CONFIG: ${options.file}: ${error.message}`, {
      exitCode: exitCodes.configuration,
      cause: error,
    });
  }
  const network = createNetwork({ useOsDnsResolver: options.useOsDnsResolver });
  const allowed = allowedTargets(options.targets);
  let running = 0;
  return {
    answer: async (request, response) => {
      const refusal = refusalOf(request, options.token);
      if (refusal !== null) {
        if (refusal.status === 401) response.setHeader('www-authenticate', 'Bearer');
        return text(response, refusal.status, refusal.why);
      }
      const wanted = wantedProbe(request, modules);
      if ('status' in wanted) return text(response, wanted.status, wanted.why);
      if (running >= maxProbes) return text(response, 503, `there are ${maxProbes} probes already`);
      running += 1;
      try {
        await probe(wanted, response, { network, allowed, now: options.now });
      } finally {
        running -= 1;
      }
    },
    close: () => network.close(),
  };
}

function text(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': textType, 'x-content-type-options': 'nosniff' });
  response.end(`${body}\n`);
}

type Wanted = {
  module: ProbeModule;
  name: string;
  target: string;
  hostname: string | null;
  debug: boolean;
  seconds: number;
};
type Misuse = { status: number; why: string };

/** What a request asks for, or why it cannot be answered. */
function wantedProbe({ url, headers }: IncomingMessage, modules: ProbeModules): Wanted | Misuse {
  const parameters = new URL(url ?? '/', 'http://localhost').searchParams;
  const name = parameters.get('module') ?? 'http_2xx';
  const module = modules.get(name === '' ? 'http_2xx' : name);
  if (module === undefined) return { status: 400, why: `Unknown module ${JSON.stringify(name)}` };
  const header = headers['x-prometheus-scrape-timeout-seconds'];
  const seconds = timeoutSeconds(Array.isArray(header) ? header[0] : header, module);
  if (seconds === null) return { status: 500, why: 'X-Prometheus-Scrape-Timeout-Seconds is not a number' };
  const target = decodedAgain(parameters.get('target') ?? '');
  if (target === null) return { status: 400, why: 'Target parameter is not encoded well' };
  if (target === '') return { status: 400, why: 'Target parameter is missing' };
  const hostname = parameters.get('hostname');
  if (hostname !== null && /[^\w.:[\]-]/.test(hostname))
    return { status: 400, why: 'Hostname parameter is not a host name' };
  if (hostname !== null && hostname !== '' && module.prober === 'http') {
    const { host } = module.settings;
    if (host !== null && host !== hostname)
      return {
        status: 400,
        why: `Host header defined both in module configuration (${host}) and with URL-parameter 'hostname' (${hostname})`,
      };
  }
  return {
    module,
    name,
    target,
    hostname: hostname === '' ? null : hostname,
    debug: parameters.get('debug') === 'true',
    seconds,
  };
}

function decodedAgain(target: string): string | null {
  if (!target.includes('%')) return target;
  try {
    return decodeURIComponent(target);
  } catch {
    return null;
  }
}

async function probe(
  wanted: Wanted,
  response: ServerResponse,
  tools: Pick<ProbeRun, 'network' | 'now'> & { allowed: AllowedTargets },
): Promise<void> {
  const { module, seconds, target, hostname } = wanted;
  const { signal, cancel, close } = deadlineSignal(seconds);
  response.once('close', cancel);
  const gauges = new Gauges();
  const log = createProbeLog({ module: wanted.name, target }, tools.now);
  log.add('Beginning probe', { probe: module.prober, timeout_seconds: seconds });
  const startedAt = performance.now();
  let isUp = false;
  try {
    isUp = await run(module, { ...tools, target, hostname, signal, gauges, log: log.add });
  } catch (error: unknown) {
    if (error instanceof TargetRefused) return text(response, 403, error.message);
    log.add('The probe could not be made', { err: messageOf(error) });
  } finally {
    close();
    response.off('close', cancel);
  }
  const duration = (performance.now() - startedAt) / 1000;
  log.add(isUp ? 'Probe succeeded' : 'Probe failed', { duration_seconds: duration });
  gauges.set('probe_duration_seconds', duration);
  gauges.set('probe_timeout_seconds', seconds);
  gauges.set('probe_success', isUp ? 1 : 0);
  if (wanted.debug) return text(response, 200, log.page(gauges, module.shown));
  response.writeHead(200, { 'content-type': metricsType });
  response.end(gauges.text());
}

function run<M extends ProbeModule>({ prober, settings }: M, one: ProbeRun): Promise<boolean> {
  const execute = probers[prober] as Prober<typeof settings>; // the row of the table is the module's own
  return execute(settings, one);
}
