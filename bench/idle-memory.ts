import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { installedEngines } from '../src/script/suite/install/engines.ts';
import { startProtocolPeer } from './lib/protocol-peer.ts';
import { machine, report, rssMb, stopChild, temporaryFolder } from './lib/processes.ts';

/**
 * Resident memory of an idle agent with all check types: the median of several starts, each some seconds after the service has
 * accepted the agent. It runs on Node 24, the Node of the images, if the engines of suites are installed, else on this Node.
 * The documents quote this figure.
 */

const starts = Number(process.argv[2] ?? 7);
const settleMs = 8000;
/** 80 MB, as docs/dependencies.md sets it, in MiB. */
const limit = 80e6 / 1024 ** 2;

const root = process.cwd(); // npm's scripts run there
const node24 = installedEngines(join(root, 'engines')).find(
  ({ name, version }) => name === 'node' && version.startsWith('24.'),
);
const program = node24?.program ?? process.execPath;
const version = node24?.version ?? process.versions.node;

/** Resolves once the agent is ready; rejects after a minute. */
async function ready(port: number): Promise<void> {
  const end = Date.now() + 60_000;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/-/readiness`).catch(() => null);
    if (answer?.status === 200) return;
    if (Date.now() > end) throw new Error('the agent did not become ready');
    await new Promise((done) => setTimeout(done, 200));
  }
}

const folder = temporaryFolder();
const peer = await startProtocolPeer();
try {
  const measured: number[] = [];
  for (let index = 0; index < starts; index++) {
    const port = 42_000 + Math.floor(Math.random() * 10_000);
    const agent = spawn(program, [join(root, 'dist', 'main.js'), 'start'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        API_KEY: 'pl_00000000000000000000000000000000',
        SERVICE_URL: peer.url,
        AGENT_HEALTH_PORT: String(port),
        AGENT_DATA_DIR: join(folder, `agent-${index}`),
        LOG_LEVEL: 'ERROR',
      },
    });
    await ready(port);
    await new Promise((done) => setTimeout(done, settleMs));
    measured.push(rssMb(agent.pid ?? 0));
    await stopChild(agent);
  }
  measured.sort((a, b) => a - b);
  const median = measured[Math.floor(measured.length / 2)] ?? Number.NaN;
  console.log(`idle agent, Node ${version}, ${starts} starts, ${settleMs / 1000} s after ready, ${machine}`);
  console.log(`each    ${measured.map((each) => each.toFixed(1)).join(', ')} MiB`);
  console.log(`median  ${median.toFixed(1)} MiB (limit: ${limit.toFixed(1)} MiB)`);
  report({
    name: `idle-memory (Node ${version})`,
    unit: 'MiB of resident memory',
    ours: median,
    peer: null,
    limit,
    ratio: median / limit,
  });
} finally {
  peer.close();
  rmSync(folder, { recursive: true, force: true });
}
