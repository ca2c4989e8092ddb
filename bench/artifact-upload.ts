/**
 * Uploads one artifact of 150 MB from the agent's disk to the service's disk. The agent's uploader and the real service (embedded
 * database) run in separate processes. Compared with a bare HTTP copy between two processes on the same disk. Limits: at least half
 * the bare copy's rate, and at most 60 MB of memory above idle in the agent.
 */
import { once } from 'node:events';
import { createReadStream, createWriteStream, rmSync, statSync, writeFileSync } from 'node:fs';
import { randomBytes, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createArtifactDelivery } from '../src/agent/artifacts/delivery.ts';
import { createMetrics } from '../src/agent/metrics/counters.ts';
import { createServiceClient } from '../src/agent/link/client.ts';
import { createSession } from '../src/agent/link/session.ts';
import { createTransport } from '../src/agent/link/transport.ts';
import { createTurnWatch } from '../src/agent/metrics/turn-watch.ts';
import { readServiceConfig } from '../src/config/service.ts';
import { createLog } from '../src/log.ts';
import { startService } from '../src/service/service.ts';
import { machine, report, rssMb, startChild, stopChild, temporaryFolder } from './lib/processes.ts';

const megabytes = 150;
const rounds = 3;
const limits = { ratio: 0.5, memoryMb: 60 };
const key = 'pl_0123456789abcdef0123456789abcdef';

type Lease = { jobId: string; leaseToken: string };
type ServiceHello = Lease & { url: string };
type Copied = { ms: number };
type Sent = { ms: number; idleMb: number; peakMb: number };

const [, , role, ...rest] = process.argv;
if (role === 'copy-server') await copyServer(rest[0] ?? '');
else if (role === 'copy-client') await copyClient(Number(rest[0]), rest[1] ?? '');
else if (role === 'service') await service(rest[0] ?? '');
else if (role === 'keep') await keep(rest);
else if (role === 'upload') await upload(rest);
else await main();

