import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { closer, listen } from '../../../src/targets/tcp-target.ts';
import { sleep } from '../programs.ts';
import type { Random } from '../random.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Targets and clients that mean harm, while all other checks must stay right. */

/** What a hostile target does with a connection. */
const behaviours: readonly ((socket: Socket, random: Random) => void)[] = [
  // Endless headers, an endless body, a body of numbers that never ends, slow bytes, garbage, silence, resets.
  (socket, random) =>
    forever(socket, 'HTTP/1.1 200 OK\r\n', () => `x-${random.whole(0, 1e9)}: ${'a'.repeat(900)}\r\n`),
  (socket) => forever(socket, 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n', () => '<'.repeat(16_384)),
  (socket) =>
    forever(
      socket,
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
      () => `4000\r\n${'['.repeat(0x4000)}\r\n`,
    ),
  (socket) => {
    const timer = setInterval(() => socket.write('H'), 1_000);
    socket.on('close', () => clearInterval(timer));
  },
  (socket, random) =>
    forever(socket, '', () => Buffer.from(Array.from({ length: 4_096 }, () => random.whole(0, 255)))),
  (socket) => void socket.resume(),
  (socket) => void socket.resetAndDestroy(),
];

function forever(socket: Socket, head: string, next: () => string | Buffer): void {
  socket.write(head);
  const more = (): void => {
    while (!socket.destroyed && socket.write(next())) if (socket.writableLength > 1_000_000) return;
  };
  socket.on('drain', more);
  more();
}

const hostileTargets: Scenario = {
  name: 'hostile-targets',
  about: '30 more checks of targets that send endless, slow or garbage answers; the others stay right',
  world: { agents: 2 },
  run: async (world) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      world.random.pick(behaviours)(socket, world.random);
    });
    const close = closer(server);
    const port = await listen(server, {});
    for (let index = 0; index < 30; index++) {
      const made = await world.api('POST', '/v1/checks/url', {
        name: `hostile-${index}`,
        privateLocations: ['office'],
        frequency: 0,
        frequencyOffset: 10,
        request: { url: `http://127.0.0.1:${port}/${index}` },
        doubleCheck: false,
      });
      if (made.status !== 201) throw new Error(`no hostile check: ${JSON.stringify(made.body)}`);
    }
    await sleep(75_000);
    await close();
    await sleep(10_000);
    // A hostile neighbour may make the agent late, and it may say so.
    return { errored: { when: () => true, codes: ['AGENT_OVERLOADED'] } };
  },
};

const program = (name: string) => [`/usr/bin/${name}`, `/usr/sbin/${name}`].find(existsSync);

/** Slow clients and garbage against the agent's health port and the service. */
const hostileClients: Scenario = {
  name: 'hostile-clients',
  about:
    'slowhttptest (slow headers, bodies and reads) and garbage against the health port and the service for 60 s',
  missing: () =>
    program('slowhttptest') === undefined ? 'slowhttptest is missing (apt-get install slowhttptest)' : null,
  world: { agents: 2 },
  run: async (world) => {
    const health = await healthUrlOf(world);
    const attacks = [
      ['-H', '-u', `${health}/health`],
      ['-B', '-u', `${world.front.url}/v1/checks`],
      ['-X', '-u', `${world.front.url}/v1/checks`],
    ].map((how) =>
      spawn(
        program('slowhttptest') ?? '',
        ['-c', '300', '-r', '100', '-i', '5', '-l', '60', '-p', '2', ...how],
        {
          stdio: 'ignore',
        },
      ),
    );
    let unanswered = 0;
    const end = Date.now() + 60_000;
    while (Date.now() < end) {
      await sleep(5_000);
      const answer = await fetch(`${health}/-/liveness`, { signal: AbortSignal.timeout(2_000) }).catch(
        () => null,
      );
      if (answer?.status !== 200) unanswered += 1;
    }
    for (const attack of attacks) attack.kill('SIGKILL');
    await sleep(10_000);
    if (unanswered > 0)
      throw new Error(`${unanswered} of 12 probes of liveness were not answered within 2 s`);
    return { errored: { when: () => true, codes: ['AGENT_OVERLOADED'] } };
  },
};

async function healthUrlOf(world: World): Promise<string> {
  const url = /"healthUrl":"(http:[^"]+)"/.exec(world.agents[0]?.stderr() ?? '')?.[1];
  if (url === undefined) throw new Error('the agent has not said where its health port is');
  return url;
}

export const hostileScenarios: readonly Scenario[] = [hostileTargets, hostileClients];
