import type { AgentConfig } from '../../config.ts';
import type { Job } from '../../protocol/job.ts';
import { createScrubberCache } from '../../secrets/scrubber/cache.ts';
import {
  createScrubber,
  scrubberOf,
  type NamedSecret,
  type Scrubber,
} from '../../secrets/scrubber/scrubber.ts';
import { createScrubberOffThread, isQuick } from '../../secrets/scrubber/table-thread.ts';
import { withheldTables } from '../../secrets/scrubber/tables.ts';
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
  /** Until the tables for new secrets are ready, all texts are masked as a whole. */
  text: (text: string) => string;
  json: <T>(tree: T) => T;
  /** Resolves when the tables have all secrets. Call it before something that must be readable is scrubbed. */
  ready: () => Promise<void>;
  /** Why nothing of the run may leave but its status: it has too many secrets to search for. Null = it may. */
  readonly withheld: string | null;
  /** One line for each value that cannot be masked everywhere. */
  readonly warnings: readonly string[];
  /** All secrets that are masked now, for files, which are scrubbed on a separate thread. */
  secrets: () => readonly NamedSecret[];
  /** Masks a value from now on. */
  add: (name: string, value: string) => void;
  /** From now on, nothing of the run may leave but its status. The first reason is kept. */
  withhold: (why: string) => void;
};

/** Maximum number of secrets that one job may add while it runs, and their total bytes. */
const maxAdded = 5000;
const maxAddedBytes = 1024 * 1024;
/** Bytes of tables that are kept between jobs. A thousand secrets of 1 KiB have 22 MB. */
const keptBytes = 32 * 1024 * 1024;

/**
 * The scrubber of each job: the agent's own secrets, the job's, and those added during the run. Jobs without secrets
 * of their own share `base`, the others share one scrubber per set of secrets.
 */
export function jobScrubbers(own: readonly NamedSecret[], base: Scrubber): (job: Job) => JobScrubber {
  const cache = createScrubberCache({ maxBytes: keptBytes });
  return (job) => {
    const secrets = secretsOf(job);
    const given = secrets.length === 0 ? base : cache.prepare([...own, ...secrets]);
    return extendable([...own, ...secrets], given);
  };
}

function extendable(given: readonly NamedSecret[], scrubber: Scrubber | Promise<Scrubber>): JobScrubber {
  const added = new Map<string, NamedSecret>();
  let addedBytes = 0;
  let overflow: Scrubber | null = null;
  let current: Scrubber | null = scrubber instanceof Promise ? null : scrubber;
  let building: Promise<void> | null = null;
  const withhold = (why: string): void => {
    overflow ??= scrubberOf(withheldTables(why));
  };
  const all = () => [...given, ...added.values()];

  /** Null while the tables lack a secret and take too long to be built on this thread. */
  const now = (): Scrubber | null => {
    if (overflow !== null) return overflow;
    if (current === null && isQuick(all())) current = createScrubber(all());
    if (current === null) void build();
    return current;
  };
  const build = (): Promise<void> => {
    const count = added.size;
    const made = count === 0 ? scrubber : null;
    building ??= Promise.resolve(made ?? createScrubberOffThread(all())).then((built) => {
      building = null;
      if (added.size === count) current = built;
    });
    return building;
  };

  return {
    text: (text) => (now() ?? everything).text(text),
    json: (tree) => (now() ?? everything).json(tree),
    ready: async () => {
      while (now() === null) await build();
    },
    get withheld() {
      return now()?.withheld ?? null;
    },
    get warnings() {
      return now()?.warnings ?? [];
    },
    secrets: all,
    add: (name, value) => {
      if (overflow !== null || value === '' || added.has(value)) return;
      if (given.some((secret) => secret.value === value)) return;
      addedBytes += Buffer.byteLength(value);
      if (added.size >= maxAdded || addedBytes > maxAddedBytes) {
        return withhold(tooManyAdded);
      }
      added.set(value, { name, value });
      current = null;
    },
    withhold,
  };
}

const tooManyAdded = `the run added more than ${maxAdded} secrets, or more than ${maxAddedBytes} bytes of them`;
const everything = scrubberOf(withheldTables('the tables of its secrets are not ready'));

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
