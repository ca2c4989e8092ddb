import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import net, { type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import {
  ownError,
  peerKey,
  retryStrategy,
  startProtocolPeer,
  tcpJob,
  type ProtocolPeer,
} from './link/protocol-peer.ts';

/** The daemon against a strict peer, over real sockets. */

let folder: string;
let peer: ProtocolPeer;
let agent: Agent | null = null;
let lines: string[] = [];
const servers: Server[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-'));
  lines = [];
});
afterEach(async () => {
  await agent?.stop();
  agent = null;
  await peer.close();
  for (const server of servers.splice(0)) server.close();
  rmSync(folder, { recursive: true, force: true });
  expect(peer.violations).toEqual([]);
});

function config(env: Record<string, string> = {}) {
  return readAgentConfig({
    API_KEY: peerKey,
    SERVICE_URL: peer.url.href,
    AGENT_HEALTH_PORT: '0',
    AGENT_DATA_DIR: folder,
    AGENT_SHUTDOWN_GRACE_SECONDS: '5',
    ...env,
  });
}

async function startAgent(env: Record<string, string> = {}): Promise<Agent> {
  const log = createLog({
    level: 'DEBUG',
    scrub: (line) => line,
    destination: { write: (line) => void lines.push(line) },
  });
  const options = { config: config(env), log, version: '1.2.3', random: () => 0 };
  // What this machine has installed must not change what these tests see.
  // An agent that could run scripts, had it a runtime.
  const runtimesFolder = join(folder, 'no-runtimes');
  mkdirSync(runtimesFolder, { recursive: true });
  agent = createAgent({ ...options, runtimesFolder, enginesFolder: join(folder, 'no-engines') });
  await agent.start();
  return agent;
}

/** A port that accepts; `hold` leaves the connection open without a word. */
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

