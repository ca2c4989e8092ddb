import { isAbsolute, resolve } from 'node:path';
import {
  address,
  fail,
  flag,
  integer,
  oneOf,
  proxyUrl,
  secret,
  text,
  url,
  type Environment,
} from './config/read.ts';
import { withMaskedMessages } from './config/masked-messages.ts';
import { misspeltVariables } from './config/misspelt.ts';
import { referenceTargets, type ReferenceTarget } from './config/reference-targets.ts';
import { networkList } from './config/networks.ts';
import { probeConfig, type ProbeConfig } from './config/probe.ts';
import type { LogStyle } from './log-line.ts';
import { Secret } from './secrets/secret.ts';

/**
 * The agent's environment, read once; the service's variables are in config/service.ts. Each part of the program gets
 * its own frozen object. A malformed value causes a one-line error and exit code 78. docs/configuration.md has the table for
 * users.
 */

/** The process's own environment, for main to pass on. */
export function environment(): Environment {
  return process.env;
}

export const logLevels = ['DEBUG', 'LOG', 'INFO', 'WARN', 'ERROR'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Proxies for the agent's own traffic to the service; lower-case names take precedence over upper-case ones. */
export type ProxyConfig = { httpProxy: Secret | null; httpsProxy: Secret | null; noProxy: string };

export type AgentConfig = {
  readonly apiKey: Secret;
  readonly serviceUrl: URL;
  /** Slots of each lane; 0 = this agent does not have the lane. */
  readonly uptimeConcurrency: number;
  /** Slots of the browser lane; null = computed from the cgroup's memory and cores. */
  readonly jobConcurrency: number | null;
  readonly suiteConcurrency: number;
  readonly healthPort: number;
  /** The address on which the health port listens; null = all. */
  readonly healthHost: string | null;
  /** `/probe` on the health port; null = off. */
  readonly probe: ProbeConfig;
  readonly dataDir: string;
  /** Hours for which the agent runs the checks that it holds while the service is away. */
  readonly continueHours: number;
  readonly shutdownGraceSeconds: number;
  readonly proxy: ProxyConfig;
  readonly extraCaFile: string | null;
  /** The first folder to search for Playwright's browser builds; null = only the usual places. */
  readonly playwrightBrowsersPath: string | null;
  readonly useOsDnsResolver: boolean;
  readonly dependencyCache: 'local' | 'off';
  /** Variables of the agent's environment that only the installers of suites get. */
  readonly installEnvironment: { readonly [name: string]: Secret };
  readonly externalObservability: boolean;
  /** Mask credential-like text in script runs even if no variable declares it. */
  readonly detectSecrets: boolean;
  /** Make traceroutes and packet captures if the network fails a check. */
  readonly networkEvidence: boolean;
  /** File of the database of AS numbers; null = traces show none. */
  readonly asDatabase: string | null;
  /** Hosts that show whether this host's own network works; they are asked only after network failures. */
  readonly referenceTargets: readonly ReferenceTarget[];
  /** Networks that customer code may reach, in place of the location's list; null = the location's. */
  readonly scriptAllowedNetworks: readonly string[] | null;
  /** Networks that customer code may not reach, whatever the location allows. */
  readonly scriptDeniedNetworks: readonly string[];
  /** Values of SERVICE_SECRET_* in the agent's own environment: masked in everything that leaves the agent. */
  readonly secrets: readonly Secret[];
};

/**
 * What package managers and `playwright install` need to reach a registry: proxies under both of their names (tools
 * read one or the other), CA files, registry and download host. Also Node's headers, to compile packages.
 */
function installEnvironment(env: Environment): { readonly [name: string]: Secret } {
  const found: { [name: string]: Secret } = {};
  const noProxy = text(env, 'no_proxy') ?? text(env, 'NO_PROXY');
  const proxies = {
    HTTP_PROXY: proxyUrl(env, 'HTTP_PROXY'),
    HTTPS_PROXY: proxyUrl(env, 'HTTPS_PROXY'),
    NO_PROXY: noProxy === null ? null : new Secret(noProxy),
  };
  for (const [name, value] of Object.entries(proxies)) {
    if (value !== null) found[name] = found[name.toLowerCase()] = value;
  }
  const authorities = text(env, 'NODE_EXTRA_CA_CERTS');
  // Installers have their own working folder.
  if (authorities !== null) found['NODE_EXTRA_CA_CERTS'] = new Secret(resolve(authorities));
  for (const name of [
    'npm_config_registry',
    'NPM_CONFIG_REGISTRY',
    'npm_config_nodedir',
    'PLAYWRIGHT_DOWNLOAD_HOST',
  ] as const) {
    const value = text(env, name);
    if (value !== null) found[name] = new Secret(value);
  }
  return Object.freeze(found);
}

/** Playwright's own variable: a folder, or 0 for builds within each installation, which no runtime has. */
function browsersPath(env: Environment): string | null {
  const value = text(env, 'PLAYWRIGHT_BROWSERS_PATH');
  if (value === null || value === '0') return null;
  if (!isAbsolute(value)) fail(`PLAYWRIGHT_BROWSERS_PATH must be an absolute path, but is "${value}"`);
  return resolve(value);
}

/** The absolute path of a file; null if the variable is not set. */
function filePath(env: Environment, name: 'AS_DATABASE'): string | null {
  const value = text(env, name);
  return value === null ? null : resolve(value);
}

/** LOG_FORMAT and NO_COLOR. `isTerminal`: standard error is one. `preferred` is the format for terminals. */
export function readLogStyle(
  env: Environment,
  { isTerminal, preferred }: { isTerminal: boolean; preferred: LogStyle['format'] },
): LogStyle {
  const format = withMaskedMessages(env, () =>
    oneOf(env, 'LOG_FORMAT', ['json', 'text'], isTerminal ? preferred : 'json'),
  );
  return { format, colour: isTerminal && text(env, 'NO_COLOR') === null };
}

/** LOG_LEVEL, for every command. */
export function readLogLevel(env: Environment): LogLevel {
  return withMaskedMessages(env, () => oneOf(env, 'LOG_LEVEL', logLevels, 'INFO'));
}

/** The variables of `start` (and, without a key, of `doctor`). Throws FatalError (78). */
export function readAgentConfig(env: Environment): AgentConfig {
  const apiKey = secret(env, 'API_KEY');
  if (apiKey === null) {
    fail('API_KEY is missing', 'set API_KEY or API_KEY_FILE to a key of the private location (pl_…)');
  }
  if (!isLocationKey(apiKey.reveal())) {
    fail(
      'API_KEY is not a key of a private location',
      'set it to one, which begins with pl_; the API key of an account belongs in SERVICE_API_KEY',
    );
  }
  return Object.freeze({ apiKey, ...readAgentSettings(env) });
}

/**
 * The variables of commands that work with or without a service. Without one, a key that is not a location key belongs
 * to another program and is ignored. Throws FatalError (78).
 */
export function readAgentConfigIfAny(
  env: Environment,
  { usesService }: { usesService: boolean },
): Omit<AgentConfig, 'apiKey'> & { apiKey?: Secret } {
  const key = secret(env, 'API_KEY');
  const isOurs = key !== null && (usesService || isLocationKey(key.reveal()));
  return isOurs ? readAgentConfig(env) : readAgentSettings(env);
}

/** Whether the user has named a service. */
export const namesService = (env: Environment): boolean => text(env, 'SERVICE_URL') !== null;

const isLocationKey = (key: string): boolean => /^pl_[\x21-\x7e]{8,200}$/.test(key);

/** Slots of the lanes. A lane set to 0 is switched off, so that agents can share a location's work by lane. */
function laneConcurrency(
  env: Environment,
): Pick<AgentConfig, 'uptimeConcurrency' | 'jobConcurrency' | 'suiteConcurrency'> {
  const auto = (text(env, 'JOB_CONCURRENCY') ?? 'auto').toLowerCase() === 'auto';
  const slots = {
    uptimeConcurrency: integer(env, 'UPTIME_CONCURRENCY', 200, 0, 10_000),
    jobConcurrency: auto ? null : integer(env, 'JOB_CONCURRENCY', 1, 0, 1000),
    suiteConcurrency: integer(env, 'SUITE_CONCURRENCY', 1, 0, 100),
  };
  if (Object.values(slots).every((count) => count === 0)) {
    fail(
      'UPTIME_CONCURRENCY, JOB_CONCURRENCY and SUITE_CONCURRENCY are all 0',
      'set at least one of them above 0',
    );
  }
  return slots;
}

/** All settings of the agent except its key. */
export function readAgentSettings(env: Environment): Omit<AgentConfig, 'apiKey'> {
  return withMaskedMessages(env, () => agentSettings(env));
}

function agentSettings(env: Environment): Omit<AgentConfig, 'apiKey'> {
  const serviceUrl = url(env, 'SERVICE_URL', 'http://127.0.0.1:4400', ['http:', 'https:']);
  if (serviceUrl.username !== '' || serviceUrl.password !== '' || serviceUrl.search !== '') {
    fail('SERVICE_URL must not contain a user, password or query', 'the agent authenticates with its key');
  }
  return Object.freeze({
    serviceUrl,
    ...laneConcurrency(env),
    healthPort: integer(env, 'AGENT_HEALTH_PORT', 8081, 0, 65_535),
    healthHost: address(env, 'AGENT_HEALTH_HOST'),
    probe: probeConfig(env),
    dataDir: resolve(text(env, 'AGENT_DATA_DIR') ?? '.data/agent'),
    continueHours: integer(env, 'AGENT_CONTINUE_HOURS', 24, 0, 24),
    shutdownGraceSeconds: integer(env, 'AGENT_SHUTDOWN_GRACE_SECONDS', 300, 0, 86_400),
    proxy: Object.freeze({
      httpProxy: proxyUrl(env, 'HTTP_PROXY'),
      httpsProxy: proxyUrl(env, 'HTTPS_PROXY'),
      noProxy: text(env, 'no_proxy') ?? text(env, 'NO_PROXY') ?? '',
    }),
    extraCaFile: text(env, 'NODE_EXTRA_CA_CERTS'),
    playwrightBrowsersPath: browsersPath(env),
    useOsDnsResolver: flag(env, 'USE_OS_DNS_RESOLVER', false),
    dependencyCache: oneOf(env, 'DEPENDENCY_CACHE', ['local', 'off'], 'local'),
    installEnvironment: installEnvironment(env),
    externalObservability: flag(env, 'EXTERNAL_OBSERVABILITY', true),
    detectSecrets: flag(env, 'DETECT_SECRETS', false),
    networkEvidence: flag(env, 'NETWORK_EVIDENCE', true),
    asDatabase: filePath(env, 'AS_DATABASE'),
    referenceTargets: Object.freeze(referenceTargets(env, 'REFERENCE_TARGETS')),
    scriptAllowedNetworks: networkList(env, 'SCRIPT_ALLOWED_NETWORKS'),
    scriptDeniedNetworks: networkList(env, 'SCRIPT_DENIED_NETWORKS') ?? [],
    secrets: Object.freeze(
      Object.entries(env)
        .filter(([name, value]) => name.startsWith('SERVICE_SECRET_') && value !== undefined && value !== '')
        .map(([, value]) => new Secret(value ?? '')),
    ),
  });
}

/**
 * The environment of an agent that is started together with the service: with its key and the service's URL, without
 * the service's own secrets. The service is on this machine, so no proxy is used.
 */
export function agentEnvironment(
  env: Environment,
  agent: {
    apiKey: string;
    serviceUrl: string;
    extraCaFile: string;
    logLevel: LogLevel;
    /** Networks for scripts unless the user names others. */
    scriptNetworks: readonly string[];
  },
): Environment {
  const forService =
    /^(API_KEY_FILE|DATABASE_URL(_FILE)?|((SMTP|CHAT_A_APP|PAGING_[AB]|SMS|CALL|NOTIFICATION|ANALYSIS|AGENTIC|S3)_\w+)|SERVICE_(API_KEY|LOCATION_KEY|ENCRYPTION_KEY)(_FILE)?)$/;
  // Our own start has warned of misspelt names.
  const reported = new Set(misspeltVariables(env).map(({ name }) => name));
  const noProxy = [text(env, 'no_proxy') ?? text(env, 'NO_PROXY'), new URL(agent.serviceUrl).hostname];
  return {
    ...Object.fromEntries(
      Object.entries(env).filter(([name]) => !forService.test(name) && !reported.has(name)),
    ),
    API_KEY: agent.apiKey,
    SERVICE_URL: agent.serviceUrl,
    no_proxy: noProxy.filter((entry) => entry !== null).join(','),
    NODE_EXTRA_CA_CERTS: agent.extraCaFile,
    LOG_LEVEL: agent.logLevel,
    // Its lines are read and shown in our own format.
    LOG_FORMAT: 'json',
    SCRIPT_ALLOWED_NETWORKS: text(env, 'SCRIPT_ALLOWED_NETWORKS') ?? agent.scriptNetworks.join(','),
  };
}

/**
 * The account's API key with which a command authenticates: from `file`, else SERVICE_API_KEY. Throws FatalError
 * (78).
 */
export function readAccountKey(env: Environment, file: string | null): Secret {
  const name = 'SERVICE_API_KEY';
  const key = secret(file === null ? env : { [`${name}_FILE`]: file }, name);
  return (
    key ?? fail(`${name} is missing`, `set it, or ${name}_FILE or --api-key-file, to a key of the account`)
  );
}