async function main(): Promise<void> {
  const folder = temporaryFolder();
  const file = join(folder, 'artifact.bin');
  writeFileSync(file, randomBytes(megabytes * 1024 * 1024));
  try {
    let [bare, ours, above, serviceAbove] = [Infinity, Infinity, 0, 0];
    for (let round = 0; round < rounds; round += 1) {
      bare = Math.min(bare, await bareCopy(folder, file));
      const sent = await ourUpload(join(folder, String(round)), file);
      ours = Math.min(ours, sent.ms);
      above = Math.max(above, sent.peakMb - sent.idleMb);
      serviceAbove = Math.max(serviceAbove, sent.serviceAboveMb);
    }
    const rate = (ms: number) => (megabytes / ms) * 1000;
    const ratio = rate(ours) / rate(bare);
    console.log(`${megabytes} MB, best of ${rounds} rounds, ${machine}\n`);
    console.log(`bare copy over HTTP  ${rate(bare).toFixed(0).padStart(6)} MB/s`);
    console.log(
      `artifact upload      ${rate(ours).toFixed(0).padStart(6)} MB/s   ratio ${ratio.toFixed(2)}, at least ${limits.ratio}`,
    );
    console.log(`agent above idle     ${above.toFixed(0).padStart(6)} MB     at most ${limits.memoryMb}`);
    console.log(`service above idle   ${serviceAbove.toFixed(0).padStart(6)} MB`);
    report({
      name: 'artifact-upload',
      unit: 'MB/s',
      ours: rate(ours),
      peer: rate(bare),
      limit: limits.ratio,
      ratio,
    });
    process.exitCode = ratio >= limits.ratio && above <= limits.memoryMb ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bareCopy(folder: string, file: string): Promise<number> {
  const target = join(folder, 'copy.bin');
  const server = await startChild<{ port: number }>(import.meta.filename, ['copy-server', target]);
  const client = await startChild<Copied>(import.meta.filename, [
    'copy-client',
    String(server.hello.port),
    file,
  ]);
  await stopChild(client.child);
  await stopChild(server.child);
  if (statSync(target).size !== statSync(file).size) throw new Error('the copy is not complete');
  rmSync(target);
  return client.hello.ms;
}

async function ourUpload(folder: string, file: string): Promise<Sent & { serviceAboveMb: number }> {
  const running = await startChild<ServiceHello>(import.meta.filename, ['service', folder]);
  const args = [running.hello.url, folder, running.hello.jobId, running.hello.leaseToken, file];
  const kept = await startChild<object>(import.meta.filename, ['keep', ...args]);
  await stopChild(kept.child, 'SIGKILL');
  const pid = running.child.pid ?? 0;
  const idle = rssMb(pid);
  let peak = idle;
  const sampler = setInterval(() => (peak = Math.max(peak, rssMb(pid))), 20);
  const sent = await startChild<Sent>(import.meta.filename, ['upload', ...args]);
  clearInterval(sampler);
  await stopChild(sent.child);
  await stopChild(running.child);
  rmSync(folder, { recursive: true, force: true });
  return { ...sent.hello, serviceAboveMb: peak - idle };
}

function printLine(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function copyServer(target: string): Promise<void> {
  const server = http.createServer((request, response) => {
    pipeline(request, createWriteStream(target)).then(
      () => response.end(),
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  printLine({ port: (server.address() as AddressInfo).port });
}

async function copyClient(port: number, file: string): Promise<void> {
  const began = performance.now();
  const request = http.request({ port, method: 'PUT', headers: { 'content-length': statSync(file).size } });
  const answered = once(request, 'response');
  await pipeline(createReadStream(file), request);
  const [response] = (await answered) as [http.IncomingMessage];
  await once(response.resume(), 'end');
  printLine({ ms: performance.now() - began });
}

/** The whole service with one claimed run. */
async function service(folder: string): Promise<void> {
  const config = readServiceConfig({
    SERVICE_PORT: '0',
    SERVICE_DATA_DIR: join(folder, 'service'),
    SERVICE_LOCATION_KEY: key,
    SERVICE_LOCATION_SLUG: 'bench',
  });
  const { db, url, accountId } = await startService({ config, log: quietLog() });
  const [location] = await db.query<{ id: string }>('select id from locations');
  const [checkId, jobId, leaseToken] = [randomUUID(), randomUUID(), randomUUID()];
  await db.query(
    `insert into checks (id, account_id, check_type, name, activated, frequency, interval_seconds, offset_seconds, definition)
     values ($1, $2, 'BROWSER', 'bench', false, 1, 60, 0, '{}'::jsonb)`,
    [checkId, accountId],
  );
  await db.query(
    `insert into jobs (id, account_id, check_id, run_id, sequence_id, location_id, run_location, check_type, lane, state,
       due_at, not_before, expires_at, claim_window_seconds, lease_token, lease_expires_at)
     values ($1, $2, $3, $1, $1, $4, 'bench', 'BROWSER', 'browser', 'leased', now(), now(), now(), 60, $5,
       now() + interval '1 hour')`,
    [jobId, accountId, checkId, location?.id, leaseToken],
  );
  printLine({ url, jobId, leaseToken });
}

/** Stores the file in the agent's artifact store, as an attempt does. */
async function keep([
  url = '',
  folder = '',
  jobId = '',
  leaseToken = '',
  file = '',
]: string[]): Promise<void> {
  const { delivery } = await agentPart(url, folder, 'first');
  const job = { jobId, leaseToken };
  const artifact = {
    path: file,
    name: 'artifact.bin',
    type: 'file',
    contentType: 'application/octet-stream',
  } as const;
  const [kept] = await delivery.keep({ job, attempt: 1, workDir: join(file, '..') }, [artifact], {
    secrets: [{ name: 'TOKEN', value: 'a-secret-that-is-not-there' }],
    signal: new AbortController().signal,
    note: (_level, msg) => process.stderr.write(`${msg}\n`),
  });
  printLine({ kept });
}

/** A new agent finds the file and sends it. */
async function upload([url = '', folder = '']: string[]): Promise<void> {
  const { delivery, metrics, connect } = await agentPart(url, folder, 'second');
  await connect();
  const idleMb = rssMb(process.pid);
  let peakMb = idleMb;
  const sampler = setInterval(() => (peakMb = Math.max(peakMb, rssMb(process.pid))), 5);
  const began = performance.now();
  await delivery.start();
  while (metrics.artifactsSent === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  const ms = performance.now() - began;
  clearInterval(sampler);
  printLine({ ms, idleMb, peakMb: Math.max(peakMb, rssMb(process.pid)) });
  createInterface({ input: process.stdin }).on('close', () => process.exit(0));
}

async function agentPart(url: string, folder: string, instanceId: string) {
  const serviceUrl = new URL(url);
  const metrics = createMetrics();
  const common = { log: quietLog(), instanceId, now: Date.now, random: () => 0 };
  const transport = await createTransport({
    serviceUrl,
    proxy: { httpProxy: null, httpsProxy: null, noProxy: '' },
    extraCaFile: null,
    headers: { authorization: `Bearer ${key}` },
  });
  const fail = (error: Error) => {
    throw error;
  };
  const client = createServiceClient({ transport, serviceUrl, now: Date.now, onKeyRefused: fail });
  const never = new AbortController().signal;
  const session = createSession({
    ...common,
    client,
    version: 'bench',
    watch: createTurnWatch(),
    abilities: () => ({ checkTypes: [], runtimes: [], engines: [], lanes: {} }),
    stopped: never,
    onAccepted: () => undefined,
  });
  const dataDir = join(folder, 'agent');
  const delivery = createArtifactDelivery({
    ...common,
    dataDir,
    serviceUrl,
    transport,
    client,
    session,
    metrics,
    fault: fail,
    onKeyRefused: fail,
  });
  return { delivery, metrics, connect: () => session.get(never) };
}

function quietLog() {
  return createLog({ level: 'ERROR', scrub: (line) => line });
}
