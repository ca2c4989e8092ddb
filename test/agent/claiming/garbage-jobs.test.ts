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

/** A service that answers a claim with garbage: the agent takes no more of it than it asked for. */

async function claimed(answer: string): Promise<{ batches: unknown[][]; log: string; failed: number }> {
  let log = '';
  const batches: unknown[][] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  let claims = 0;
  const server = http.createServer((request, response) => {
    request.resume();
    claims += 1;
    if (claims > 1) finish();
    response.setHeader('content-type', 'application/json');
    if (claims === 1) response.end(answer);
    else setTimeout(() => response.writeHead(204).end(), 1000).unref();
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
      forget: () => undefined,
    } as unknown as Session, // what the poller uses
    log: createLog({
      level: 'DEBUG',
      scrub: (line) => line,
      destination: { write: (line) => (log += line) },
    }),
    metrics,
    watch: createTurnWatch(),
    random: () => 0,
    blocked: () => false,
    condition: () => ({ guards: [], outbox: { results: 0, bytes: 0, oldestSeconds: 0 } }),
    accept: (jobs) => {
      batches.push(jobs);
      return Promise.resolve();
    },
  });
  poller.start();
  await finished;
  poller.cut();
  await poller.finish();
  transport.close();
  server.close();
  server.closeAllConnections();
  return { batches, log, failed: metrics.claimsFailed };
}

test('a million jobs in answer to a claim of four', async () => {
  const { batches, log } = await claimed(`{"jobs":[${'1,'.repeat(999_999)}1]}`);
  expect(batches).toEqual([[1, 1, 1, 1]]);
  expect(log).toContain('more jobs than requested');
});

test('an answer that is nested too deeply does not come from the service', async () => {
  const depth = 100_000;
  const { batches, failed, log } = await claimed(`{"jobs":[${'['.repeat(depth)}${']'.repeat(depth)}]}`);
  expect([batches, failed]).toEqual([[], 1]);
  expect(log).toContain('does not come from the service');
});
