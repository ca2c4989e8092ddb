import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dayMs } from '../../../src/durations.ts';
import { fillFolder } from '../disk.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import { slopesOf, steepOf, type Sample, type Tolerance } from '../slopes/slopes.ts';
import type { World } from '../world.ts';

/**
 * A long time with a little of each fault. CHAOS_MINUTES is its length (default 5), and CHAOS_RUNS its runs a second (default 30);
 * for the figures in docs/reliability.md: 60 and 100.
 */

const minutes = Number(process.env['CHAOS_MINUTES'] ?? 5);
const perSecond = Number(process.env['CHAOS_RUNS'] ?? 30);
/** Each check runs every 10 s. */
const share = (part: number) => Math.round(perSecond * 10 * part);
const kinds = {
  url: share(0.4),
  api: share(0.2),
  tcp: share(0.15),
  dns: share(0.15),
  icmp: share(0.05),
  ssl: share(0.05),
  grpc: Math.max(2, share(0.02)),
  traceroute: Math.max(2, share(0.01)),
  heartbeat: 10,
};
const resourcesFile = fileURLToPath(new URL('../../test/chaos/slopes/resources.mjs', import.meta.url));
const resources = join(process.env['TMPDIR'] ?? '/tmp', `location-agent-chaos-resources-${process.pid}`);

/** Tables that keep what happened: they grow with each run until retention deletes it. All others must stay flat. */
const history =
  /^(check_results|finished_jobs|check_rollups|location_samples|queue_waits|heartbeat_events|agent_events|alerts|alert_notifications|missed_runs|error_groups|finished queue items|oracle_[a-z]+)$/;

/**
 * Tables that have one row for each check, or for each check and hour (or day) that is still to be summed up. They fill
 * when an hour ends, so that a slope says nothing about them; but each has a limit.
 */
const rowsPerCheck: { readonly [table: string]: number | undefined } = {
  check_figures: 1,
  rollups_due: 2,
  report_days_due: 2,
};
/**
 * Tables that keep what programs have left for a day or longer, with a row for each check and start of a program: who held a
 * check, and what the results of a check repeat.
 */
const rowsPerStart = new Set(['kept_checks', 'result_bases']);
/** What a row and its share of the indexes take at most. */
const kilobytesPerRow = 2;
const checkCount = Object.values(kinds).reduce((sum, count) => sum + count, 0);

/** How much may grow in the second half of the run. `starts`: of agents, and as many of replicas. */
const toleranceAfter =
  (starts: number) =>
  (name: string): Tolerance | null => {
    // Between two collections it holds garbage, as much as V8 likes. What is left after a collection is judged: the heap, what
    // objects hold outside it, and the rest of the process, where a leak of native memory or a fragmented allocator would show.
    if (name.endsWith('resident MB')) return null;
    if (name.endsWith(' MB')) return { share: 0.1, least: 10 };
    if (name.endsWith('timers')) return { share: 0.1, least: 25 };
    const table = /^(rows|kB) of (.+)$/.exec(name);
    if (table === null) return { share: 0.1, least: 10 };
    if (history.test(table[2] ?? '')) return null;
    const perCheck = rowsPerStart.has(table[2] ?? '') ? starts : rowsPerCheck[table[2] ?? ''];
    if (perCheck !== undefined) {
      const rows = perCheck * checkCount;
      return { most: table[1] === 'rows' ? rows : Math.max(256, kilobytesPerRow * rows) };
    }
    return { share: 0.2, least: table[1] === 'kB' ? 1_024 : 200 };
  };

