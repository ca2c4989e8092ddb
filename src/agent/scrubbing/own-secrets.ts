import type { AgentConfig } from '../../config.ts';
import type { Job } from '../../protocol/job.ts';
import { createScrubberCache } from '../../secrets/scrubber/cache.ts';
import { createScrubber, type NamedSecret, type Scrubber } from '../../secrets/scrubber/scrubber.ts';
import { passwordsOf } from '../job-types/secrets.ts';
import { jobTypeOf } from '../job-types/table.ts';

const secretPrefix = 'SERVICE_SECRET_';

/**
 * The agent's own secrets: its key if it has one, SERVICE_SECRET_* of its environment, and passwords of its proxies
 * and in the installer environment of suites.
 */
export function ownSecrets(
  config: Pick<AgentConfig, 'proxy' | 'secrets' | 'installEnvironment'> & {
    readonly apiKey?: AgentConfig['apiKey'];
  },
): NamedSecret[] {
  const proxies = [config.proxy.httpProxy, config.proxy.httpsProxy].flatMap((proxy) =>
    proxy === null ? [] : passwordsOf('HTTP(S)_PROXY', proxy.reveal()),
  );
  return [
    ...(config.apiKey === undefined ? [] : [{ name: 'API_KEY', value: config.apiKey.reveal() }]),
    ...config.secrets.map((secret) => ({ name: `${secretPrefix}*`, value: secret.reveal() })),
    ...proxies,
    ...Object.entries(config.installEnvironment)
      // The proxies are included above.
      .filter(([name]) => !/^https?_proxy$/i.test(name))
      .flatMap(([name, value]) => passwordsOf(name, value.reveal())),
  ];
}

/** Masks everything of one job that leaves the agent. Secrets can be added while the job runs. */
export type JobScrubber = {
  text: (text: string) => string;
  json: <T>(tree: T) => T;
  /** One line for each value that cannot be masked everywhere. */
  readonly warnings: readonly string[];
  /** All secrets that are masked now, for files, which are scrubbed on a separate thread. */
  secrets: () => readonly NamedSecret[];
  /** Masks a value from now on. */
  add: (name: string, value: string) => void;
};

/** Maximum number of secrets that one job may add while it runs, and their total bytes. */
const maxAdded = 1000;
const maxAddedBytes = 1024 * 1024;

/**
 * The scrubber of each job: the agent's own secrets, the job's, and those added during the run. Jobs without secrets
 * of their own share `base`, the others share one scrubber per set of secrets.
 */
export function jobScrubbers(own: readonly NamedSecret[], base: Scrubber): (job: Job) => JobScrubber {
  const cache = createScrubberCache();
  return (job) => {
    const secrets = secretsOf(job);
    const given = secrets.length === 0 ? base : cache.scrubberFor([...own, ...secrets]);
    return extendable([...own, ...secrets], given);
  };
}

function extendable(given: readonly NamedSecret[], scrubber: Scrubber): JobScrubber {
  const added = new Map<string, NamedSecret>();
  let addedBytes = 0;
  let tooMany = false;
  let current: Scrubber | null = scrubber;
  const now = () => (current ??= createScrubber([...given, ...added.values()]));
  return {
    text: (text) => now().text(text),
    json: (tree) => now().json(tree),
    get warnings() {
      const more = `more than ${maxAdded} secrets, or ${maxAddedBytes} bytes of them, were added during the run; the others are not masked`;
      return tooMany ? [...now().warnings, more] : now().warnings;
    },
    secrets: () => [...given, ...added.values()],
    add: (name, value) => {
      if (value === '' || added.has(value) || given.some((secret) => secret.value === value)) return;
      addedBytes += Buffer.byteLength(value);
      if (added.size >= maxAdded || addedBytes > maxAddedBytes) {
        tooMany = true;
        return;
      }
      added.set(value, { name, value });
      current = null;
    },
  };
}

/** Secret variables of a job, and the passwords in its proxies, servers and keys. */
function secretsOf(job: Job): NamedSecret[] {
  const secrets: NamedSecret[] = [];
  for (const { key, value, secret } of job.environmentVariables) {
    if (secret || key.startsWith(secretPrefix)) secrets.push({ name: key, value });
  }
  if (job.proxyUrl !== null) secrets.push(...passwordsOf('proxyUrl', job.proxyUrl));
  secrets.push(...jobTypeOf(job).secretsOf(job));
  return secrets;
}
