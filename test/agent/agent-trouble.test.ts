import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { readAgentConfig } from '../../src/config.ts';
import { ownError, peerKey, tcpJob } from './link/protocol-peer.ts';
import { daemonTests } from './daemon.ts';

/** The daemon while the service fails, is away or refuses the key. */

const daemon = daemonTests();
const { finals, lines, startAgent, startPeer, status, target, until } = daemon;

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
    const peer = await startPeer();
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
      const text = await (await fetch(`${daemon.agent?.healthUrl}/metrics`)).text();
      return text.includes('location_agent_outbox_bytes{place="disk"} 0');
    }, 'an empty outbox');
  });

  test('a call that is never answered is made again before other agents repeat its runs', async () => {
    const leaseSeconds = 9;
    const peer = await startPeer({ leaseSeconds });
    await startAgent();
    let times = 0;
    peer.misbehave('results', () => {
      times += 1;
      return times === 1;
    });
    peer.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result within the lease', leaseSeconds * 1000);
    expect(times).toBe(2);
  });

  test('a lost response causes a duplicate report, not a second result', async () => {
    const peer = await startPeer();
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
    const peer = await startPeer();
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
    const peer = await startPeer();
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
    const peer = await startPeer();
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
        'result refused by the service and set aside: results: the service answered 400: results.0 is odd',
      version: '1.2.3',
      platform: `${process.platform} ${process.arch}`,
      runtime: `node ${process.version}`,
    });
  });

  test('a service that is away at the start is awaited', async () => {
    const first = await startPeer();
    const { port } = first;
    await first.close();
    await startAgent();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await status('/-/liveness')).toBe(200);
    const back = await startPeer({ port });
    back.add(tcpJob(await target()));
    await until(() => finals().length === 1, 'a final result', 15_000);
  });
});

describe('modules that cannot be loaded', () => {
  /** A setting that is read when the modules are loaded. */
  const broken = () => {
    const { folder, peer } = daemon;
    const config = readAgentConfig({
      API_KEY: peerKey,
      SERVICE_URL: peer.url.href,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: folder,
    });
    const referenceTargets = {
      get: () => {
        throw new Error('a module is missing');
      },
    };
    return Object.defineProperty({ ...config }, 'referenceTargets', referenceTargets);
  };

  test('the agent hands its jobs back, and claims no more', async () => {
    const peer = await startPeer();
    await startAgent({}, { config: broken() });
    peer.add(tcpJob(1));
    await until(() => peer.releases.length === 1, 'the hand-back');
    const claims = () => peer.calls.filter(({ route }) => route === 'claim').map(({ body }) => body);
    await until(() => claims().length === 2, 'the next claim');
    // It says only how the agent is.
    expect(claims()).toMatchObject([{ free: { uptime: 200 } }, { free: {}, waitSeconds: 0 }]);
  });

  test('if it does not get better, the agent exits with 2, so that it is restarted', async () => {
    const peer = await startPeer();
    await startAgent({}, { config: broken(), loadEveryMs: 1 });
    peer.add(tcpJob(1));
    expect(await daemon.agent?.failed).toMatchObject({ code: 'MODULES_UNAVAILABLE', exitCode: 2 });
  });
});

describe('a refused key', () => {
  const refuse = (_request: unknown, response: ServerResponse) => {
    response
      .writeHead(401, { 'content-type': 'application/json' })
      .end(JSON.stringify(ownError('no such key')));
    return true;
  };

  test('the agent logs one line and exits with 77', async () => {
    const peer = await startPeer();
    peer.misbehave('hello', refuse);
    await startAgent();
    const error = await daemon.agent?.failed;
    expect(error).toMatchObject({ code: 'KEY_REFUSED', exitCode: 77 });
    expect(error?.message).toBe(
      `API_KEY was refused by ${peer.url.origin}: set it to an active key of the private location`,
    );
  });

  test('the same happens later, and unsent results are kept', async () => {
    const peer = await startPeer();
    await startAgent();
    peer.misbehave('results', refuse);
    peer.add(tcpJob(await target()));
    expect(await daemon.agent?.failed).toMatchObject({ exitCode: 77 });
    await daemon.agent?.stop();
    peer.behave();
    await startAgent();
    await until(() => finals().length === 1, 'the result of before');
    expect(finals()[0]?.status).toBe('passed');
  });
});

test('without EXTERNAL_OBSERVABILITY no event leaves', async () => {
  const peer = await startPeer();
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