async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 10_000,
): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end)
      throw new Error(`not within ${timeoutMs} ms: ${what}\n${lines.slice(-20).join('')}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const finals = () => peer.results.filter(({ resultType }) => resultType === 'FINAL');
const status = async (path: string, method = 'GET') =>
  (await fetch(`${agent?.healthUrl}${path}`, { method })).status;

const metrics = async () => (await fetch(`${agent?.healthUrl}/metrics`)).text();
const acknowledged = (count: number) =>
  until(
    async () => (await metrics()).includes(`location_agent_results_sent_total ${count}\n`),
    'the acknowledgement',
  );

test('a job comes in, its result goes out, nothing stays behind', async () => {
  peer = await startProtocolPeer();
  await startAgent();
  const job = peer.add(tcpJob(await target()));
  await until(() => finals().length === 1, 'a final result');
  expect(finals()[0]).toMatchObject({
    jobId: job.jobId,
    leaseToken: job.leaseToken,
    attempt: 1,
    attempts: 0,
    checkType: 'TCP',
    resultType: 'FINAL',
    status: 'passed',
    hasFailures: false,
    hasErrors: false,
    reason: null,
    runLocation: 'here',
    agentVersion: '1.2.3',
  });
  await acknowledged(1);
  await agent?.stop();
  expect(readdirSync(join(folder, 'outbox'))).toEqual([]);
});

test('what a first check would pay for is paid before it', async () => {
  peer = await startProtocolPeer();
  const port = await target();
  let connections = 0;
  const count = () => {
    connections += 1;
  };
  let beforeCheck = 0;
  servers[0]?.once('connection', () => {
    beforeCheck = connections;
  });
  await startAgent();
  subscribe('net.client.socket', count);
  try {
    peer.add(tcpJob(port));
    await until(() => finals().length === 1, 'the result');
  } finally {
    unsubscribe('net.client.socket', count);
  }
  // Three rounds each of URL, API and TCP, against peers of the agent's own.
  expect(beforeCheck).toBeGreaterThanOrEqual(10);
});

describe('health', () => {
  test('readiness comes with the first accepted hello, and tells the state', async () => {
    peer = await startProtocolPeer({ timeOffsetMs: -60_000 });
    let open = false;
    peer.misbehave('hello', (_request, response) => {
      if (open) return false;
      response.writeHead(503).end('starting');
      return true;
    });
    await startAgent();
    expect(
      await Promise.all(['/-/readiness', '/-/liveness', '/health', '/nowhere'].map((path) => status(path))),
    ).toEqual([503, 200, 200, 404]);
    open = true;
    await until(async () => (await status('/-/readiness')) === 200, 'readiness');
    expect(
      await Promise.all(['/health', '/-/liveness', '/metrics'].map((path) => status(path, 'POST'))),
    ).toEqual([405, 405, 405]);
    const body = (await (await fetch(`${agent?.healthUrl}/health`)).json()) as Record<string, unknown>;
    expect(body).toEqual({
      state: 'running',
      version: '1.2.3',
      guards: expect.any(Array),
      clockSkewMs: expect.any(Number),
    });
    expect(Math.abs(Number(body['clockSkewMs']) - 60_000)).toBeLessThan(2000);
  });

  test('metrics count what happened', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result');
    const text = await (await fetch(`${agent?.healthUrl}/metrics`)).text();
    expect(text).toContain('location_agent_results_total{type="TCP",status="passed",kind="FINAL"} 1');
    expect(text).toContain('location_agent_slots{lane="uptime"} 200');
    expect(text).toContain('location_agent_attempt_duration_seconds_count{type="TCP"} 1');
    expect(text).toContain('location_agent_jobs_claimed_total 1');
    expect(text).toContain('location_agent_info{version="1.2.3"');
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
  });

  test('a port in use is one clear line', async () => {
    peer = await startProtocolPeer();
    const port = String(peer.port);
    await expect(startAgent({ AGENT_HEALTH_PORT: port })).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: `AGENT_HEALTH_PORT: port ${port} is in use; choose another one`,
    });
  });
});

describe('slots', () => {
  test('never more jobs than slots, and a freed slot is used at once', async () => {
    peer = await startProtocolPeer();
    const port = await target(true);
    for (let index = 0; index < 5; index += 1) {
      peer.add(tcpJob(port, { request: { data: 'x' }, deadline: new Date(Date.now() + 1500).toISOString() }));
    }
    await startAgent({ UPTIME_CONCURRENCY: '2' });
    await until(() => peer.slots.length > 0, 'the first claim');
    expect(peer.slots[0]).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const leased = [...peer.jobs.values()].filter(({ state }) => state === 'leased').length;
    expect(leased).toBe(2);
    await until(() => finals().length === 5, 'all five');
    expect(Math.max(...peer.slots)).toBe(2);
  });
});

describe('attempts', () => {
  test('each is a result, the last one final', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    const free = await target();
    servers.splice(0).forEach((server) => server.close());
    peer.add(tcpJob(free, { retryStrategy: retryStrategy() }));
    await until(() => finals().length === 1, 'a final result');
    expect(
      peer.results.map(({ attempt, attempts, resultType, status: verdict, reason }) => [
        attempt,
        attempts,
        resultType,
        verdict,
        reason?.code,
      ]),
    ).toEqual([
      [1, 0, 'ATTEMPT', 'failed', 'ECONNREFUSED'],
      [2, 1, 'ATTEMPT', 'failed', 'ECONNREFUSED'],
      [3, 2, 'FINAL', 'failed', 'ECONNREFUSED'],
    ]);
    expect(new Set(peer.results.map(({ sequenceId }) => sequenceId)).size).toBe(1);
  });

  test('a wait holds no slot', async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.2 });
    await startAgent({ UPTIME_CONCURRENCY: '1' });
    const port = await target();
    const failing = peer.add(
      tcpJob(port, {
        shouldFail: true,
        retryStrategy: retryStrategy({ baseBackoffSeconds: 1, maxRetries: 1 }),
      }),
    );
    await until(() => peer.results.length === 1, 'its first attempt');
    const other = peer.add(tcpJob(port));
    await until(() => finals().length === 2, 'both');
    expect(finals().map(({ jobId }) => jobId)).toEqual([other.jobId, failing.jobId]);
    const renewals = peer.calls
      .filter(({ route }) => route === 'renew')
      .map(({ body }) => JSON.stringify(body));
    expect(renewals.some((body) => body.includes(failing.jobId) && body.includes('"stage":"waiting"'))).toBe(
      true,
    );
  });

  test('sameRegion: false hands the job to another location', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    const strategy = retryStrategy({ sameRegion: false, baseBackoffSeconds: 7 });
    const job = peer.add(tcpJob(await target(), { shouldFail: true, retryStrategy: strategy }));
    await until(() => peer.releases.length === 1 && peer.results.length === 1, 'the hand-back');
    const [attempt] = peer.results;
    expect(attempt).toMatchObject({
      resultType: 'ATTEMPT',
      status: 'failed',
      reason: { code: 'SHOULD_HAVE_FAILED' },
    });
    expect(peer.releases[0]).toEqual({
      jobId: job.jobId,
      leaseToken: job.leaseToken,
      reason: 'retry-elsewhere',
      nextAttempt: 2,
      otherLocation: true,
      firstAttemptAt: attempt?.startedAt,
      notBefore: new Date(Date.parse(attempt?.stoppedAt ?? '') + 7000).toISOString(),
    });
  });

  test('a target that never answers fails at the deadline of the job', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    peer.add(
      tcpJob(await target(true), {
        request: { data: 'x' },
        deadline: new Date(Date.now() + 1000).toISOString(),
      }),
    );
    await until(() => finals().length === 1, 'a final result');
    expect(finals()[0]).toMatchObject({ status: 'failed', hasFailures: true, hasErrors: false });
    expect(finals()[0]?.reason?.owner).toBe('target');
    expect(finals()[0]?.responseTime).toBeLessThan(5000);
  });

  test('a job whose deadline is over is our own fault, not the target’s', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    peer.add(tcpJob(await target(), { deadline: new Date(Date.now() - 1000).toISOString() }));
    await until(() => finals().length === 1, 'a final result');
    expect(finals()[0]).toMatchObject({
      status: 'errored',
      hasErrors: true,
      reason: { code: 'INTERNAL', owner: 'ours' },
    });
  });

  test('a clock that differs from the service’s does not shorten deadlines', async () => {
    peer = await startProtocolPeer({ timeOffsetMs: -3_600_000 });
    await startAgent();
    peer.add(tcpJob(await target(), { deadline: new Date(Date.now() - 3_590_000).toISOString() }));
    await until(() => finals().length === 1, 'a final result');
    expect(finals()[0]?.status).toBe('passed');
  });
});

describe('jobs that cannot be run', () => {
  test.each([
    [
      'of a type that this agent has not',
      { checkType: 'BROWSER' },
      'TYPE_UNAVAILABLE',
      /it runs URL, API, TCP, DNS, ICMP/,
    ],
    ['that are malformed', { request: { port: -1 } }, 'INVALID_JOB', /request\.port/],
  ])('%s are answered', async (_name, more, code, message) => {
    peer = await startProtocolPeer();
    await startAgent();
    const bad = peer.add(tcpJob(80, more));
    const good = peer.add(tcpJob(await target()));
    await until(() => finals().length === 2, 'both');
    const answer = finals().find(({ jobId }) => jobId === bad.jobId);
    expect(answer).toMatchObject({
      status: 'errored',
      hasErrors: true,
      sequenceId: bad['sequenceId'],
      reason: { code, owner: 'ours', message: expect.stringMatching(message) },
    });
    expect(finals().find(({ jobId }) => jobId === good.jobId)?.status).toBe('passed');
  });

  test('unreadable ones are counted and spoil nothing', async () => {
    peer = await startProtocolPeer();
    peer.misbehave('claim', (_request, response) => {
      peer.behave('claim');
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jobs: [null, 7, 'x', {}, { jobId: '../..' }] }));
      return true;
    });
    await startAgent();
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result');
    const text = await (await fetch(`${agent?.healthUrl}/metrics`)).text();
    expect(text).toContain('location_agent_jobs_unreadable_total 5');
  });
});

describe('leases', () => {
  test('a cancelled run is reported as cancelled', async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.1 });
    await startAgent();
    const job = peer.add(tcpJob(await target(true), { request: { data: 'x' } }));
    await until(() => peer.calls.some(({ route }) => route === 'renew'), 'a renewal');
    peer.cancel.add(job.jobId);
    await until(() => finals().length === 1, 'a final result');
    expect(finals()[0]).toMatchObject({
      status: 'cancelled',
      isCancelled: true,
      reason: { code: 'CANCELLED', owner: 'ours' },
    });
  });

  test('cancelling reaches a job that waits between attempts', async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.1 });
    await startAgent();
    const strategy = retryStrategy({ baseBackoffSeconds: 60 });
    const job = peer.add(tcpJob(await target(), { shouldFail: true, retryStrategy: strategy }));
    await until(() => peer.results.length === 1, 'the first attempt');
    peer.cancel.add(job.jobId);
    await until(() => finals().length === 1, 'a final result');
    expect(finals()[0]).toMatchObject({ attempt: 2, attempts: 1, status: 'cancelled' });
  });

  test('a lost lease ends the run without a result', async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.1 });
    await startAgent();
    const job = peer.add(tcpJob(await target(true), { request: { data: 'x' } }));
    await until(() => peer.calls.some(({ route }) => route === 'renew'), 'a renewal');
    peer.lose.add(job.jobId);
    await until(() => lines.some((line) => line.includes('lease lost')), 'the loss');
    const renewals = () => peer.calls.filter(({ route }) => route === 'renew').length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    const then = renewals();
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(renewals()).toBe(then);
    expect(peer.results).toEqual([]);
  });
});

describe('secrets', () => {
  test('no result, and no log of the agent, holds one', async () => {
    peer = await startProtocolPeer();
    await startAgent({ SERVICE_SECRET_OWN: 'the-agents-own-secret' });
    const port = await target();
    servers.splice(0).forEach((server) => server.close());
    const variables = [
      { key: 'TOKEN', value: 'hidden.example.test', locked: false, secret: true },
      { key: 'SERVICE_SECRET_NAME', value: 'named-by-its-name', locked: false, secret: false },
    ];
    const request = { hostname: 'hidden.example.test', port };
    peer.add(tcpJob(port, { request, environmentVariables: variables }));
    await until(() => finals().length === 1, 'a final result');
    const text = JSON.stringify(finals());
    expect(text).toContain('*********');
    for (const secret of ['hidden.example.test', 'the-agents-own-secret', 'named-by-its-name', peerKey]) {
      expect(text + lines.join('')).not.toContain(secret);
    }
  });
});

describe('a service in trouble', () => {
  test.each([
    [
      '500 of the service',
      (response: ServerResponse) => response.writeHead(500).end(JSON.stringify(ownError('x'))),
    ],
    ['a 502 page of a balancer', (response: ServerResponse) => response.writeHead(502).end('<html>')],
    [
      'a portal that answers 200',
      (response: ServerResponse) => response.writeHead(200).end('<html>log in</html>'),
    ],
    [
      'a portal that redirects',
      (response: ServerResponse) => response.writeHead(302, { location: 'http://portal.test' }).end(),
    ],
    [
      'a proxy that wants a password',
      (response: ServerResponse) => response.writeHead(401).end('{"error":"who are you"}'),
    ],
    ['a reset', (response: ServerResponse) => response.socket?.resetAndDestroy()],
    [
      'half an answer',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"items":[');
        setTimeout(() => response.destroy(), 20);
      },
    ],
    ['JSON that is no answer', (response: ServerResponse) => response.writeHead(200).end('{"items":7}')],
    ['too few items', (response: ServerResponse) => response.writeHead(200).end('{"items":[]}')],
  ])('%s instead of results: they are sent again until they arrive', async (_name, misbehave) => {
    peer = await startProtocolPeer();
    await startAgent();
    let times = 0;
    peer.misbehave('results', (_request, response) => {
      times += 1;
      if (times > 2) return false;
      misbehave(response);
      return true;
    });
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result');
    expect(times).toBe(3);
    await until(async () => {
      const text = await (await fetch(`${agent?.healthUrl}/metrics`)).text();
      return text.includes('location_agent_outbox_bytes{place="disk"} 0');
    }, 'an empty outbox');
  });

  test('an answer that is lost makes a duplicate, not a second result', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    const port = await target();
    const job = peer.add(tcpJob(port));
    let first = true;
    peer.misbehave('results', (_request, response, body) => {
      if (!first) return false;
      first = false;
      const entry = peer.jobs.get(job.jobId);
      const [result] = (body as { results: (typeof peer.results)[number][] }).results;
      if (entry !== undefined && result !== undefined) {
        entry.reported.set(`${result.attempt} ${result.leaseToken}`, result);
        entry.state = 'done';
        peer.results.push(result);
      }
      response.destroy();
      return true;
    });
    await until(() => !first, 'the first try');
    await until(() => peer.calls.filter(({ route }) => route === 'results').length === 2, 'the second try');
    expect(finals()).toHaveLength(1);
  });

  test('a claim that hangs, breaks or is refused is asked again', async () => {
    peer = await startProtocolPeer();
    let times = 0;
    peer.misbehave('claim', (_request, response) => {
      times += 1;
      if (times === 1) response.socket?.resetAndDestroy();
      else if (times === 2)
        response.writeHead(429, { 'retry-after': '0.2' }).end(JSON.stringify(ownError('slow down')));
      else if (times === 3) response.writeHead(200).end('garbage');
      else return false;
      return true;
    });
    await startAgent();
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result', 15_000);
  });

  test('an agent that the service has forgotten introduces itself again', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result');
    peer.forgetAgents();
    peer.add(tcpJob(await target()));
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 3, 'all results', 40_000);
    expect(peer.calls.filter(({ route }) => route === 'hello').length).toBeGreaterThan(1);
  }, 60_000);

  test('one result that the service cannot read holds up no other', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    const port = await target();
    const bad = tcpJob(port);
    peer.misbehave('results', (_request, response, body) => {
      if (!JSON.stringify(body).includes(bad.jobId)) return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(ownError('results.0 is odd')));
      return true;
    });
    for (const job of [tcpJob(port), tcpJob(port), bad, tcpJob(port), tcpJob(port)]) peer.add(job);
    await until(() => finals().length === 4, 'the good ones');
    await until(() => peer.events.length === 1, 'the event', 15_000);
    expect(peer.events[0]).toMatchObject({
      message:
        'result refused by the service: set aside: results: the service answered 400: results.0 is odd',
      version: '1.2.3',
      platform: `${process.platform} ${process.arch}`,
      runtime: `node ${process.version}`,
    });
  });

  test('a service that is away at the start is awaited', async () => {
    const first = await startProtocolPeer();
    const { port } = first;
    await first.close();
    peer = first;
    await startAgent();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await status('/-/liveness')).toBe(200);
    peer = await startProtocolPeer({ port });
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result', 15_000);
  });
});

describe('a refused key', () => {
  const refuse = (_request: unknown, response: ServerResponse) => {
    response
      .writeHead(401, { 'content-type': 'application/json' })
      .end(JSON.stringify(ownError('no such key')));
    return true;
  };

  test('ends the agent with one line and 77', async () => {
    peer = await startProtocolPeer();
    peer.misbehave('hello', refuse);
    await startAgent();
    const error = await agent?.failed;
    expect(error).toMatchObject({ code: 'KEY_REFUSED', exitCode: 77 });
    expect(error?.message).toBe(
      `API_KEY was refused by ${peer.url.origin}: set it to an active key of the private location`,
    );
  });

  test('does so later too, and what was not sent is kept', async () => {
    peer = await startProtocolPeer();
    await startAgent();
    peer.misbehave('results', refuse);
    peer.add(tcpJob(await target()));
    expect(await agent?.failed).toMatchObject({ exitCode: 77 });
    await agent?.stop();
    peer.behave();
    await startAgent();
    await until(() => finals().length === 1, 'the result of before');
    expect(finals()[0]?.status).toBe('passed');
  });
});

describe('drain', () => {
  test('running jobs finish, nothing new is taken, readiness goes at once', async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.2 });
    await startAgent();
    const port = await target(true);
    peer.add(tcpJob(port, { request: { data: 'x' }, deadline: new Date(Date.now() + 4000).toISOString() }));
    const waiting = peer.add(
      tcpJob(await target(), { shouldFail: true, retryStrategy: retryStrategy({ baseBackoffSeconds: 60 }) }),
    );
    await until(
      () => peer.results.some(({ jobId }) => jobId === waiting.jobId),
      'the first attempt of the one that waits',
    );
    await until(() => peer.waiting() === 1, 'an open claim');
    const draining = agent?.drain();
    expect(await Promise.all(['/-/readiness', '/-/liveness', '/health'].map((path) => status(path)))).toEqual(
      [503, 200, 200],
    );
    await until(() => peer.releases.length === 1, 'the hand-back');
    const late = peer.add(tcpJob(port));
    expect(await draining).toEqual({ cut: 0 });
    expect(peer.releases.map(({ jobId, nextAttempt, reason }) => [jobId, nextAttempt, reason])).toEqual([
      [waiting.jobId, 2, 'draining'],
      // The claim that stood open brought it.
      [late.jobId, undefined, 'draining'],
    ]);
    expect(finals()).toHaveLength(1);
    expect(finals()[0]).toMatchObject({ status: 'failed' });
  });

  test('the end of the grace period cuts what runs and hands it back', async () => {
    peer = await startProtocolPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '1' });
    const port = await target(true);
    const reached = new Promise((resolve) => servers[0]?.once('connection', resolve));
    const job = peer.add(tcpJob(port, { request: { data: 'x' } }));
    await reached;
    expect(await agent?.drain()).toEqual({ cut: 1 });
    expect(peer.releases).toMatchObject([{ jobId: job.jobId, reason: 'draining', nextAttempt: 1 }]);
    expect(peer.results).toEqual([]);
  });

  test('cancel does so at once', async () => {
    peer = await startProtocolPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    const port = await target(true);
    const reached = new Promise((resolve) => servers[0]?.once('connection', resolve));
    peer.add(tcpJob(port, { request: { data: 'x' } }));
    await reached;
    const draining = agent?.drain();
    agent?.cancel();
    expect(await draining).toEqual({ cut: 1 });
    expect(peer.releases).toHaveLength(1);
  });

  test('cancel does not wait for a service that takes results one by one', async () => {
    peer = await startProtocolPeer({ batchItems: 1 });
    peer.misbehave('results', async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return false;
    });
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    const port = await target();
    for (let count = 0; count < 40; count += 1) peer.add(tcpJob(port));
    await until(() => peer.results.length > 0, 'the first result');
    const began = performance.now();
    const draining = agent?.drain();
    agent?.cancel();
    await draining;
    expect(performance.now() - began).toBeLessThan(8000);
    expect(peer.results.length).toBeLessThan(40);
  });

  test('a job on its way back is renewed no more', async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.1 });
    peer.misbehave('release', async () => {
      await new Promise((resolve) => setTimeout(resolve, 600));
      return false;
    });
    await startAgent();
    peer.add(
      tcpJob(await target(), { shouldFail: true, retryStrategy: retryStrategy({ baseBackoffSeconds: 60 }) }),
    );
    await until(() => peer.calls.some(({ route }) => route === 'renew'), 'a renewal');
    await agent?.drain();
    const routes = peer.calls.map(({ route }) => route);
    // One may have been on its way already.
    expect(routes.slice(routes.indexOf('release')).filter((route) => route === 'renew').length).toBeLessThan(
      2,
    );
    expect(peer.releases).toHaveLength(1);
  });

  test('an idle agent ends quickly', async () => {
    peer = await startProtocolPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    await until(async () => (await status('/-/readiness')) === 200, 'readiness');
    const began = performance.now();
    expect(await agent?.drain()).toEqual({ cut: 0 });
    expect(performance.now() - began).toBeLessThan(3000);
  });

  test('with the service away results stay on disk and go out at the next start', async () => {
    peer = await startProtocolPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '1' });
    peer.misbehave('results', (_request, response) => {
      response.destroy();
      return true;
    });
    peer.add(tcpJob(await target()));
    await until(() => peer.calls.some(({ route }) => route === 'results'), 'a try');
    await agent?.drain();
    expect(peer.results).toEqual([]);
    peer.behave();
    await startAgent();
    await until(() => finals().length === 1, 'the result of before');
  });
});

test('without EXTERNAL_OBSERVABILITY no event leaves', async () => {
  peer = await startProtocolPeer();
  await startAgent({ EXTERNAL_OBSERVABILITY: 'off' });
  peer.misbehave('results', (_request, response) => {
    response.writeHead(400).end(JSON.stringify(ownError('odd')));
    return true;
  });
  peer.add(tcpJob(await target()));
  await until(() => lines.some((line) => line.includes('result refused by the service')), 'the fault');
  await new Promise((resolve) => setTimeout(resolve, 5500));
  expect(peer.events).toEqual([]);
});