async function sample(world: World): Promise<Sample> {
  const values = new Map<string, number>();
  for (const [name, running] of [
    ['agent', world.agents[0]],
    ['replica', world.replicas[0]],
  ] as const) {
    if (running === null || running === undefined || !running.isRunning()) continue;
    const status = readFileSync(`/proc/${running.pid}/status`, 'utf8');
    values.set(`${name} resident MB`, Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
    values.set(`${name} threads`, Number(/Threads:\s+(\d+)/.exec(status)?.[1]));
    values.set(`${name} descriptors`, readdirSync(`/proc/${running.pid}/fd`).length);
    for (const [what, value] of resourcesOf(running.pid)) values.set(`${name} ${what}`, value);
  }
  for (const { table, rows, bytes } of await world.database
    .query<{ table: string; rows: string; bytes: string }>(
      `select case when relname ~ '^j[0-9a-f]{40}' then 'finished queue items'
           else regexp_replace(relname, '_p?[0-9]{4}[0-9_]*$', '') end as table, sum(n_live_tup) as rows,
         sum(pg_total_relation_size(relid)) as bytes from pg_stat_user_tables group by 1`,
    )
    .catch(() => [])) {
    values.set(`rows of ${table}`, Number(rows));
    values.set(`kB of ${table}`, Number(bytes) / 1024);
  }
  return { at: Date.now(), values };
}

/** What resources.mjs wrote for this process; nothing yet in its first seconds. */
function resourcesOf(pid: number): [string, number][] {
  try {
    const found = JSON.parse(readFileSync(join(resources, `${pid}.json`), 'utf8')) as Record<string, number>;
    const names: Record<string, string> = {
      timers: 'timers',
      activeTimers: 'active timers',
      sockets: 'sockets',
      heapMb: 'held heap MB',
      externalMb: 'held external MB',
      heapSizeMb: 'heap size MB',
      nativeMb: 'native MB',
    };
    return Object.entries(found).map(([key, value]) => [names[key] ?? key, value]);
  } catch {
    return [];
  }
}

/** Each with a chance of 1 % for each call of an agent; but at most one call hangs in a minute. */
const wayFaults = [
  'reset',
  'cut answer',
  'lose answer',
  'garble answer',
  'repeat request',
  'hang',
  { status: 429 },
  { status: 502 },
  { delayMs: 1_000 },
] as const;

/** Faults of programs, one of them every 20 to 40 s. The first agent and the first replica live on, so that their growth shows. */
const programFaults: readonly ((world: World) => Promise<void>)[] = [
  async (world) => {
    await world.killReplica(1);
    await world.startReplica(1);
  },
  async (world) => {
    await world.database
      .query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where backend_type = 'client backend' and application_name <> 'oracle'`,
      )
      .catch(() => undefined);
  },
  async (world) => {
    await world.killAgent(1);
    await world.startAgent(1);
  },
  clockFault('agent'),
  async (world) => {
    const path = world.agentFolder(1);
    fillFolder(path);
    await sleep(3_000);
    rmSync(join(path, 'filler'), { force: true });
  },
  clockFault('service'),
];

function clockFault(whose: 'agent' | 'service') {
  return async (world: World): Promise<void> => {
    world.setClock(whose, world.random.pick([-1, 1]) * 3_600_000);
    await sleep(3_000);
    world.setClock(whose, 0);
  };
}

/** Two heartbeats fall silent now and then, longer than they may. */
async function silenceHeartbeats(world: World, isOver: () => boolean): Promise<void> {
  const silent = world.heartbeats.checks.slice(0, 2);
  while (!isOver()) {
    for (const check of silent) {
      await sleep(world.random.whole(20_000, 40_000));
      if (isOver()) return;
      world.setBad(check, true);
      await sleep(60_000);
      world.setBad(check, false);
    }
  }
}

export const soak: Scenario = {
  name: 'soak',
  about:
    'CHAOS_MINUTES (5) minutes of CHAOS_RUNS (30) runs a second of all light types, with 1 % of each fault of the way and faults of all programs',
  reads: ['CHAOS_MINUTES', 'CHAOS_RUNS'],
  missing: () => (process.getuid?.() === 0 ? null : 'a disk of its own needs root'),
  world: {
    agents: 1,
    replicas: 2,
    ...kinds,
    agentOptions: { imports: [resourcesFile] },
    replicaImports: [resourcesFile],
    agentEnv: { CHAOS_RESOURCES: resources },
    env: { CHAOS_RESOURCES: resources },
  },
  prepare: async () => {
    mkdirSync(resources, { recursive: true });
    return { options: {}, undo: async () => rmSync(resources, { recursive: true, force: true }) };
  },
  // Within an hour, a channel takes 100 notifications of a check, and 1,000 in all.
  ...(minutes > 20 && { weatherMs: { least: 75_000, most: 110_000 } }),
  run: async (world) => {
    const { random } = world;
    const path = world.agentFolder(1);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', path]);
    world.atEnd.push(() => execFileSync('umount', ['-l', path]));
    await world.startAgent(1);
    let hungAt = -Infinity;
    world.front.setFault(({ url = '' }) => {
      const fault = url.startsWith('/agent/') ? (wayFaults[Math.floor(random.next() * 100)] ?? null) : null;
      if (fault !== 'hang') return fault;
      // A claim that hangs takes its agent out of the work for 40 s: never both agents at once.
      if (performance.now() - hungAt < 60_000) return null;
      hungAt = performance.now();
      return fault;
    });
    const samples: Sample[] = [];
    const end = Date.now() + minutes * 60_000;
    const silences = silenceHeartbeats(world, () => Date.now() > end - 30_000);
    let faults = 0;
    let nextFault = Date.now() + 20_000;
    while (Date.now() < end) {
      await sleep(5_000);
      samples.push(await sample(world));
      if (Date.now() < nextFault) continue;
      nextFault = Date.now() + random.whole(20_000, 40_000);
      await programFaults[faults % programFaults.length]?.(world);
      faults += 1;
    }
    world.front.setFault(() => null);
    await silences;
    await sleep(30_000);
    // For whoever keeps the folder (CHAOS_KEEP).
    const rows = samples.map(({ at, values }) => ({ at, ...Object.fromEntries(values) }));
    writeFileSync(join(world.folder, 'samples.json'), JSON.stringify(rows));
    const slopes = slopesOf(samples);
    const dayOf = (at: number) => Math.floor(at / dayMs);
    const isNewDay = dayOf(end) !== dayOf(end - minutes * 60_000);
    return {
      repeated: true,
      // An agent on a busy machine may say that it was late. It may not blame a target for that.
      errored: { when: () => true, codes: ['AGENT_OVERLOADED'] },
      // Two of each began with the run, and each of their faults starts one again. A new day counts as a start of both.
      wrong: steepOf(slopes, toleranceAfter((isNewDay ? 4 : 2) + Math.ceil(faults / programFaults.length))),
      notes: [
        `${faults} faults of programs; of the way: ${[...world.front.counts].map(([name, count]) => `${name} ${count}`).join(', ')}`,
        ...slopes
          .filter(({ name, mean, perHour }) => mean > 0 && (!/^(rows|kB) /.test(name) || perHour !== 0))
          .map(
            ({ name, mean, last, perHour }) =>
              `${name.padEnd(34)} mean ${mean.toFixed(1)}, last ${last.toFixed(1)}, ${perHour >= 0 ? '+' : ''}${perHour.toFixed(1)} an hour`,
          ),
      ],
    };
  },
  after: async (_world, { due, errored }) =>
    errored <= due / 100 ? [] : [`${errored} of ${due} runs are errored, and 1 % is allowed`],
};
