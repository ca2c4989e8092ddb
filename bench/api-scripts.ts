/**
 * API checks with one setup and one teardown script each, through the executor and real processes of the newest runtime
 * here, beside the physical limit: bare starts of that runtime's Node (`node -e 0`), as many at a time, in the same run.
 * Wanted: at least 30 checks per second on 2 cores.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { executeApi } from '../src/executors/api.ts';
import type { ExecutionContext } from '../src/executors/executor.ts';
import { createNetwork } from '../src/executors/system-network.ts';
import { withoutScripts } from '../src/executors/without-scripts.ts';
import type { JobOf } from '../src/protocol/job.ts';
import { createScripts } from '../src/script/create-scripts.ts';
import { installedRuntimes } from '../src/script/runtimes.ts';
import { machine, report } from './lib/processes.ts';

const limit = 30;
const atATime = 4;
const secondsEach = 5;
const rounds = 3;

const root = process.cwd();
const runtime = installedRuntimes(join(root, 'runtimes'), (line) => process.stderr.write(`${line}\n`))[0];
if (runtime === undefined) {
  console.log('no runtime is installed: node scripts/runtime.mjs install 2026.04');
  process.exit(2);
}
const { node, name: runtimeId } = runtime;

const target = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end('{"ok":true}');
});
await new Promise<void>((resolve) => {
  target.listen(0, '127.0.0.1', resolve);
});
const { port } = target.address() as AddressInfo; // a TCP server has this kind

const scripts = createScripts({
  runtimesFolder: join(root, 'runtimes'),
  dataFolder: join(root, 'build', 'bench'),
  slots: 1,
  warn: (line) => process.stderr.write(`${line}\n`),
});
const context: ExecutionContext = {
  ...withoutScripts,
  signal: new AbortController().signal,
  log: () => undefined,
  network: createNetwork({ useOsDnsResolver: false }),
  scripts,
  now: Date.now,
};

try {
  await inSeconds(1, oneCheck);
  const ours = { perSecond: 0, cpuMs: Infinity };
  const bare = { perSecond: 0, cpuMs: Infinity };
  for (let round = 0; round < rounds; round++) {
    best(ours, await inSeconds(secondsEach, oneCheck));
    best(bare, await inSeconds(secondsEach, oneStart));
  }
  console.log(
    `API checks with a setup and a teardown script, best of ${rounds} rounds, ${atATime} at a time, ${machine}\n`,
  );
  const row = (name: string, figures: typeof ours) =>
    `${name.padEnd(20)} ${figures.perSecond.toFixed(1).padStart(7)} per second ${figures.cpuMs.toFixed(1).padStart(7)} ms CPU each`;
  console.log(`${row('checks', ours)}   (at least ${limit} per second)`);
  console.log(`${row('node -e 0', bare)}   (Node ${runtime.nodeVersion}: the limit of a process per run)`);
  report({
    name: 'api-scripts',
    unit: 'checks per second',
    ours: ours.perSecond,
    peer: bare.perSecond,
    limit,
    ratio: ours.perSecond / bare.perSecond,
  });
  if (ours.perSecond < limit) process.exitCode = 1;
} finally {
  await scripts.close();
  target.close();
  target.closeAllConnections();
}

function best(kept: { perSecond: number; cpuMs: number }, seen: typeof kept): void {
  kept.perSecond = Math.max(kept.perSecond, seen.perSecond);
  kept.cpuMs = Math.min(kept.cpuMs, seen.cpuMs);
}

/** CPU time of this process and of all children that have ended, in milliseconds (proc(5), fields 14 to 17). */
function cpuWithChildrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}

/** How often per second `work` is done, `atATime` at a time, and the CPU time that it took each time. */
async function inSeconds(
  seconds: number,
  work: () => Promise<void>,
): Promise<{ perSecond: number; cpuMs: number }> {
  const cpuBefore = cpuWithChildrenMs();
  const started = performance.now();
  let done = 0;
  const lane = async () => {
    while (performance.now() - started < seconds * 1000) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
  return {
    perSecond: done / ((performance.now() - started) / 1000),
    cpuMs: (cpuWithChildrenMs() - cpuBefore) / done,
  };
}

async function oneCheck(): Promise<void> {
  const { base, assertions } = await executeApi(job(), context);
  const broken = assertions.find(({ error }) => error !== null);
  if (!base.ok || broken !== undefined) throw new Error(JSON.stringify({ base, broken }));
}

function oneStart(): Promise<void> {
  return new Promise((resolve, reject) => {
    spawn(node, ['-e', '0'], { stdio: 'ignore', env: {} })
      .once('error', reject)
      .once('close', () => resolve());
  });
}

function job(): JobOf<'API'> {
  const id = '00000000-0000-7000-8000-000000000001';
  const time = new Date().toISOString();
  return {
    ...{ jobId: id, runId: id, sequenceId: id, checkId: id, leaseToken: id },
    ...{ dueAt: time, leaseExpiresAt: time, deadline: time },
    checkName: 'bench',
    checkType: 'API',
    lane: 'uptime',
    runLocation: 'here',
    runSource: 'SCHEDULER',
    attempt: 1,
    firstAttemptAt: null,
    shouldFail: false,
    degradedResponseTime: null,
    maxResponseTime: null,
    retryStrategy: null,
    environmentVariables: [],
    proxyUrl: null,
    clientCertificates: [],
    request: {
      method: 'GET',
      url: `http://127.0.0.1:${port}/`,
      followRedirects: true,
      skipSSL: false,
      ipFamily: 'IPv4',
      body: '',
      bodyType: 'NONE',
      headers: [{ key: 'x-token', value: '{{{TOKEN}}}', locked: false }],
      queryParameters: [],
      basicAuth: null,
      assertions: [
        { source: 'JSON_BODY', property: '$.seen', comparison: 'EQUALS', target: 'true', regex: null },
      ],
    },
    scripts: {
      runtimeId,
      files: [],
      setup: [
        {
          origin: 'check',
          content: `process.env.TOKEN = require('crypto').createHash('sha256').update(String(Date.now())).digest('hex')`,
        },
      ],
      teardown: [
        {
          origin: 'check',
          content: `response.body = JSON.stringify({ ...JSON.parse(response.body), seen: request.headers['x-token'].length === 64 })`,
        },
      ],
    },
  };
}
