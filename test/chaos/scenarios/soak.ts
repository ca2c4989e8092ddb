import { readdirSync, readFileSync } from 'node:fs';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/**
 * A long time with a little of each fault. CHAOS_MINUTES is its length (default 5), and CHAOS_RUNS its runs a second (default 30);
 * for the figures in docs/reliability.md: 60 and 100.
 */

const minutes = Number(process.env['CHAOS_MINUTES'] ?? 5);
const perSecond = Number(process.env['CHAOS_RUNS'] ?? 30);
const kinds = { url: Math.round(perSecond * 6), tcp: perSecond * 2, dns: perSecond * 2 };

type Sample = { at: number; values: Map<string, number> };

/** Changes per hour of each value, by least squares over the second half of the samples: the first half is warm-up. */
function slopes(samples: readonly Sample[]): Map<string, { perHour: number; last: number; mean: number }> {
  const half = samples.slice(Math.floor(samples.length / 2));
  const names = new Set(half.flatMap(({ values }) => [...values.keys()]));
  const found = new Map<string, { perHour: number; last: number; mean: number }>();
  for (const name of names) {
    const points = half.flatMap(({ at, values }) => {
      const value = values.get(name);
      return value === undefined ? [] : [{ x: at / 3_600_000, y: value }];
    });
    const mean = (pick: (point: { x: number; y: number }) => number) =>
      points.reduce((sum, point) => sum + pick(point), 0) / points.length;
    const [mx, my] = [mean(({ x }) => x), mean(({ y }) => y)];
    const variance = mean(({ x }) => (x - mx) ** 2);
    found.set(name, {
      perHour: variance === 0 ? 0 : mean(({ x, y }) => (x - mx) * (y - my)) / variance,
      last: points.at(-1)?.y ?? 0,
      mean: my,
    });
  }
  return found;
}

async function sample(world: World): Promise<Sample> {
  const values = new Map<string, number>();
  const programs = [
    ...world.agents.map((running, index) => [`agent ${index}`, running] as const),
    ...world.replicas.map((running, index) => [`replica ${index}`, running] as const),
  ];
  for (const [name, running] of programs) {
    if (running === null || !running.isRunning()) continue;
    try {
      const status = readFileSync(`/proc/${running.pid}/status`, 'utf8');
      values.set(`${name} MB`, Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
      values.set(`${name} threads`, Number(/Threads:\s+(\d+)/.exec(status)?.[1]));
      values.set(`${name} descriptors`, readdirSync(`/proc/${running.pid}/fd`).length);
    } catch {
      // It has just been killed.
    }
  }
  for (const table of ['jobs', 'finished_runs', 'missed_runs', 'agent_events']) {
    const rows = await world.database
      .query<{ count: string }>(`select count(*) from ${table}`)
      .catch(() => []);
    if (rows[0] !== undefined) values.set(`rows of ${table}`, Number(rows[0].count));
  }
  return { at: Date.now(), values };
}

export const soak: Scenario = {
  name: 'soak',
  about: `${minutes} minutes of ${perSecond} runs a second with a little of each fault: kills of agents and replicas, ended connections, faults of the way`,
  world: { agents: 2, replicas: 2, ...kinds },
  run: async (world) => {
    const { random } = world;
    const faults = [
      'reset',
      'cut answer',
      'lose answer',
      'garble answer',
      'repeat request',
      { status: 502 },
      { delayMs: 1_000 },
    ] as const;
    world.front.setFault((request) =>
      request.url?.startsWith('/agent/') === true && random.next() < 0.01 ? random.pick(faults) : null,
    );
    const samples: Sample[] = [];
    const end = Date.now() + minutes * 60_000;
    let kills = 0;
    let nextKill = Date.now() + 20_000;
    while (Date.now() < end) {
      await sleep(5_000);
      samples.push(await sample(world));
      if (Date.now() < nextKill) continue;
      nextKill = Date.now() + random.whole(20_000, 40_000);
      kills += 1;
      // The first agent and the first replica live on, so that their growth shows.
      if (kills % 3 === 0) {
        await world.killAgent(1);
        await world.startAgent(1);
      } else if (kills % 3 === 1) {
        await world.killReplica(1);
        await world.startReplica(1);
      } else {
        await world.database
          .query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where backend_type = 'client backend' and application_name <> 'oracle'`,
          )
          .catch(() => undefined);
      }
    }
    world.front.setFault(() => null);
    await sleep(30_000);
    const lines = [...slopes(samples)]
      .filter(([name]) => / 0 |^rows/.test(name))
      .map(
        ([name, { perHour, last, mean }]) =>
          `${name.padEnd(24)} mean ${mean.toFixed(1)}, last ${last.toFixed(1)}, ${perHour >= 0 ? '+' : ''}${perHour.toFixed(1)} an hour`,
      );
    return {
      repeated: true,
      notes: [
        `${kills} kills; faults of the way: ${[...world.front.counts].map(([name, count]) => `${name} ${count}`).join(', ')}`,
        ...lines,
      ],
    };
  },
};
