import { sleep } from '../programs.ts';
import type { Scenario, WorldScenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Faults of PostgreSQL. */

/** While it is away nothing can be queued: what was due then may be missed, and nothing else. */
const awayFrom = (began: number, ended: number) => ({
  missed: (due: number) => due > began - 12_000 && due < ended + 12_000,
  repeated: true,
});

const databaseFault = (
  name: string,
  about: string,
  fault: (world: World) => Promise<void>,
  options: Partial<WorldScenario> = {},
): Scenario => ({
  name,
  about,
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    await sleep(12_000);
    const began = Date.now();
    await fault(world);
    const ended = Date.now();
    await sleep(50_000);
    return awayFrom(began, ended);
  },
  ...options,
});

const endConnections = async (world: World) => {
  await world.database
    .query(
      `select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    )
    .catch(() => undefined);
};

const canMount = () => (process.getuid?.() === 0 ? null : 'a disk of its own needs root');

export const databaseScenarios: readonly Scenario[] = [
  databaseFault('database-kill', '5 times kill -9 of PostgreSQL at a random moment', async (world) => {
    for (let kill = 0; kill < 5; kill++) {
      await sleep(world.random.whole(1_000, 6_000));
      world.database.kill();
      await world.database.restart();
    }
  }),
  databaseFault('database-restart', '3 restarts of PostgreSQL', async (world) => {
    for (let round = 0; round < 3; round++) {
      await sleep(world.random.whole(2_000, 8_000));
      await world.database.restart();
    }
  }),
  databaseFault('database-connections', 'all connections are ended 40 times in a minute', async (world) => {
    for (let round = 0; round < 40; round++) {
      await sleep(world.random.whole(300, 2_500));
      await endConnections(world);
    }
  }),
  databaseFault('database-pause-20', 'PostgreSQL stands still for 20 s', async (world) => {
    world.database.signal('SIGSTOP');
    await sleep(20_000);
    world.database.signal('SIGCONT');
  }),
  databaseFault('database-pause-60', 'PostgreSQL stands still for 60 s', async (world) => {
    world.database.signal('SIGSTOP');
    await sleep(60_000);
    world.database.signal('SIGCONT');
  }),
  databaseFault(
    'database-locks',
    'locks on rows of jobs and checks, for 1 to 4 s, in changing orders',
    async (world) => {
      const end = Date.now() + 50_000;
      while (Date.now() < end) {
        const seconds = world.random.whole(1, 4);
        const order = world.random.pick(['id', 'id desc']);
        const table = world.random.pick(['jobs', 'checks', 'check_statuses']);
        const column = table === 'check_statuses' ? 'check_id' : 'id';
        await world.database
          .query(
            `do $$ begin perform 1 from (select 1 from ${table} order by ${order.replace('id', column)} limit 20 for update) as held;
           perform pg_sleep(${seconds}); end $$`,
          )
          .catch(() => undefined);
        await sleep(500);
      }
    },
  ),
  databaseFault('database-full-house', 'all of its connections are taken for 30 s', async (world) => {
    const taken = Array.from({ length: 70 }, () =>
      world.database.query('select pg_sleep(30)').catch(() => undefined),
    );
    await sleep(2_000);
    await endServiceConnections(world);
    await Promise.all(taken);
  }),
  databaseFault('database-read-only', 'it takes no writes for 30 s', async (world) => {
    await world.database.query('alter system set default_transaction_read_only = on');
    await world.database.query('select pg_reload_conf()');
    await sleep(30_000);
    await world.database.query('alter system reset default_transaction_read_only');
    await world.database.query('select pg_reload_conf()');
  }),
  databaseFault(
    'database-full-disk',
    'its disk is full for 40 s',
    async (world) => {
      world.database.fillDisk();
      await sleep(40_000);
      world.database.freeDisk();
      // A full disk may end the server itself.
      await world.database.query('select 1').catch(() => world.database.restart());
    },
    { missing: canMount, world: { agents: 2, replicas: 2, diskMb: 400 } },
  ),
];

/** So that somebody else gets their places. */
async function endServiceConnections(world: World): Promise<void> {
  await world.database
    .query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where backend_type = 'client backend' and application_name <> 'oracle'`,
    )
    .catch(() => undefined);
}
