import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { peerKey, startProtocolPeer, type ProtocolPeer } from './link/protocol-peer.ts';

/** The daemon against a strict peer, over real sockets: what the files of its tests share. */
export type Daemon = {
  /** The agent's data folder. */
  readonly folder: string;
  /** The peer that was started last. */
  readonly peer: ProtocolPeer;
  readonly agent: Agent | null;
  /** The agent's log. */
  readonly lines: string[];
  /** The targets that are open. */
  readonly servers: Server[];
  startPeer: (...options: Parameters<typeof startProtocolPeer>) => Promise<ProtocolPeer>;
  startAgent: (
    env?: Record<string, string>,
    more?: Partial<Parameters<typeof createAgent>[0]>,
  ) => Promise<Agent>;
  /** A port that accepts; `hold` leaves the connection open without a word. */
  target: (hold?: boolean) => Promise<number>;
  until: (condition: () => boolean | Promise<boolean>, what: string, timeoutMs?: number) => Promise<void>;
  finals: () => ProtocolPeer['results'];
  /** The HTTP status of a path of the agent's health port. */
  status: (path: string, method?: string) => Promise<number>;
  /** Waits until the service has acknowledged this number of results. */
  acknowledged: (count: number) => Promise<void>;
};

/** Registers the hooks that give each test its own folder, and stop everything that it has started. */
export function daemonTests(): Daemon {
  let folder: string;
  let peer: ProtocolPeer | null = null;
  let agent: Agent | null = null;
  const lines: string[] = [];
  const servers: Server[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'agent-'));
    lines.length = 0;
  });
  afterEach(async () => {
    await agent?.stop();
    agent = null;
    await peer?.close();
    for (const server of servers.splice(0)) server.close();
    rmSync(folder, { recursive: true, force: true });
    expect(peer?.violations).toEqual([]);
    peer = null;
  });

  const started = (): ProtocolPeer => {
    if (peer === null) throw new Error('the test has started no peer');
    return peer;
  };
  function config(env: Record<string, string>) {
    return readAgentConfig({
      API_KEY: peerKey,
      SERVICE_URL: started().url.href,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: folder,
      AGENT_SHUTDOWN_GRACE_SECONDS: '5',
      ...env,
    });
  }
  const startAgent: Daemon['startAgent'] = async (env = {}, more = {}) => {
    const log = createLog({
      level: 'DEBUG',
      scrub: (line) => line,
      destination: { write: (line) => void lines.push(line) },
    });
    const options = { config: config(env), log, version: '1.2.3', random: () => 0 };
    // The runtimes and engines of this machine must not change the results. With a runtime, this agent could run scripts.
    const runtimesFolder = join(folder, 'no-runtimes');
    mkdirSync(runtimesFolder, { recursive: true });
    agent = createAgent({ ...options, runtimesFolder, enginesFolder: join(folder, 'no-engines'), ...more });
    await agent.start();
    return agent;
  };

  async function target(hold = false): Promise<number> {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      if (!hold) socket.end('hello');
    });
    server.on('close', () => {
      for (const socket of sockets) socket.destroy();
    });
    const close = server.close.bind(server);
    server.close = (done) => {
      for (const socket of sockets) socket.destroy();
      return close(done);
    };
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  const until: Daemon['until'] = async (condition, what, timeoutMs = 10_000) => {
    const end = Date.now() + timeoutMs;
    while (!(await condition())) {
      if (Date.now() > end)
        throw new Error(`not within ${timeoutMs} ms: ${what}\n${lines.slice(-20).join('')}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const metrics = async () => (await fetch(`${agent?.healthUrl}/metrics`)).text();
  return {
    get folder() {
      return folder;
    },
    get peer() {
      return started();
    },
    get agent() {
      return agent;
    },
    lines,
    servers,
    startPeer: async (...options) => (peer = await startProtocolPeer(...options)),
    startAgent,
    target,
    until,
    finals: () => started().results.filter(({ resultType }) => resultType === 'FINAL'),
    status: async (path, method = 'GET') => (await fetch(`${agent?.healthUrl}${path}`, { method })).status,
    acknowledged: (count) =>
      until(
        async () => (await metrics()).includes(`location_agent_results_sent_total ${count}\n`),
        'the acknowledgement',
      ),
  };
}
