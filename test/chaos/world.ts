import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { apiOf, type Api } from '../e2e/program.ts';
import { startDatabase, type ChaosDatabase } from './database.ts';
import type { ChaosCheck, Facts } from './facts.ts';
import { startFront, type Front } from './front.ts';
import { momentsOf } from './judge.ts';
import { killEverything, sleep, start, until, type Running } from './programs.ts';
import type { Random } from './random.ts';
import { startReceiver, startTargets, type Receiver, type Targets } from './targets.ts';

/** A service with replicas on PostgreSQL behind a front, agents, targets and a webhook: all real, all open to faults. */

export type World = {
  random: Random;
  folder: string;
  database: ChaosDatabase;
  front: Front;
  targets: Targets;
  receiver: Receiver;
  checks: ChaosCheck[];
  api: Api;
  replicas: (Running | null)[];
  agents: (Running | null)[];
  startReplica: (index: number, extra?: Record<string, string>) => Promise<void>;
  /** SIGKILL, and resolved when it is gone. */
  killReplica: (index: number) => Promise<void>;
  startAgent: (index: number, options?: AgentOptions) => Promise<void>;
  killAgent: (index: number) => Promise<void>;
  agentFolder: (index: number) => string;
  /** Sets the clock of all programs that were started with this name. */
  setClock: (name: string, offsetMs: number) => void;
  /** Makes a check's target bad, or well again. */
  setBad: (check: ChaosCheck, isBad: boolean) => void;
  /** What was seen of the runs that were due from `from` to `to`, once everything has settled. */
  facts: (from: number, to: number) => Promise<Facts>;
  /** Done at the end, when all programs have ended. */
  atEnd: (() => void)[];
  close: () => Promise<void>;
};

export type AgentOptions = {
  env?: Record<string, string>;
  before?: readonly string[];
  /** Of the service; default: the front. */
  serviceUrl?: string;
  /** Files for `--import`. */
  imports?: readonly string[];
  /** Another build of the program. */
  main?: string;
};

export type WorldOptions = {
  random: Random;
  main: string;
  replicas?: number;
  agents?: number;
  /** Checks of each kind. */
  url?: number;
  tcp?: number;
  dns?: number;
  /** Seconds between the runs of a check: 10, 20 or 30. */
  everySeconds?: 10 | 20 | 30;
  /** Where targets listen. */
  host?: string;
  /** Where the front listens, if elsewhere. */
  frontHost?: string;
  /** Addresses by which checks reach the targets, in turn; default: `host`. */
  addresses?: readonly string[];
  /** Names below it lead to the targets: every third URL check uses one. */
  domain?: string;
  limits?: { degradedResponseTime: number; maxResponseTime: number };
  diskMb?: number;
  env?: Record<string, string>;
  agentEnv?: Record<string, string>;
  agentOptions?: AgentOptions;
  /** Files for `--import` in replicas, and their variables. */
  replicaImports?: readonly string[];
  replicaMain?: string;
  folder?: string;
};

const apiKey = 'sk_a_key_of_the_chaos_tests';
const locationKey = 'pl_a_key_of_the_chaos_tests';
const clockFile = fileURLToPath(new URL('../../test/chaos/clock.mjs', import.meta.url));

