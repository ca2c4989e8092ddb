import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { retryStrategy, tcpJob } from './link/protocol-peer.ts';
import { daemonTests } from './daemon.ts';

/** The daemon’s end: draining, cancelling, handing jobs back. */

const daemon = daemonTests();
const { finals, servers, startAgent, startPeer, status, target, until } = daemon;

describe('drain', () => {
  test('running jobs finish, no new job is claimed, readiness fails at once', async () => {
    const peer = await startPeer({ renewSeconds: 0.2 });
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
    const draining = daemon.agent?.drain();
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

  test('the end of the grace period aborts running jobs and hands them back', async () => {
    const peer = await startPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '1' });
    const port = await target(true);
    const reached = new Promise((resolve) => servers[0]?.once('connection', resolve));
    const job = peer.add(tcpJob(port, { request: { data: 'x' } }));
    await reached;
    expect(await daemon.agent?.drain()).toEqual({ cut: 1 });
    expect(peer.releases).toMatchObject([{ jobId: job.jobId, reason: 'draining', nextAttempt: 1 }]);
    expect(peer.results).toEqual([]);
  });

  test('cancel does so at once', async () => {
    const peer = await startPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    const port = await target(true);
    const reached = new Promise((resolve) => servers[0]?.once('connection', resolve));
    peer.add(tcpJob(port, { request: { data: 'x' } }));
    await reached;
    const draining = daemon.agent?.drain();
    daemon.agent?.cancel();
    expect(await draining).toEqual({ cut: 1 });
    expect(peer.releases).toHaveLength(1);
  });

  test('cancel does not wait for a service that takes results one by one', async () => {
    const peer = await startPeer({ batchItems: 1 });
    peer.misbehave('results', async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return false;
    });
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    const port = await target();
    for (let count = 0; count < 40; count += 1) peer.add(tcpJob(port));
    await until(() => peer.results.length > 0, 'the first result');
    const draining = daemon.agent?.drain();
    daemon.agent?.cancel();
    await draining;
    expect(peer.results.length).toBeLessThan(40);
  });

  test('a job that is being handed back is no longer renewed', async () => {
    const peer = await startPeer({ renewSeconds: 0.1 });
    peer.misbehave('release', async () => {
      await new Promise((resolve) => setTimeout(resolve, 600));
      return false;
    });
    await startAgent();
    peer.add(
      tcpJob(await target(), { shouldFail: true, retryStrategy: retryStrategy({ baseBackoffSeconds: 60 }) }),
    );
    await until(() => peer.calls.some(({ route }) => route === 'renew'), 'a renewal');
    await daemon.agent?.drain();
    const routes = peer.calls.map(({ route }) => route);
    // One may have been on its way already.
    expect(routes.slice(routes.indexOf('release')).filter((route) => route === 'renew').length).toBeLessThan(
      2,
    );
    expect(peer.releases).toHaveLength(1);
  });

  test('an idle agent does not wait for the end of its grace period', async () => {
    await startPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    await until(async () => (await status('/-/readiness')) === 200, 'readiness');
    // The grace period is longer than this test may take.
    expect(await daemon.agent?.drain()).toEqual({ cut: 0 });
  });

  test('held checks go back while another run still goes on', async () => {
    const peer = await startPeer({ protocolMinor: 9 });
    const holder = randomUUID();
    const { checkId, ...job } = tcpJob(await target(), { remainingMs: 60_000 });
    const ran = new Promise((resolve) => servers[0]?.once('connection', resolve));
    const from = Date.now();
    const held = { checkId, holder, locationId: randomUUID(), epoch: 1, from, pauses: [], job };
    const told: { cursor: string | null; isLeaving?: boolean; reportedTo: number | null }[] = [];
    peer.misbehave('claim', (_request, response, body) => {
      const { keeping } = body as { keeping?: (typeof told)[number] };
      if (keeping === undefined) return false;
      told.push(keeping);
      // Without changes it stays open.
      if (keeping.cursor !== null && keeping.isLeaving !== true) return true;
      const list = { isFirst: true, hasMore: false, dropped: [], epoch: 1, cursor: 'c1' };
      const checks = [{ ...held, intervalSeconds: 86_400, offsetSeconds: (from / 1000) % 86_400 }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jobs: [], keeping: { ...list, checks } }));
      return true;
    });
    const results: { dueAt?: string }[] = [];
    peer.misbehave('results', async (_request, response, body) => {
      // Slower than the call that gives the checks back.
      await new Promise((resolve) => setTimeout(resolve, 300));
      const { results: batch } = body as { results: { jobId: string; attempt: number; dueAt?: string }[] };
      results.push(...batch);
      const items = batch.map(({ jobId, attempt }) => ({ jobId, attempt, outcome: 'stored' }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ items }));
      return true;
    });
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '60' });
    const port = await target(true);
    const reached = new Promise((resolve) => servers.at(-1)?.once('connection', resolve));
    const long = peer.add(tcpJob(port, { request: { data: 'x' } }));
    await reached;
    await until(() => told.some(({ cursor }) => cursor === 'c1'), 'the check');
    await ran;
    const draining = daemon.agent?.drain();
    await until(() => told.some(({ isLeaving }) => isLeaving === true), 'the call in which the agent leaves');
    expect(results.map(({ dueAt }) => dueAt)).toEqual([new Date(from).toISOString()]);
    // What is reported includes the run whose result has just been taken.
    expect(told.at(-1)?.reportedTo).toBeGreaterThanOrEqual(from);
    expect(peer.jobs.get(long.jobId)?.state).toBe('leased');
    daemon.agent?.cancel();
    expect(await draining).toEqual({ cut: 1 });
    expect(told.filter(({ isLeaving }) => isLeaving === true)).toHaveLength(1);
  });

  test('with the service away results stay on disk and go out at the next start', async () => {
    const peer = await startPeer();
    await startAgent({ AGENT_SHUTDOWN_GRACE_SECONDS: '1' });
    peer.misbehave('results', (_request, response) => {
      response.destroy();
      return true;
    });
    peer.add(tcpJob(await target()));
    await until(() => peer.calls.some(({ route }) => route === 'results'), 'a try');
    await daemon.agent?.drain();
    expect(peer.results).toEqual([]);
    peer.behave();
    await startAgent();
    await until(() => finals().length === 1, 'the result of before');
  });
});
