/** Measures a container's start time and idle memory. Needs Linux and a local engine. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const longestMs = 60_000;
/** After this time, the first garbage collection has finished. */
const idleMs = 15_000;

const docker = (...args) => execFileSync('docker', args, { encoding: 'utf8' }).trim();

/** A service that lets an agent become ready: it answers the hello and has no jobs. */
async function startService(host) {
  const id = '00000000-0000-7000-8000-000000000000';
  const hello = () => ({
    agentId: id,
    location: { id, name: 'measured', slugName: 'measured' },
    leaseSeconds: 30,
    renewSeconds: 5,
    limits: { resultBytes: 2 ** 21, batchBytes: 2 ** 24, batchItems: 500, artifactBytes: 150 * 2 ** 20 },
    protocolMinor: 1,
    time: new Date().toISOString(),
  });
  const server = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith('/hello')) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(hello()));
    } else setTimeout(() => response.writeHead(204).end(), 20_000).unref();
  });
  server.listen(0, host);
  await once(server, 'listening');
  return { url: `http://${host}:${server.address().port}`, server };
}

async function untilReady(address) {
  const end = performance.now() + longestMs;
  while (performance.now() < end) {
    const answer = await fetch(`http://${address}:8081/-/readiness`).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await sleep(5);
  }
  throw new Error(`not ready after ${longestMs / 1000} s`);
}

/** Resident bytes of all processes of a container. */
function residentBytes(id) {
  const pids = docker('top', id, '-o', 'pid').split('\n').slice(1);
  return pids
    .map((pid) => /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid.trim()}/status`, 'utf8')))
    .reduce((sum, found) => sum + Number(found?.[1] ?? 0) * 1024, 0);
}

/** The host's IPv4 address on the default bridge. Engines that have just made the bridge report its subnet only. */
function hostOnBridge() {
  const format = '{{range .IPAM.Config}}{{or .Gateway .Subnet}} {{end}}';
  const given = docker('network', 'inspect', 'bridge', '--format', format)
    .split(' ')
    .find((address) => address.includes('.'));
  if (given === undefined) throw new Error('the default bridge has no IPv4 subnet');
  // Docker gives the bridge the first address of its subnet.
  return given.includes('/')
    ? given.replace(/\d+\/\d+$/, (end) => String(Number.parseInt(end, 10) + 1))
    : given;
}

/**
 * Resolves with `{readyMs, startsMs, rssBytes}`. A start is measured from the container's first process until readiness is 200;
 * `readyMs` is the best of `starts`, and `startsMs` has all of them, which shows how busy this machine is. `rssBytes` is the resident
 * memory of an idle agent. The container runs as documented: read-only, without capabilities.
 */
export async function measure(tag, starts) {
  const { url, server } = await startService(hostOnBridge());
  const flags = [
    '--read-only',
    '--tmpfs',
    '/tmp',
    '--cap-drop',
    'ALL',
    '--security-opt',
    'no-new-privileges',
  ];
  const startsMs = [];
  let rssBytes = 0;
  try {
    for (let round = 0; round < starts; round++) {
      const id = docker(
        'create',
        ...flags,
        '-e',
        'API_KEY=pl_0123456789abcdef',
        '-e',
        `SERVICE_URL=${url}`,
        tag,
      );
      try {
        docker('start', id);
        // Since release 29, engines report the address only in the list of networks.
        const state = '{{.State.StartedAt}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
        const [startedAt, address] = docker('inspect', '--format', state, id).split(' ');
        await untilReady(address);
        startsMs.push(Date.now() - Date.parse(startedAt));
        if (round === starts - 1) {
          await sleep(idleMs);
          rssBytes = residentBytes(id);
        }
      } finally {
        docker('rm', '-f', '-v', id);
      }
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return { readyMs: Math.min(...startsMs), startsMs, rssBytes };
}
