import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPoller } from '../../../src/agent/claiming/poller.ts';
import { createServiceClient } from '../../../src/agent/link/client.ts';
import type { Session } from '../../../src/agent/link/session.ts';
import { createTransport } from '../../../src/agent/link/transport.ts';
import { createMetrics, type AgentMetrics } from '../../../src/agent/metrics/counters.ts';
import { createTurnWatch } from '../../../src/agent/metrics/turn-watch.ts';
import { createLanes } from '../../../src/agent/run/lanes.ts';
import { createLog } from '../../../src/log.ts';

/** A poller with four slots on a service that a test plays. It never has a job that takes a slot. */
export type TestPoller = {
  metrics: AgentMetrics;
  /** The jobs that it accepted, claim by claim. */
  batches: unknown[][];
  log: () => string;
  stop: () => Promise<void>;
};

export async function startTestPoller(answer: http.RequestListener): Promise<TestPoller> {
  let log = '';
  const batches: unknown[][] = [];
  const server = http.createServer(answer);
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
    accept: (jobs) => {
      batches.push(jobs);
      return Promise.resolve();
    },
  });
  poller.start();
  return {
    metrics,
    batches,
    log: () => log,
    stop: async () => {
      poller.cut();
      await poller.finish();
      transport.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
