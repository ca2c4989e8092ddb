import { createServer } from 'node:http';
import { existsSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { cpuMs, report, rssMb, stopChild, temporaryFolder } from './lib/processes.ts';
import { figuresOf, intervalMs, startAgents, startReplica } from './lib/scheduled-checks.ts';

/**
 * The default service with its own database on one core. It schedules 1,000 one-minute checks, stores their results and raises
 * alerts; every twentieth check fails and sends a webhook. Measured: start delay of runs, share of the core, memory.
 *
 * Arguments: full minutes to measure (default 3), number of checks (default 1000).
 */
const minutes = Math.max(1, Number(process.argv[2] ?? 3));
const checks = Number(process.argv[3] ?? 1_000);
const limitMs = 2_000;
const locationKey = 'pl_a_key_of_the_benchmark';
const apiKey = 'sk_a_key_of_the_benchmark';
const atOnce = 10;

const delivered = new Set<string>();
const webhook = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => (text += part));
  request.once('end', () => {
    const { check, kind } = JSON.parse(text) as { check: string; kind: string }; // of the template below
    delivered.add(`${check} ${kind}`);
    response.end();
  });
}).listen(0, '127.0.0.1');
await once(webhook, 'listening');
const { port } = webhook.address() as AddressInfo;

const folder = temporaryFolder();
const pinned = existsSync('/usr/bin/taskset') && availableParallelism() > 1;
const service = await startReplica(
  {
    SERVICE_DATA_DIR: folder,
    SERVICE_LOCATION_KEY: locationKey,
    SERVICE_API_KEY: apiKey,
    SERVICE_RATE_LIMIT: '0',
  },
  pinned ? ['/usr/bin/taskset', '-c', '0'] : [],
);
const pid = service.child.pid ?? 0;

async function create(path: string, body: object): Promise<string> {
  const answer = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}

const channelId = await create('/v1/alert-channels', {
  type: 'WEBHOOK',
  config: {
    name: 'bench',
    url: `http://127.0.0.1:${port}/`,
    method: 'POST',
    template: '{"check": "{{CHECK_ID}}", "kind": "{{ALERT_TYPE}}"}',
  },
});
const ids: string[] = [];
for (let from = 0; from < checks; from += atOnce) {
  const some = Array.from({ length: Math.min(atOnce, checks - from) }, (_, n) =>
    create('/v1/checks/url', {
      name: `Check ${from + n} of the benchmark`,
      privateLocations: ['local'],
      frequency: 1,
      request: {
        url: 'https://shop.example.com/api/v1/health?full=1',
        assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', property: '' }],
      },
      alertChannelSubscriptions: [{ alertChannelId: channelId, activated: true }],
    }),
  );
  ids.push(...(await Promise.all(some)));
}
const failing = ids.filter((_, n) => n % 20 === 0);
console.log(`${checks} checks created, ${failing.length} of them will fail`);
const agents = await startAgents({
  urls: [service.url],
  keys: [locationKey],
  count: 2,
  slots: 100,
  runMs: 100,
  failing,
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
const from = Date.now() + 5_000;
const to = from + minutes * intervalMs;
await sleep(from - Date.now());
const before = cpuMs(pid);
let most = 0;
while (Date.now() < to) {
  most = Math.max(most, rssMb(pid));
  await sleep(Math.min(1_000, to - Date.now()));
}
const cpu = cpuMs(pid) - before;
await sleep(5_000);
const runs = await agents.stop();
await stopChild(service.child);
webhook.close();
rmSync(folder, { recursive: true, force: true });

const { expected, lost, doubled, p50, p99, worst } = figuresOf(runs, { ids, from, to });
const missing = failing.filter((id) => !delivered.has(`${id} ALERT_FAILURE`)).length;
console.log(
  `checks, minutes                 ${checks}, ${minutes}${pinned ? ', the service on one core' : ''}`,
);
console.log(`start of run - due              p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms`);
console.log(`runs due, lost, doubled         ${expected}, ${lost}, ${doubled}`);
console.log(`alerts delivered, missing       ${delivered.size}, ${missing}`);
console.log(`share of the core               ${((cpu / (to - from)) * 100).toFixed(1)} %`);
console.log(`CPU per run                     ${(cpu / expected).toFixed(2)} ms`);
console.log(`memory of the service, most     ${Math.round(most)} MB`);
report({ name: 'embedded', unit: 'ms', ours: p99, peer: null, limit: limitMs, ratio: p99 / limitMs });
process.exitCode = p99 <= limitMs && lost === 0 && doubled === 0 && missing === 0 ? 0 : 1;
