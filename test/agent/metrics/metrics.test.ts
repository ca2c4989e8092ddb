import { mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../../src/agent/agent.ts';
import { agentMetrics, processMetrics } from '../../../src/agent/metrics/catalogue.ts';
import { metricPrefix } from '../../../src/agent/metrics/definition.ts';
import { countResult, createMetrics, otherType } from '../../../src/agent/metrics/counters.ts';
import { readAgentConfig } from '../../../src/config.ts';
import { createLog } from '../../../src/log.ts';
import { jobTypes } from '../../../src/protocol/check-types.ts';
import { suiteStages } from '../../../src/script/interface/suite-run.ts';
import { parsePrometheus, type Family } from '../../helpers/prometheus-text.ts';
import {
  peerKey,
  retryStrategy,
  startProtocolPeer,
  tcpJob,
  type ProtocolPeer,
} from '../link/protocol-peer.ts';

/** The metrics of a running agent, compared with the catalogue for documents, rules and dashboard. */

let folder: string;
let peer: ProtocolPeer;
let agent: Agent;
let held: Set<net.Socket>;
let target: net.Server;
let hanging: net.Server;
const portOf = (server: net.Server) => (server.address() as AddressInfo).port; // it listens on a TCP port

beforeEach(async () => {
  held = new Set();
  target = net.createServer((socket) => void socket.on('error', () => undefined).end('hello'));
  hanging = net.createServer((socket) => void held.add(socket.on('error', () => undefined)));
  folder = mkdtempSync(join(tmpdir(), 'metrics-'));
  peer = await startProtocolPeer();
  for (const server of [target, hanging]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  agent = createAgent({
    config: readAgentConfig({
      API_KEY: peerKey,
      SERVICE_URL: peer.url.href,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: folder,
      AGENT_SHUTDOWN_GRACE_SECONDS: '1',
    }),
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    version: '1.2.3',
    random: () => 0,
    runtimesFolder: join(folder, 'no-runtimes'),
  });
  await agent.start();
});
afterEach(async () => {
  await agent.stop();
  await peer.close();
  for (const socket of held) socket.destroy();
  target.close();
  hanging.close();
  rmSync(folder, { recursive: true, force: true });
});

const scrape = async (): Promise<Map<string, Family>> => {
  const answer = await fetch(`${agent.healthUrl}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parsePrometheus(await answer.text());
};
const finals = () => peer.results.filter(({ resultType }) => resultType === 'FINAL');
/** The value of a series, by the name that it has without the prefix. */
const valueOf = (page: Map<string, Family>, name: string, labels: Record<string, string> = {}) => {
  const family = page.get(metricPrefix + name.replace(/_(bucket|sum|count)$/, ''));
  const wanted = Object.entries(labels);
  return family?.samples.find(
    (sample) =>
      sample.name === metricPrefix + name && wanted.every(([label, text]) => sample.labels[label] === text),
  )?.value;
};

/** Four jobs, one of which has two attempts: one passes, one fails, one has no runtime here, one has an unknown type. */
async function runFourJobs(): Promise<void> {
  peer.add(tcpJob(portOf(target)));
  peer.add(tcpJob(80, { checkType: 'BROWSER' }));
  peer.add(tcpJob(80, { checkType: 'NEWER_TYPE' }));
  peer.add(
    tcpJob(portOf(target), {
      shouldFail: true,
      retryStrategy: retryStrategy({ baseBackoffSeconds: 0, maxRetries: 1 }),
    }),
  );
  await expect.poll(() => finals().length, { timeout: 30_000 }).toBe(4);
}

test('names, types, units and labels of a running agent are those of the catalogue, and the reverse', async () => {
  await runFourJobs();
  const page = await scrape();

  const own = [...page.keys()].filter((name) => name.startsWith(metricPrefix));
  expect(own.sort()).toEqual(
    Object.keys(agentMetrics)
      .map((name) => metricPrefix + name)
      .sort(),
  );
  for (const [name, { type, help, labels }] of Object.entries(agentMetrics)) {
    const family = page.get(metricPrefix + name);
    expect(family, name).toMatchObject({ type, help });
    const known: Record<string, readonly string[] | null> = labels;
    for (const sample of family?.samples ?? []) {
      const { le, ...others } = sample.labels;
      expect(le !== undefined, sample.name).toBe(sample.name.endsWith('_bucket'));
      expect(Object.keys(others).sort(), sample.name).toEqual(Object.keys(labels).sort());
      for (const [label, text] of Object.entries(others)) {
        if (known[label] !== null) expect(known[label], `${name} ${label}`).toContain(text);
      }
    }
  }
  // Metrics of some agents only: a series appears with its first event.
  const without = own.filter((name) => page.get(name)?.samples.length === 0);
  expect(without.sort()).toEqual(
    ['runtime_info', 'suite_dependency_cache_total', 'suite_stage_seconds'].map(
      (name) => metricPrefix + name,
    ),
  );
  for (const [name, { type }] of Object.entries(processMetrics)) {
    expect(page.get(name), name).toMatchObject({ type });
    expect(page.get(name)?.samples, name).toHaveLength(1);
  }
  const others = [...page.keys()].filter((name) => !name.startsWith(metricPrefix));
  expect(others.filter((name) => !/^(process|nodejs)_/.test(name))).toEqual([]);
});

test('counts types, waits, runs with their retries, results and scrubbed values', async () => {
  await runFourJobs();
  await expect
    .poll(async () => valueOf(await scrape(), 'results_sent_total'), { timeout: 30_000 })
    .toBe(peer.results.length);
  const page = await scrape();
  const results = (type: string, status: string, kind: string) =>
    valueOf(page, 'results_total', { type, status, kind });
  expect(results('TCP', 'passed', 'FINAL')).toBe(1);
  expect(results('TCP', 'failed', 'ATTEMPT')).toBe(1);
  expect(results('TCP', 'failed', 'FINAL')).toBe(1);
  expect(results('BROWSER', 'errored', 'FINAL')).toBe(1);
  // Whatever a service sends must not make the page grow.
  expect(results('other', 'errored', 'FINAL')).toBe(1);
  expect(valueOf(page, 'attempt_duration_seconds_count', { type: 'TCP' })).toBe(3);
  expect(valueOf(page, 'run_duration_seconds_count', { type: 'TCP' })).toBe(2);
  const uptime = { lane: 'uptime' };
  for (const wait of ['claim_delay', 'slot_wait', 'start_delay']) {
    expect(valueOf(page, `${wait}_seconds_count`, uptime), wait).toBe(2);
  }
  const sum = (name: string) => valueOf(page, `${name}_seconds_sum`, uptime) ?? 0;
  expect(sum('start_delay')).toBeCloseTo(sum('claim_delay') + sum('slot_wait'), 3);
  expect(valueOf(page, 'jobs_unreadable_total')).toBe(2);
  expect(valueOf(page, 'result_upload_seconds_count')).toBeGreaterThan(0);
  expect(valueOf(page, 'scrub_bytes_total', { what: 'result' })).toBeGreaterThan(500);
  expect(valueOf(page, 'outbox_limit_bytes', { place: 'disk' })).toBe(1024 ** 3);
  expect(valueOf(page, 'info', { version: '1.2.3', node: process.version, location: 'here' })).toBe(1);
});

test('slots, jobs in hand and the age of the last poll follow the work', async () => {
  const job = peer.add(
    tcpJob(portOf(hanging), {
      request: {
        hostname: '127.0.0.1',
        port: portOf(hanging),
        ipFamily: 'IPv4',
        data: 'x',
        assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'never' }],
      },
    }),
  );
  await expect
    .poll(async () => valueOf(await scrape(), 'slots_busy', { lane: 'uptime' }), { timeout: 30_000 })
    .toBe(1);
  const page = await scrape();
  expect(valueOf(page, 'slots', { lane: 'uptime' })).toBe(200);
  expect(valueOf(page, 'jobs', { phase: 'running' })).toBe(1);
  const age = valueOf(page, 'poll_age_seconds', { lane: 'uptime' }) ?? -1;
  expect(age).toBeGreaterThanOrEqual(0);
  expect(age).toBeLessThan(60);
  for (const socket of held) socket.destroy();
  await expect.poll(() => finals().some(({ jobId }) => jobId === job.jobId), { timeout: 30_000 }).toBe(true);
  await expect
    .poll(async () => valueOf(await scrape(), 'slots_busy', { lane: 'uptime' }), { timeout: 30_000 })
    .toBe(0);
});

test('while the service does not answer the age of the poll grows, and the outbox with it', async () => {
  const away = (_request: unknown, response: { writeHead: (status: number) => { end: () => void } }) => {
    response.writeHead(503).end();
    return true;
  };
  await expect.poll(() => peer.waiting(), { timeout: 30_000 }).toBe(1);
  peer.misbehave('results', away);
  // The pending claim returns the job; the next one fails.
  peer.misbehave('claim', away);
  peer.add(tcpJob(portOf(target)));
  await expect
    .poll(async () => valueOf(await scrape(), 'outbox_results', { place: 'disk' }), { timeout: 30_000 })
    .toBe(1);
  const agesOf = (page: Map<string, Family>) => [
    valueOf(page, 'poll_age_seconds', { lane: 'uptime' }) ?? 0,
    valueOf(page, 'outbox_age_seconds') ?? 0,
  ];
  await expect
    .poll(async () => valueOf(await scrape(), 'claims_failed_total'), { timeout: 60_000 })
    .toBeGreaterThan(0);
  const before = agesOf(await scrape());
  await expect
    .poll(async () => agesOf(await scrape()).every((age, index) => age > (before[index] ?? 0)), {
      timeout: 30_000,
    })
    .toBe(true);
  expect(valueOf(await scrape(), 'outbox_bytes', { place: 'disk' })).toBeGreaterThan(500);
  peer.behave('results');
  peer.behave('claim');
  await expect
    .poll(async () => valueOf(await scrape(), 'outbox_results', { place: 'disk' }), { timeout: 60_000 })
    .toBe(0);
  expect(valueOf(await scrape(), 'outbox_age_seconds')).toBe(0);
}, 120_000);

test('the catalogue follows the rules of names, and its values those of the program', () => {
  for (const [name, { type, unit, help }] of Object.entries(agentMetrics)) {
    expect(name, name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(name.endsWith('_total'), `${name}: counters, and they alone, end with _total`).toBe(
      type === 'counter',
    );
    if (unit === 'seconds' || unit === 'bytes') expect(name, name).toContain(unit);
    if (type === 'histogram') expect(name, name).toMatch(/_seconds$/);
    expect(help, name).toMatch(/^[A-Z].*[.]$/);
  }
  expect(agentMetrics.suite_stage_seconds.labels.stage).toEqual(suiteStages);
  expect(agentMetrics.results_total.labels.type).toEqual([...jobTypes, otherType]);
});

test('a type that is none takes no series of its own', () => {
  const metrics = createMetrics();
  for (const checkType of ['TCP', 'A', 'B b', 'C"}']) {
    countResult(metrics, { checkType, status: 'passed', resultType: 'FINAL' });
  }
  expect([...metrics.results]).toEqual([
    ['TCP passed FINAL', 1],
    ['other passed FINAL', 3],
  ]);
});