export async function startWorld(options: WorldOptions): Promise<World> {
  const host = options.host ?? '127.0.0.1';
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'location-agent-chaos-'));
  const database = await startDatabase(options.diskMb === undefined ? {} : { diskMb: options.diskMb });
  const front = await startFront({ host: options.frontHost ?? host });
  const targets = await startTargets(host, options.addresses);
  const receiver = await startReceiver();
  const replicas: (Running | null)[] = [];
  const agents: (Running | null)[] = [];
  const ports: (number | null)[] = [];
  const clockOf = (name: string) => join(folder, `clock-${name}`);
  const setClock = (name: string, offsetMs: number) => writeFileSync(clockOf(name), String(offsetMs));
  setClock('service', 0);
  setClock('agent', 0);

  const imports = (files: readonly string[]) =>
    files.map((file) => `--import=${pathToFileURL(file).href}`).join(' ');

  async function startReplica(index: number, extra: Record<string, string> = {}): Promise<void> {
    const dataDir = join(folder, `service-${index}`);
    mkdirSync(dataDir, { recursive: true });
    const running = start({
      main: options.replicaMain ?? options.main,
      args: ['service'],
      env: {
        DATABASE_URL: database.url,
        SERVICE_DATA_DIR: join(folder, 'service'),
        SERVICE_PORT: String(ports[index] ?? 0),
        SERVICE_ENCRYPTION_KEY: 'a passphrase of the chaos tests',
        SERVICE_API_KEY: apiKey,
        SERVICE_LOCATION_KEY: locationKey,
        SERVICE_LOCATION_SLUG: 'office',
        SERVICE_RATE_LIMIT: '0',
        NOTIFICATION_PRIVATE_TARGETS: 'allow',
        CHAOS_CLOCK: clockOf('service'),
        NODE_OPTIONS: imports([clockFile, ...(options.replicaImports ?? [])]),
        ...options.env,
        ...extra,
      },
      logFile: join(folder, `service-${index}.log`),
    });
    replicas[index] = running;
    const ready = JSON.parse(await running.firstLine) as { serviceUrl: string };
    ports[index] = Number(new URL(ready.serviceUrl).port);
    front.setReplicas(ports.filter((port): port is number => port !== null && port !== undefined));
  }
  const killOf = async (running: Running | null | undefined) => {
    running?.kill('SIGKILL');
    await running?.ended;
  };

  async function startAgent(index: number, agent: AgentOptions = {}): Promise<void> {
    const given = { ...options.agentOptions, ...agent };
    const running = start({
      main: given.main ?? options.main,
      args: ['start'],
      env: {
        SERVICE_URL: given.serviceUrl ?? front.url,
        API_KEY: locationKey,
        AGENT_HEALTH_PORT: '0',
        AGENT_DATA_DIR: world.agentFolder(index),
        EXTERNAL_OBSERVABILITY: 'off',
        CHAOS_CLOCK: clockOf('agent'),
        NODE_OPTIONS: imports([clockFile, ...(given.imports ?? [])]),
        ...options.agentEnv,
        ...given.env,
      },
      before: given.before ?? [],
      logFile: join(folder, `agent-${index}.log`),
    });
    agents[index] = running;
    await until(
      () => !running.isRunning() || running.stderr().includes('"healthUrl"'),
      `agent ${index} to start; it says\n${running.stderr()}`,
    );
  }

  const world: World = {
    random: options.random,
    folder,
    database,
    front,
    targets,
    receiver,
    checks: [],
    api: apiOf('', apiKey),
    replicas,
    agents,
    startReplica,
    killReplica: (index) => killOf(replicas[index]),
    startAgent,
    killAgent: (index) => killOf(agents[index]),
    agentFolder: (index) => {
      const path = join(folder, `agent-${index}`);
      mkdirSync(path, { recursive: true });
      return path;
    },
    setClock,
    setBad: (check, isBad) => {
      targets.setBad(check.name, isBad);
      const bad = check.bad as { from: number; to: number }[]; // this is where it is made
      const last = bad.at(-1);
      const isOpen = last?.to === Number.MAX_SAFE_INTEGER;
      if (isBad && !isOpen) bad.push({ from: Date.now(), to: Number.MAX_SAFE_INTEGER });
      if (!isBad && last !== undefined && isOpen) last.to = Date.now();
    },
    facts: (from, to) => settle(world, from, to),
    atEnd: [],
    close: async () => {
      for (const running of [...agents, ...replicas]) running?.kill('SIGCONT');
      killEverything();
      for (const running of [...agents, ...replicas]) await running?.ended;
      for (const work of world.atEnd) work();
      await Promise.allSettled([front.close(), targets.close(), receiver.close()]);
      await database.stop();
      if (process.env['CHAOS_KEEP'] === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };

  await startReplica(0);
  world.api = apiOf(front.url, apiKey);
  await database.record();
  for (let index = 1; index < (options.replicas ?? 1); index++) await startReplica(index);
  world.checks.push(...(await makeChecks(world, options)));
  for (let index = 0; index < (options.agents ?? 1); index++) await startAgent(index);
  return world;
}

async function makeChecks(world: World, options: WorldOptions): Promise<ChaosCheck[]> {
  const addresses = options.addresses ?? [options.host ?? '127.0.0.1'];
  const template = '{"check":"{{CHECK_ID}}","type":"{{ALERT_TYPE}}","id":"{{CHECK_RESULT_ID}}"}';
  const channel = await world.api<{ id: number }>('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'oracle', url: world.receiver.url, template },
  });
  if (channel.status !== 201) throw new Error(`no channel: ${JSON.stringify(channel.body)}`);
  const { url = 24, tcp = 8, dns = 8, everySeconds = 10 } = options;
  const kinds = [
    ...Array.from({ length: url }, (_, index) => ['url', `url-${index}`] as const),
    ...Array.from({ length: tcp }, (_, index) => ['tcp', `tcp-${index}`] as const),
    ...Array.from({ length: dns }, (_, index) => ['dns', `dns-${index}`] as const),
  ];
  const checks: ChaosCheck[] = [];
  for (const [index, [kind, name]] of kinds.entries()) {
    const address = addresses[index % addresses.length] ?? '127.0.0.1';
    const hasName = options.domain !== undefined && address === addresses[0] && index % 3 === 0;
    const urlHost = hasName ? `${name}.${options.domain}` : address;
    const requests = {
      url: { url: `http://${urlHost}:${world.targets.httpPort}/p/${name}` },
      tcp: kind === 'tcp' ? await tcpRequest(world, name, address) : {},
      dns: {
        query: `${name}.chaos.test`,
        recordType: 'A',
        nameServer: address,
        port: world.targets.dnsPort,
        protocol: 'UDP',
      },
    };
    const made = await world.api<{ id: string }>('POST', `/v1/checks/${kind}`, {
      name,
      privateLocations: ['office'],
      frequency: 0,
      frequencyOffset: everySeconds,
      request: requests[kind],
      doubleCheck: false,
      ...(kind === 'dns' ? {} : options.limits),
      alertChannelSubscriptions: [{ alertChannelId: channel.body.id, activated: true }],
    });
    if (made.status !== 201) throw new Error(`no check ${name}: ${JSON.stringify(made.body)}`);
    const [row] = await world.database.query<{ offset: number }>(
      'select offset_seconds as offset from checks where id = $1',
      [made.body.id],
    );
    checks.push({
      id: made.body.id,
      name,
      intervalMs: everySeconds * 1000,
      offsetMs: Math.round((row?.offset ?? 0) * 1000),
      bad: [],
      address,
    });
  }
  return checks;
}

