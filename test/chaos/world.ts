import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { apiOf, type Api } from '../e2e/program.ts';
import { createAgentFacts, type AgentFacts } from './agent-log.ts';
import { scheduledJobId } from '../../src/protocol/schedule.ts';
import { startDatabase, type ChaosDatabase, type Holder } from './database.ts';
import { makeChecks, type CheckOptions } from './checks.ts';
import type { ChaosCheck, Delivery, Facts } from './facts.ts';
import { startFront, type Front } from './front.ts';
import { noHeartbeats, startPings, type Heartbeats } from './heartbeats.ts';
import { momentsOf } from './judge/judge.ts';
import { mode } from './mode.ts';
import { killEverything, sleep, start, until, type Running } from './programs.ts';
import type { Random } from './random.ts';
import { startReceiver, startTargets, type Receiver, type Targets } from './targets.ts';

/** A service with replicas on PostgreSQL behind a front, agents, targets and a webhook: all real, all open to faults. */

export type World = {
  random: Random;
  folder: string;
  database: ChaosDatabase;
  front: Front;
  /** With `ownWays`: what stands between each agent and the front. */
  ways: Front[];
  targets: Targets;
  receiver: Receiver;
  checks: ChaosCheck[];
  heartbeats: Heartbeats;
  agentFacts: AgentFacts;
  api: Api;
  replicas: (Running | null)[];
  agents: (Running | null)[];
  /** `main`: another build of the program. */
  startReplica: (index: number, extra?: Record<string, string>, main?: string) => Promise<void>;
  /** SIGKILL, and resolved when it is gone. */
  killReplica: (index: number) => Promise<void>;
  /** The front sends nothing more to this replica, until it is started again. */
  takeOut: (index: number) => void;
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

export type WorldOptions = CheckOptions & {
  random: Random;
  main: string;
  replicas?: number;
  agents?: number;
  /** Where the front listens, if elsewhere. */
  frontHost?: string;
  diskMb?: number;
  env?: Record<string, string>;
  agentEnv?: Record<string, string>;
  agentOptions?: AgentOptions;
  /** Each agent reaches the front through a proxy of its own, which can cut it off. */
  ownWays?: boolean;
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
  const ways: Front[] = [];
  for (let index = 0; options.ownWays === true && index < (options.agents ?? 1); index++) {
    const way = await startFront({ host });
    way.setReplicas([front.port]);
    ways.push(way);
  }
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

  async function startReplica(
    index: number,
    extra: Record<string, string> = {},
    main = options.replicaMain ?? options.main,
  ): Promise<void> {
    const dataDir = join(folder, `service-${index}`);
    mkdirSync(dataDir, { recursive: true });
    const running = start({
      main,
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
        SERVICE_ASSIGNMENTS: String(mode === 'assignments'),
        NODE_OPTIONS: imports([clockFile, ...(options.replicaImports ?? [])]),
        ...options.env,
        ...extra,
      },
      logFile: join(folder, `service-${index}.log`),
    });
    replicas[index] = running;
    const ready = JSON.parse(await running.firstLine) as { serviceUrl: string };
    ports[index] = Number(new URL(ready.serviceUrl).port);
    showFront();
  }
  const showFront = (without?: number) =>
    front.setReplicas(
      ports.filter((port, index): port is number => typeof port === 'number' && index !== without),
    );
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
        SERVICE_URL: given.serviceUrl ?? (ways[index] ?? front).url,
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
    world.agentFacts.follow(running);
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
    ways,
    targets,
    receiver,
    checks: [],
    heartbeats: noHeartbeats(),
    agentFacts: createAgentFacts(),
    api: apiOf('', apiKey),
    replicas,
    agents,
    startReplica,
    killReplica: (index) => killOf(replicas[index]),
    takeOut: showFront,
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
      await Promise.allSettled([
        ...ways.map((way) => way.close()),
        front.close(),
        targets.close(),
        receiver.close(),
      ]);
      await database.stop();
      if (process.env['CHAOS_KEEP'] === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };

  await startReplica(0);
  world.api = apiOf(front.url, apiKey);
  await database.record();
  for (let index = 1; index < (options.replicas ?? 1); index++) await startReplica(index);
  const place = {
    api: world.api,
    targets,
    webhookUrl: receiver.url,
    heartbeats: world.heartbeats,
    query: database.query,
  };
  world.checks.push(...(await makeChecks(place, options)));
  for (let index = 0; index < (options.agents ?? 1); index++) await startAgent(index);
  world.atEnd.push(startPings(world.heartbeats, front.url));
  return world;
}

/** The runs that holders of checks may have made. Agents name themselves as the token of such a run. */
function heldRuns(
  checks: readonly ChaosCheck[],
  holders: readonly Holder[],
  { from, to }: { from: number; to: number },
): Delivery[] {
  return holders.flatMap(({ checkId, agentId, locationId }) => {
    const check = checks.find(({ id }) => id === checkId);
    const moments = check === undefined ? [] : momentsOf(check, from - check.intervalMs, to);
    return moments.map((at) => {
      const jobId = scheduledJobId(checkId, locationId, at);
      return { jobId, checkId, token: agentId, agentId, at };
    });
  });
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
    const { deaths, givenUp } = world.agentFacts;
    const facts: Facts = {
      checks: world.checks,
      heartbeats: world.heartbeats.checks,
      pings: [...world.heartbeats.pings],
      from,
      to,
      probes: [...world.targets.probes],
      jobs,
      deliveries: [
        ...(await world.database.deliveries()),
        ...heldRuns(world.checks, await world.database.holders(), { from, to }),
      ],
      superseded: world.front.superseded,
      remade: [...world.front.remade],
      deaths,
      givenUp,
      results,
      settledAt,
      notifications: world.receiver.notifications.filter(({ at }) => at < settledAt),
      logged: await world.database.logged(),
      followed: await world.database.followed(),
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
