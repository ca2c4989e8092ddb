import { startEdits } from './edits.ts';
import { mode } from '../mode.ts';
import { sleep } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Outages and kills of everything while checks are edited: the promises about checks that agents hold. */

type Span = { from: number; to: number };
const isIn = (spans: readonly Span[], at: number) => spans.some(({ from, to }) => from <= at && at <= to);

/** An agent that could not reach the service asks again after at most 5 s, and then has 2 s. */
const askAgainMs = 7_000;
/** A run may wait for its agent's own delay, and for others that are due at the same moment. */
const promptMs = 9_000;

const minutes = Number(process.env['CHAOS_MINUTES'] ?? 30);
const kills = Number(process.env['CHAOS_KILLS'] ?? 100);

/** Waits until nothing more arrives of what agents have kept, or ten minutes. */
async function untilDelivered(world: World, from: number, to: number): Promise<number> {
  const began = Date.now();
  const count = async () =>
    Number(
      (
        await world.database.query<{ count: string }>(
          `select count(*) from check_results where started_at between to_timestamp($1) and to_timestamp($2)`,
          [from / 1000, to / 1000],
        )
      )[0]?.count,
    );
  for (let last = -1, now = await count(); last !== now && Date.now() - began < 600_000;) {
    await sleep(10_000);
    [last, now] = [now, await count()];
  }
  return Date.now() - began;
}

const thousandAway: Scenario = {
  name: 'thousand-away',
  about:
    'the only replica is killed and stays away for CHAOS_MINUTES (30) minutes; 1,000 checks run every 10 s and are edited before and after',
  reads: ['CHAOS_MINUTES'],
  world: { agents: 2, url: 500, api: 150, tcp: 150, dns: 150, ssl: 25, grpc: 25 },
  // As many alerts as a channel may get in an hour.
  weatherMs: { least: 60_000, most: 180_000 },
  run: async (world) => {
    const stopEdits = await startEdits(world);
    await sleep(30_000);
    const away = Date.now();
    await world.killReplica(0);
    await sleep(minutes * 60_000);
    await world.startReplica(0);
    const back = Date.now();
    const deliveredMs = await untilDelivered(world, away, back);
    await sleep(30_000);
    await stopEdits();
    const notPrompt = mode === 'queue';
    return {
      repeated: true,
      missed: (due) => notPrompt && due > away - 12_000 && due < back + 2_000,
      outdated: (at) => away - 2_000 < at && at < back + askAgainMs,
      ...(notPrompt ? {} : { latestStartMs: promptMs }),
      measured: `everything was delivered ${Math.round(deliveredMs / 1000)} s after the service was back`,
    };
  },
};

/** How long a killed program stays away: most are started again at once, some only after others have taken over. */
const staysAwayMs = [0, 0, 0, 3_000, 45_000];
/** Until a process that was started again makes its runs. */
const startedMs = 5_000;

const hundredKills: Scenario = {
  name: 'hundred-kills',
  about:
    'CHAOS_KILLS (100) times kill -9 of one of three agents or two replicas at a random moment, while checks are edited',
  reads: ['CHAOS_KILLS'],
  world: { agents: 3, replicas: 2 },
  run: async (world) => {
    const { random } = world;
    const stopEdits = await startEdits(world);
    const unreachable: Span[] = [];
    const alone: Span[] = [];
    const away = new Map<string, Promise<void>>();
    const counts = { agent: 0, replica: 0 };

    async function killAgent(index: number): Promise<void> {
      const stayMs = random.pick(staysAwayMs);
      const from = Date.now();
      await world.killAgent(index);
      await sleep(stayMs);
      await world.startAgent(index);
      // The others take its checks over when its lease has ended, and that may take as long: no replica takes a lease for
      // ended in its first 30 s, and replicas are killed, too.
      if (stayMs > 10_000) alone.push({ from: from - 12_000, to: Date.now() + startedMs });
    }
    async function killReplica(index: number): Promise<void> {
      const stayMs = random.pick(staysAwayMs);
      const span = { from: Date.now() - 2_000, to: Infinity };
      unreachable.push(span);
      await world.killReplica(index);
      if (stayMs > 0) {
        // The load balancer has noticed it.
        await sleep(1_000);
        world.takeOut(index);
        span.to = Date.now() + askAgainMs;
        await sleep(stayMs);
      }
      await world.startReplica(index);
      span.to = Math.min(span.to, Date.now() + askAgainMs);
    }

    for (let kill = 0; kill < kills; kill++) {
      await sleep(random.whole(1_000, 6_000));
      const kind = random.next() < 0.6 ? 'agent' : 'replica';
      const all = kind === 'agent' ? [0, 1, 2] : [0, 1];
      const here = all.filter((index) => !away.has(`${kind} ${index}`));
      // One of them stays.
      if (here.length < 2) {
        kill -= 1;
        continue;
      }
      const index = random.pick(here);
      const name = `${kind} ${index}`;
      counts[kind] += 1;
      const work = (kind === 'agent' ? killAgent : killReplica)(index);
      away.set(
        name,
        work.finally(() => away.delete(name)),
      );
    }
    await Promise.all(away.values());
    await sleep(40_000);
    await stopEdits();
    return {
      repeated: true,
      missed: (due) => isIn(alone, due),
      outdated: (at) => isIn(unreachable, at),
      measured: `${counts.agent} kills of agents, ${counts.replica} of replicas`,
    };
  },
};

/** Longer and shorter than a lease. */
const cutMs = [5_000, 15_000, 45_000];

const cutInTurns: Scenario = {
  name: 'cut-in-turns',
  about:
    'two agents are cut off from the service in turns, for 5 to 45 s, and once both together, while checks are edited; connections are reset or hang',
  world: { agents: 2, ownWays: true },
  run: async (world) => {
    const stopEdits = await startEdits(world);
    const cuts: (Span & { index: number })[] = [];
    const cut = async (index: number, kind: 'reset' | 'hang', lengthMs: number) => {
      const way = world.ways[index];
      way?.setFault(() => kind);
      way?.sever();
      const from = Date.now();
      await sleep(lengthMs);
      way?.setFault(() => null);
      way?.sever();
      cuts.push({ index, from, to: Date.now() });
    };
    for (const kind of ['reset', 'hang'] as const) {
      for (const lengthMs of cutMs) {
        for (const index of [0, 1]) {
          await cut(index, kind, lengthMs);
          await sleep(8_000);
        }
      }
    }
    await Promise.all([cut(0, 'reset', 45_000), cut(1, 'hang', 45_000)]);
    await sleep(45_000);
    await stopEdits();
    const idsOf = (index: number) => world.agentFacts.idsOf(world.agents[index]);
    const around = (span: Span, at: number) => span.from - 2_000 < at && at < span.to + askAgainMs;
    return {
      // Where agents claim each run, nobody makes those for which both are cut off.
      missed: (due) =>
        mode === 'queue' && cuts.some((span) => around({ ...span, from: span.from - 10_000 }, due)),
      outdated: (at, agentId) =>
        cuts.some(
          (span) =>
            around(span, at) && (agentId === null || mode === 'queue' || idsOf(span.index).has(agentId)),
        ),
      measured: `${cuts.length} cuts`,
    };
  },
};

export const togetherScenarios: readonly Scenario[] = [thousandAway, hundredKills, cutInTurns];
