import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { readAgentSettings } from '../../../src/config.ts';
import { startHealthServer, type HealthServer } from '../../../src/agent/metrics/health.ts';
import { shared } from '../../../src/agent/metrics/health-connections.ts';
import { runningAgent } from '../../helpers/running-agent.ts';
import { createIdleWatch, maxIdleMs } from '../../../src/agent/metrics/idle-watch.ts';

/** The health port: who may connect, for how long, and what readiness answers. */

let server: HealthServer | null = null;
const sockets: Socket[] = [];
afterEach(async () => {
  sockets.splice(0).forEach((socket) => socket.destroy());
  await server?.close();
  server = null;
});

async function start(options: Partial<Parameters<typeof startHealthServer>[0]> = {}): Promise<string> {
  server = await startHealthServer({
    port: 0,
    view: () => runningAgent,
    metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: 'page' }),
    ...options,
  });
  return server.url;
}

/** A client that connects, sends the beginning of a request, and no more. */
function slowClient(url: string): Promise<{ closed: Promise<void> }> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return new Promise((resolve) =>
    socket.once('connect', () => socket.write('GET /health HTTP/1.1\r\nx: ', () => resolve({ closed }))),
  );
}

describe('slow clients', () => {
  it('do not keep a probe from its answer, however many they are', async () => {
    const url = await start();
    const clients = [];
    for (let count = 0; count < 300; count++) clients.push(await slowClient(url));
    expect((await fetch(`${url}/-/readiness`)).status).toBe(200);
    // The oldest one made room.
    await clients[0]?.closed;
  });

  it('cannot send endless headers', async () => {
    const url = await start();
    const answer = await fetch(`${url}/health`, { headers: { long: 'x'.repeat(10_000) } });
    expect(answer.status).toBe(431);
  });

  it('make one metrics page at a time', async () => {
    const made: ((page: string) => void)[] = [];
    const page = shared(() => new Promise<string>((resolve) => made.push(resolve)));
    const answers = [page(), page(), page()];
    expect(made).toHaveLength(1);
    made[0]?.('one');
    expect(await Promise.all(answers)).toEqual(['one', 'one', 'one']);
    void page();
    expect(made).toHaveLength(2);
  });
});

describe('the address', () => {
  const other = Object.values(networkInterfaces())
    .flat()
    .find((one) => one !== undefined && one.family === 'IPv4' && !one.internal)?.address;

  it('is every one of the machine by default', async ({ skip }) => {
    if (other === undefined) skip();
    const { port } = new URL(await start());
    expect((await fetch(`http://${other}:${port}/health`)).status).toBe(200);
  });

  it('is only the given one', async ({ skip }) => {
    if (other === undefined) skip();
    const { port } = new URL(await start({ host: '127.0.0.1' }));
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    await expect(fetch(`http://${other}:${port}/health`)).rejects.toThrow();
  });

  it('must belong to this machine', async () => {
    await expect(start({ host: '192.0.2.1' })).rejects.toThrow(
      'AGENT_HEALTH_HOST: this machine has no address 192.0.2.1; use one of its own, or 127.0.0.1',
    );
  });

  it('is read from the environment', () => {
    expect(readAgentSettings({}).healthHost).toBeNull();
    expect(readAgentSettings({ AGENT_HEALTH_HOST: '::1' }).healthHost).toBe('::1');
    expect(() => readAgentSettings({ AGENT_HEALTH_HOST: 'everywhere' })).toThrow(
      'AGENT_HEALTH_HOST must be an IP address of this machine, such as 127.0.0.1',
    );
  });
});

describe('readiness', () => {
  it('is 503 while the agent takes no jobs, and liveness stays 200', async () => {
    let view = runningAgent;
    const url = await start({ view: () => view });
    const statuses = async () => [
      (await fetch(`${url}/-/readiness`)).status,
      (await fetch(`${url}/-/liveness`)).status,
    ];
    expect(await statuses()).toEqual([200, 200]);
    view = { ...runningAgent, takesNoJobs: true };
    expect(await statuses()).toEqual([503, 200]);
  });

  it('counts only our own condition, and only after a minute', () => {
    let now = 0;
    const watch = createIdleWatch(() => now);
    const after = (ms: number, state: { stopsClaiming: boolean; serviceAway: boolean }) => {
      now += ms;
      watch.note(state);
      return watch.takesNoJobs();
    };
    const own = { stopsClaiming: true, serviceAway: false };
    expect(after(0, own)).toBe(false);
    expect(after(maxIdleMs - 1, own)).toBe(false);
    expect(after(1, own)).toBe(true);
    expect(after(5000, { stopsClaiming: false, serviceAway: false })).toBe(false);
    expect(after(0, own)).toBe(false);
    expect(after(maxIdleMs, { stopsClaiming: true, serviceAway: true })).toBe(false);
  });
});
