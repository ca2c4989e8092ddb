import { GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';
import { until } from '../e2e/program.ts';
import { docker, inspected, logsOf, runLabel, runName } from './engine.ts';

/** Containers of the images under test. */

export const images = ['uptime', 'full', 'dev', 'migrate'] as const;
export type Image = (typeof images)[number];

/** What `docker run` is told besides; all of it as a user would say it. */
export type Flags = {
  readOnly?: boolean;
  /** Drops all capabilities. */
  capDropAll?: boolean;
  capAdd?: readonly string[];
  securityOpt?: readonly string[];
  sysctls?: { readonly [name: string]: string };
};

/** A container of one of our images, with the options that testcontainers lacks. */
export class ImageContainer extends GenericContainer {
  constructor(image: Image, network: string) {
    super(`location-agent:${image}`);
    this.withNetworkMode(network)
      .withLabels({ [runLabel]: runName })
      .withStartupTimeout(120_000);
  }

  withFlags({ readOnly, capDropAll, capAdd = [], securityOpt = [], sysctls }: Flags): this {
    if (readOnly === true) {
      this.hostConfig.ReadonlyRootfs = true;
      this.withTmpFs({ '/tmp': '' });
    }
    if (capDropAll === true) this.withDroppedCapabilities('ALL');
    if (capAdd.length > 0) this.withAddedCapabilities(...capAdd);
    if (securityOpt.length > 0) this.withSecurityOpt(...securityOpt);
    if (sysctls !== undefined) this.hostConfig.Sysctls = { ...sysctls };
    return this;
  }
}

export type AgentOptions = {
  image: Image;
  network: string;
  /** Null = the environment says where it is. */
  key: string | null;
  serviceUrl?: string;
  env?: { [name: string]: string };
  flags?: Flags;
  /** Volume or folder on the host by its place in the container. */
  mounts?: { [target: string]: string };
  extraHosts?: { host: string; ipAddress: string }[];
  /** False = in a network that the host's ports don't lead into. */
  hasPorts?: boolean;
};

export type Agent = {
  id: string;
  container: StartedTestContainer;
  /** Status of a health page: `readiness`, `liveness`. */
  probe: (name: 'readiness' | 'liveness') => Promise<number>;
  /** A gauge or counter of the agent, summed over its labels. */
  metric: (name: string) => Promise<number>;
  logs: () => Promise<string>;
  signal: (name: string) => Promise<string>;
  /** Exit code once it has ended. */
  exited: (timeoutMs?: number) => Promise<number>;
  /** Ends and removes it with its anonymous volume. */
  remove: () => Promise<void>;
};

/** Starts an agent and resolves when the service has accepted it. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { image, network, key, serviceUrl = 'http://service:4400', env = {}, mounts = {} } = options;
  const hasPorts = options.hasPorts ?? true;
  const prepared = new ImageContainer(image, network)
    .withFlags(options.flags ?? {})
    .withEnvironment({ SERVICE_URL: serviceUrl, ...(key === null ? {} : { API_KEY: key }), ...env })
    .withBindMounts(Object.entries(mounts).map(([target, source]) => ({ source, target })))
    .withExtraHosts(options.extraHosts ?? [])
    .withWaitStrategy(
      hasPorts
        ? Wait.forHttp('/-/readiness', 8081).withReadTimeout(2_000)
        : Wait.forLogMessage(/"agent started"/),
    );
  const container = await (hasPorts ? prepared.withExposedPorts(8081) : prepared).start();
  const id = container.getId();
  const page = (path: string) =>
    fetch(`http://${container.getHost()}:${container.getMappedPort(8081)}${path}`, {
      signal: AbortSignal.timeout(10_000),
    });
  return {
    id,
    container,
    probe: async (name) => (await page(`/-/${name}`)).status,
    metric: async (name) => {
      const lines = (await (await page('/metrics')).text()).split('\n');
      const own = lines.filter((line) => line.split(/[{ ]/, 1)[0] === `location_agent_${name}`);
      return own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    logs: () => logsOf(id),
    signal: (name) => docker('kill', '--signal', name, id),
    exited: async (timeoutMs = 60_000) => {
      await until(
        async () => (await inspected(id, '{{.State.Running}}')) === 'false',
        'the end of the container',
        timeoutMs,
      );
      return Number(await inspected(id, '{{.State.ExitCode}}'));
    },
    remove: async () => void (await docker('rm', '--force', '--volumes', id)),
  };
}