async function tcpRequest(world: World, name: string, host: string): Promise<object> {
  return {
    hostname: host,
    port: await world.targets.tcpPort(name),
    assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'ready' }],
  };
}

/** Waits until each moment has its result, or two minutes, and collects. */
async function settle(world: World, from: number, to: number): Promise<Facts> {
  const end = Date.now() + 120_000;
  await sleep(Math.max(0, to + 20_000 - Date.now()));
  // The targets are in this process. Reading an hour of results stops them, and then they really fail.
  const settledAt = Date.now();
  for (;;) {
    // Results first: a run may begin and end between the two, and its result would belong to no job.
    const results = await world.database.results();
    const jobs = await world.database.jobs();
    const facts: Facts = {
      checks: world.checks,
      from,
      to,
      probes: [...world.targets.probes],
      jobs,
      results,
      settledAt,
      notifications: world.receiver.notifications.filter(({ at }) => at < settledAt),
      stuckJobs: await world.database.stuckJobs(),
    };
    const known = new Set<string>();
    const dues = new Map(jobs.map((job) => [job.id, job.dueAt]));
    for (const { checkId, jobId, missed, resultType } of results) {
      if (resultType !== 'FINAL') continue;
      if (jobId !== null) known.add(`${checkId} ${dues.get(jobId)}`);
      const check = world.checks.find(({ id }) => id === checkId);
      if (missed !== null && check !== undefined)
        for (const due of momentsOf(check, missed.from, missed.to + 1)) known.add(`${checkId} ${due}`);
    }
    const open = world.checks.some((check) =>
      momentsOf(check, from, to).some((due) => !known.has(`${check.id} ${due}`)),
    );
    if (!open || Date.now() > end) return facts;
    await sleep(1_000);
  }
}

/** The last lines of a program's log, for a report. */
export function lastLines(world: World, name: string, count = 20): string {
  try {
    return readFileSync(join(world.folder, `${name}.log`), 'utf8')
      .split('\n')
      .slice(-count)
      .join('\n');
  } catch {
    return '';
  }
}
