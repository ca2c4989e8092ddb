import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createPoller } from '../../../src/agent/claiming/poller.ts';
import { createServiceClient } from '../../../src/agent/link/client.ts';
import type { Session } from '../../../src/agent/link/session.ts';
import { createTransport } from '../../../src/agent/link/transport.ts';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import { createTurnWatch } from '../../../src/agent/metrics/turn-watch.ts';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import { createLog } from '../../../src/log.ts';

/** An agent that takes no jobs tells the service why, and stays connected. */

const condition = {
  guards: [{ name: 'memory', message: 'too little', stopsJobs: true }],
  outbox: { results: 3, bytes: 900, oldestSeconds: 60 },
};

/** A poller against a service that answers `status` to each claim; resolves after the first claim. */
async function firstClaim(isBlocked: boolean, status = 204) {
  const bodies: unknown[] = [];
  const forgotten: string[] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      bodies.push(JSON.parse(text));
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(
        status === 204 ? '' : JSON.stringify({ statusCode: status, message: 'no', attributes: {} }),
      );
      setTimeout(finish, 300);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a TCP port
  const serviceUrl = new URL(`http://127.0.0.1:${port}`);
  const proxy = { httpProxy: null, httpsProxy: null, noProxy: '' };
  const transport = await createTransport({ serviceUrl, proxy, extraCaFile: null, headers: {} });
  const metrics = createMetrics();
  const poller = createPoller({
    lane: 'uptime',
    lanes: createLanes({ uptime: 4 }),
    client: createServiceClient({ transport, serviceUrl, now: Date.now, onKeyRefused: () => undefined }),
    session: {
      get: () => Promise.resolve({ agentId: 'a' }),
      current: () => ({ agentId: 'a' }),
      forget: (id: string) => forgotten.push(id),
    } as unknown as Session, // what the poller uses
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    metrics,
    watch: createTurnWatch(),
    random: () => 0,
    blocked: () => isBlocked,
    condition: () => condition,
    accept: () => Promise.resolve(),
  });
  poller.start();
  await finished;
  poller.cut();
  await poller.finish();
  transport.close();
  server.close();
  server.closeAllConnections();
  return { bodies, forgotten, metrics };
}

test('a claim reports the condition of the agent', async () => {
  const { bodies } = await firstClaim(false);
  expect(bodies[0]).toEqual({ agentId: 'a', free: { uptime: 4 }, waitSeconds: 25, condition });
});

test('an agent that takes no jobs reports once without slots, and counts no claim', async () => {
  const { bodies, metrics } = await firstClaim(true);
  expect(bodies).toEqual([{ agentId: 'a', free: {}, waitSeconds: 0, condition }]);
  expect([metrics.claims, metrics.claimsFailed]).toEqual([0, 0]);
});

test('a service that does not know the agent gets another hello', async () => {
  const { forgotten, metrics } = await firstClaim(true, 409);
  expect(forgotten).toEqual(['a']);
  expect(metrics.claimsFailed).toBe(0);
});
