import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import { outboxLimits } from '../../../src/agent/outbox/options.ts';
import { Outbox } from '../../../src/agent/outbox/outbox.ts';
import { createLog } from '../../../src/log.ts';
import type { Result } from '../../../src/protocol/result.ts';
import { ownError, tcpJob } from '../link/protocol-peer.ts';
import { daemonTests } from '../daemon.ts';

/** Results that a proxy on the way refuses: each run still gets a final result, and nothing is repeated without end. */

const daemon = daemonTests();
const { finals, startAgent, startPeer, until } = daemon;
const proxies: http.Server[] = [];
afterEach(() => {
  for (const proxy of proxies.splice(0)) {
    proxy.closeAllConnections();
    proxy.close();
  }
});

type Seen = { bytes: number; status: number };

/** A proxy in front of the peer. `judge` returns the status with which it refuses a body; null lets it through. */
async function startProxy(judge: (body: Buffer, path: string) => number | null) {
  const seen: Seen[] = [];
  const proxy = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const path = request.url ?? '';
      const status = judge(body, path);
      if (path.endsWith('/results')) seen.push({ bytes: body.length, status: status ?? 200 });
      if (status !== null) {
        response.writeHead(status, { 'content-type': 'text/html' }).end(`<html><h1>${status}</h1></html>`);
        return;
      }
      const { url } = daemon.peer;
      const forward = http.request(
        { host: url.hostname, port: url.port, method: request.method, path, headers: request.headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      response.on('close', () => forward.destroy());
      forward.on('error', () => response.destroy());
      forward.end(body);
    });
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { seen, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

const above = (limit: number) => (body: Buffer, path: string) =>
  path.endsWith('/results') && body.length > limit ? 413 : null;

/** Leaves final results of these sizes in the outbox, as an agent that was killed; returns their job ids. */
async function leaveResults(
  sizes: readonly number[],
  { texts = [], segmentBytes }: { texts?: readonly string[]; segmentBytes?: number } = {},
): Promise<string[]> {
  const outbox = await Outbox.open({
    folder: join(daemon.folder, 'outbox'),
    instanceId: 'earlier',
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    metrics: createMetrics(),
    fault: () => undefined,
    now: Date.now,
    ...(segmentBytes === undefined ? {} : { limits: { ...outboxLimits, segmentBytes } }),
  });
  const ids: string[] = [];
  for (const [index, size] of sizes.entries()) {
    const job = tcpJob(1);
    daemon.peer.jobs.set(job.jobId, { job, state: 'leased', reported: new Map() });
    ids.push(job.jobId);
    await outbox.add(
      JSON.stringify(resultOf(job as unknown as Result, size, texts[index] ?? 'nobody is there')),
    );
  }
  await outbox.close();
  return ids;
}

function resultOf({ jobId, leaseToken, checkId, sequenceId }: Result, size: number, text: string): Result {
  const at = new Date().toISOString();
  return {
    jobId,
    leaseToken,
    attempt: 1,
    sequenceId,
    checkId,
    checkType: 'TCP',
    resultType: 'FINAL',
    status: 'failed',
    hasFailures: true,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    isCancelled: false,
    responseTime: 12,
    startedAt: at,
    stoppedAt: at,
    runLocation: 'here',
    attempts: 0,
    reason: { code: 'ECONNREFUSED', owner: 'target', message: text },
    assertions: [],
    timings: null,
    details: { filling: 'x'.repeat(size) },
    artifacts: [],
    log: [],
    agentVersion: '1.2.3',
  };
}

const jobIds = () => finals().map(({ jobId }) => jobId);
const metric = async (name: string) => {
  const page = await (await fetch(`${daemon.agent?.healthUrl}/metrics`)).text();
  return Number(new RegExp(`location_agent_${name} (\\d+)`).exec(page)?.[1]);
};

test('a proxy that takes 8 kB at most gets smaller batches, in order', async () => {
  await startPeer();
  const proxy = await startProxy(above(8 * 1024));
  const ids = await leaveResults(Array.from({ length: 100 }, () => 1000));
  await startAgent({ SERVICE_URL: proxy.url });
  await until(() => finals().length === 100, 'all results', 20_000);
  expect(jobIds()).toEqual(ids);
  expect(finals().every(({ details }) => 'filling' in details)).toBe(true);
  // The size that passes is remembered: it is not searched again for each batch.
  const refused = proxy.seen.filter(({ status }) => status === 413);
  expect(refused.length).toBeLessThanOrEqual(8);
  expect(await metric('results_reduced_total')).toBe(0);
}, 30_000);

test('one result that is too large is sent without its details, and kept for a person', async () => {
  const peer = await startPeer();
  const proxy = await startProxy(above(8 * 1024));
  const ids = await leaveResults([1000, 1000, 50_000, 1000, 1000]);
  await startAgent({ SERVICE_URL: proxy.url });
  await until(() => finals().length === 5, 'all results', 20_000);
  expect(jobIds()).toEqual(ids);
  const [, , reduced] = finals();
  expect(reduced).toMatchObject({
    status: 'failed',
    responseTime: 12,
    details: {},
    reason: { code: 'ECONNREFUSED' },
    log: [
      { level: 'warn', msg: expect.stringMatching(/^the result had 50\d\d\d bytes and was refused.*413/) },
    ],
  });
  expect(await metric('results_reduced_total')).toBe(1);
  const kept = join(daemon.folder, 'outbox', 'damaged');
  expect(readdirSync(kept)).toHaveLength(1);
  expect(readFileSync(join(kept, readdirSync(kept)[0] ?? ''), 'utf8')).toContain('x'.repeat(50_000));
  await until(() => peer.events.length > 0, 'the event', 15_000);
  // It ends: the outbox is empty and nothing is sent again.
  await until(async () => (await metric('outbox_bytes\\{place="disk"\\}')) === 0, 'an empty outbox');
}, 40_000);

test.each([400, 403, 414, 431, 451])(
  'a rule of a proxy about the content (%d) does not block the others',
  async (status) => {
    await startPeer();
    const proxy = await startProxy((body) => (body.includes('x'.repeat(3000)) ? status : null));
    const ids = await leaveResults([100, 3000, 100]);
    await startAgent({ SERVICE_URL: proxy.url });
    await until(() => finals().length === 3, 'all results', 20_000);
    expect(jobIds()).toEqual(ids);
    expect(finals().map(({ details }) => 'filling' in details)).toEqual([true, false, true]);
  },
  30_000,
);

describe('a firewall on the way refuses a result because of its text', () => {
  const attack = 'select * from users';
  const keptFiles = () => readdirSync(join(daemon.folder, 'outbox', 'damaged'));

  test('the message of the reason alone: it is sent without texts, and says why', async () => {
    await startPeer();
    const proxy = await startProxy((body) => (body.includes(attack) ? 403 : null));
    const ids = await leaveResults([100, 100, 100], { texts: ['a', `found: ${attack}`, 'c'] });
    await startAgent({ SERVICE_URL: proxy.url });
    await until(() => finals().length === 3, 'all results', 20_000);
    expect(jobIds()).toEqual(ids);
    const left = expect.stringMatching(/^the result was refused \(status 403\), so its texts were left out/);
    expect(finals()[1]).toMatchObject({
      status: 'failed',
      responseTime: 12,
      details: {},
      reason: { code: 'ECONNREFUSED', owner: 'target', message: left },
      log: [{ level: 'warn', msg: left }],
    });
    expect(await metric('results_reduced_total')).toBe(1);
    expect(keptFiles()).toHaveLength(1);
  }, 30_000);

  test.each([
    ['other results follow it', {}],
    ['the next results are in another file', { segmentBytes: 100 }],
  ])(
    'in every form: it is set aside, because %s and pass',
    async (_, more) => {
      const peer = await startPeer();
      // The first one's identifiers themselves break the rule.
      let refused = '';
      const proxy = await startProxy((body) => (refused !== '' && body.includes(refused) ? 403 : null));
      const ids = await leaveResults([100, 100, 100], more);
      refused = ids[0] ?? '';
      await startAgent({ SERVICE_URL: proxy.url });
      await until(() => finals().length === 2, 'the other results', 20_000);
      expect(jobIds()).toEqual(ids.slice(1));
      expect(await metric('results_quarantined_total')).toBe(1);
      expect(readFileSync(join(daemon.folder, 'outbox', 'damaged', keptFiles()[0] ?? ''), 'utf8')).toContain(
        refused,
      );
      await until(() => peer.events.length > 0, 'the event', 15_000);
    },
    40_000,
  );
});

describe('nothing is given up', () => {
  test.each([403, 413])(
    'while a proxy refuses everything (%d)',
    async (status) => {
      await startPeer();
      let results = 0;
      let refuses = true;
      let last = '';
      const proxy = await startProxy((body, path) => {
        if (!refuses || !path.endsWith('/results')) return null;
        results += 1;
        // It recovers after the last request of a turn, which carries another result: between the forms of one result,
        // the next form would count.
        if (results >= 10 && body.includes(last)) refuses = false;
        return status;
      });
      const ids = await leaveResults([100, 200, 300]);
      last = ids.at(-1) ?? '';
      await startAgent({ SERVICE_URL: proxy.url });
      await until(() => finals().length === 3, 'all results', 30_000);
      expect(jobIds()).toEqual(ids);
      expect(finals().every(({ details }) => 'filling' in details)).toBe(true);
    },
    60_000,
  );
});

test('a result whose details the service cannot read still ends its run', async () => {
  const peer = await startPeer();
  const ids = await leaveResults([100, 3000, 100]);
  peer.misbehave('results', (_request, response, body) => {
    if (!JSON.stringify(body).includes('x'.repeat(3000))) return false;
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(ownError('results.0 is odd')));
    return true;
  });
  await startAgent();
  await until(() => finals().length === 3, 'all results');
  expect(jobIds()).toEqual(ids);
});

describe('the service rejects a result because of a value in it', () => {
  /** Rejects each result with this text, as a database does that cannot store a value. */
  const reject = (text: string) => {
    const seen: number[] = [];
    daemon.peer.misbehave('results', (_request, response, body) => {
      const { results } = body as { results: Result[] };
      seen.push(results.length);
      const isOdd = (result: Result) => JSON.stringify(result).includes(text);
      if (!results.some(isOdd)) return false;
      const items = results.map((result) => {
        const { jobId, attempt } = result;
        if (isOdd(result)) return { jobId, attempt, outcome: 'rejected', reason: 'a value is odd' };
        daemon.peer.results.push(result);
        return { jobId, attempt, outcome: 'stored' };
      });
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ items }));
      return true;
    });
    return seen;
  };

  test('it is sent without its details, so that its run ends', async () => {
    await startPeer();
    const ids = await leaveResults([100, 3000, 100]);
    const seen = reject('x'.repeat(3000));
    await startAgent();
    await until(() => finals().length === 3, 'all results');
    expect(jobIds().toSorted()).toEqual(ids.toSorted());
    const reduced = finals().find(({ jobId }) => jobId === ids[1]);
    expect(reduced).toMatchObject({
      status: 'failed',
      details: {},
      reason: { code: 'ECONNREFUSED', message: 'nobody is there' },
      log: [{ level: 'warn', msg: expect.stringMatching(/was refused \(a value is odd\)/) }],
    });
    expect(seen).toEqual([3, 1]);
    await until(async () => (await metric('results_sent_total')) === 3, 'the count');
    expect(await metric('results_reduced_total')).toBe(1);
    expect(await metric('results_rejected_total')).toBe(0);
    expect(readdirSync(join(daemon.folder, 'outbox', 'damaged'))).toHaveLength(1);
  });

  test('a short form that is rejected does not count as sent', async () => {
    await startPeer();
    const ids = await leaveResults([30_000]);
    const proxy = await startProxy(above(20_000));
    const seen = reject('nobody is there');
    await startAgent({ SERVICE_URL: proxy.url });
    await until(() => finals().length === 1, 'the result without texts');
    expect(jobIds()).toEqual(ids);
    expect(finals()[0]?.reason?.message).toMatch(/its texts were left out/);
    expect(seen.length).toBeGreaterThan(1);
    expect(await metric('results_rejected_total')).toBe(0);
  });

  test('if every form is rejected, it is counted, and the others are not held up', async () => {
    await startPeer();
    const ids = await leaveResults([100, 100, 100]);
    const seen = reject(ids[1] ?? '');
    await startAgent();
    await until(() => finals().length === 2, 'the others');
    await until(async () => (await metric('results_rejected_total')) === 1, 'the count');
    expect(Math.max(...seen.slice(1))).toBe(1);
    expect(await metric('results_reduced_total')).toBe(0);
    await until(async () => (await metric('outbox_bytes\\{place="disk"\\}')) === 0, 'an empty outbox');
  });
});
