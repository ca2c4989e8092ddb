import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { closer, listen } from '../../../src/targets/tcp-target.ts';
import { createProxies, missingProxies } from '../../helpers/network/proxies.ts';
import { fillFolder } from '../disk.ts';
import { sleep, until } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Several faults at once, the same fault twice, and agents behind a proxy. */

const isRoot = () => process.getuid?.() === 0;

/** The agent can neither write its results nor send them: it stops claiming, and nothing that it has is lost. */
const diskAndService: Scenario = {
  name: 'disk-and-service',
  about: "the disk of the agent's data is full while the only replica is away, for 40 s",
  missing: () => (isRoot() ? null : 'a disk of its own needs root'),
  world: { agents: 0 },
  run: async (world) => {
    const path = world.agentFolder(0);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', path]);
    world.atEnd.push(() => execFileSync('umount', ['-l', path]));
    await world.startAgent(0);
    const started = Date.now();
    await sleep(20_000);
    fillFolder(path);
    await sleep(2_000);
    const away = Date.now();
    await world.killReplica(0);
    await sleep(40_000);
    await world.startReplica(0);
    rmSync(join(path, 'filler'), { force: true });
    const back = Date.now();
    await sleep(60_000);
    return {
      repeated: true,
      missed: (due) => due < started + 12_000 || (due > away - 12_000 && due < back + 12_000),
    };
  },
};

/** How long a run must have been running before its agent dies, so that the service knows of it: two renewals. */
const runningMs = 11_000;

/** A target at whose runs agents die. Two deaths with one job end that job, and no other one is charged. */
const agentLost: Scenario = {
  name: 'agent-lost',
  about:
    'the agent is killed in the middle of one run, and again when another delivery of that run has begun',
  world: { agents: 1 },
  run: async (world) => {
    const held = new Set<Socket>();
    let isDeadly = true;
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      held.add(socket);
      socket.on('close', () => held.delete(socket));
      if (!isDeadly) socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok');
    });
    const close = closer(server);
    const made = await world.api<{ id: string }>('POST', '/v1/checks/url', {
      name: 'deadly',
      privateLocations: ['office'],
      // Once a day: its only run is asked for below.
      frequency: 1440,
      request: { url: `http://127.0.0.1:${await listen(server, {})}/` },
      doubleCheck: false,
      degradedResponseTime: 30_000,
      maxResponseTime: 30_000,
    });
    if (made.status !== 201) throw new Error(`no deadly check: ${JSON.stringify(made.body)}`);
    const endsOf = () =>
      world.database.query<{ code: string | null; owner: string | null }>(
        `select reason->>'code' as code, reason->>'owner' as owner from check_results
         where check_id = $1 and result_type = 'FINAL'`,
        [made.body.id],
      );
    // As a deployment does it: an agent may hold the check already.
    await world.database.query(
      `with soon as (update checks set next_due_at = now() where id = $1 returning account_id, id)
       select note_kept_change(account_id, id, null) from soon`,
      [made.body.id],
    );
    const began = Date.now();
    let kills = 0;
    while ((await endsOf()).length === 0 && kills < 3) {
      await until(() => held.size > 0, 'a run of the deadly check', 90_000);
      await sleep(runningMs);
      await world.killAgent(0);
      kills += 1;
      // The next connection must be that of the next delivery.
      for (const socket of held) socket.destroy();
      held.clear();
      await world.startAgent(0);
      // Its lease ends, and it is redelivered, or it has had enough.
      await until(async () => held.size > 0 || (await endsOf()).length > 0, 'what comes of the run', 90_000);
    }
    isDeadly = false;
    for (const socket of held) socket.destroy();
    const ended = Date.now();
    const ends = await endsOf();
    await sleep(20_000);
    await close();
    const isRight = ends.length === 1 && ends[0]?.code === 'AGENT_LOST' && ends[0].owner === 'ours';
    return {
      measured: `the run ended after ${kills} deaths of its agent`,
      wrong: isRight && kills === 2 ? [] : [`after ${kills} deaths the run ended as ${JSON.stringify(ends)}`],
      // The only agent was away for some seconds.
      missed: (due) => due > began && due < ended + 12_000,
    };
  },
};

const stressNg = '/usr/bin/stress-ng';
const load = '--cpu 2 --vm 2 --vm-bytes 256M --io 1 --hdd 1 --hdd-bytes 64M --fork 2 --timeout 60s';

/** Other programs take processor, memory, disk and processes. */
const strained: Scenario = {
  name: 'strained',
  about: 'stress-ng (cpu, vm, io, hdd, fork) on the machine of service, agents and targets for 60 s',
  missing: () => (existsSync(stressNg) ? null : 'stress-ng is missing (apt-get install stress-ng)'),
  world: { agents: 2, replicas: 2 },
  run: async (world) => {
    await sleep(15_000);
    const folder = join(world.folder, 'stress');
    mkdirSync(folder);
    const began = Date.now();
    const stress = spawn(stressNg, `${load} --temp-path ${folder}`.split(' '), { stdio: 'ignore' });
    await once(stress, 'exit');
    const ended = Date.now();
    await sleep(45_000);
    const isAround = (due: number) => due > began - 12_000 && due < ended + 12_000;
    return { missed: isAround, errored: { when: isAround, codes: ['AGENT_OVERLOADED'] } };
  },
};

/** The agents reach the service only through a proxy, which is killed three times. */
function behindProxy(kind: 'squid' | 'tinyproxy'): Scenario {
  let killProxy: () => Promise<void> = async () => undefined;
  return {
    name: `behind-${kind}`,
    about: `agents reach the service through ${kind}, which is killed and started again three times`,
    missing: missingProxies,
    prepare: async () => {
      const proxies = createProxies();
      const proxy = await proxies.start(kind);
      killProxy = async () => {
        await proxy.kill();
        await sleep(3_000);
        await proxy.start();
      };
      return {
        options: { agentEnv: { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` } },
        undo: () => proxies.close(),
      };
    },
    world: { agents: 2 },
    run: async (world: World) => {
      let direct = 0;
      let through = 0;
      world.front.setFault(({ url = '', headers }) => {
        // Both proxies name themselves in the requests that they pass on.
        if (!url.startsWith('/agent/')) return null;
        if (headers.via === undefined) direct += 1;
        else through += 1;
        return null;
      });
      for (let kill = 0; kill < 3; kill++) {
        await sleep(world.random.whole(8_000, 14_000));
        await killProxy();
      }
      await sleep(30_000);
      return {
        measured: `${through} calls went through ${kind}`,
        wrong: direct === 0 && through > 0 ? [] : [`${direct} calls did not go through ${kind}`],
      };
    },
  };
}

export const severalScenarios: readonly Scenario[] = [
  agentLost,
  diskAndService,
  strained,
  behindProxy('squid'),
  behindProxy('tinyproxy'),
];
