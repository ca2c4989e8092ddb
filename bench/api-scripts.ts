/**
 * API checks with one setup and one teardown script each, through the executor and real processes of the newest installed runtime.
 * Compared with the physical limit: bare starts of that runtime's Node (`node -e 0`) with the same parallelism in the same run.
 * Limit: at least 30 checks per second on 2 cores.
 */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { executeApi } from '../src/executors/api.ts';
import type { ExecutionContext } from '../src/executors/interface/executor.ts';
import { createNetwork } from '../src/executors/system-network.ts';
import { withoutScripts } from '../src/executors/without-scripts.ts';
import type { JobOf } from '../src/protocol/job.ts';
import { createScripts } from '../src/script/create-scripts.ts';
import { installedRuntimes } from '../src/script/process/runtimes.ts';
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
  network: () => 'unlimited',
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
  await perSecond(1, oneCheck);
  let ours = 0;
  let bare = 0;
  for (let round = 0; round < rounds; round++) {
    ours = Math.max(ours, await perSecond(secondsEach, oneCheck));
    bare = Math.max(bare, await perSecond(secondsEach, oneStart));
  }
  console.log(
    `API checks with a setup and a teardown script, best of ${rounds} rounds, ${atATime} at a time, ${machine}\n`,
  );
  const row = (name: string, figure: number, note: string) =>
    console.log(`${name.padEnd(12)} ${figure.toFixed(1).padStart(7)} per second   ${note}`);
  row('checks', ours, `(at least ${limit})`);
  row('node -e 0', bare, `(Node ${runtime.nodeVersion}: the limit of a process per run)`);
  const unit = 'checks per second';
  report({ name: 'api-scripts', unit, ours, peer: bare, limit, ratio: ours / bare });
  if (ours < limit) process.exitCode = 1;
} finally {
  await scripts.close();
  target.close();
  target.closeAllConnections();
}

/** How many `work` calls finish per second, with `atATime` in parallel. */
async function perSecond(seconds: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  let done = 0;
  const lane = async () => {
    while (performance.now() - started < seconds * 1000) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
  return done / ((performance.now() - started) / 1000);
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
    jobId: id,
    runId: id,
    sequenceId: id,
    checkId: id,
    leaseToken: id,
    dueAt: time,
    leaseExpiresAt: time,
    deadline: time,
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
