import { createServer, type AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import type { RequestOf } from '../../src/protocol/routes.ts';
import { packBundle } from '../../src/script/suite/bundle/pack.ts';
import { hasSuites } from '../helpers/suites/suites.ts';
import { peerKey, startProtocolPeer, suiteJob, tcpJob, type ProtocolPeer } from './link/protocol-peer.ts';

/**
 * Suites in a whole agent: bundle, install, processes and files are real. Their projects need no packages, so no registry:
 * what Playwright itself makes of a project is tested in test/script/suite.
 */

let folder: string;
let peer: ProtocolPeer;
let agent: Agent | null = null;

const registryPassword = 'password-of-the-registry';
const proxyPassword = 'password-of-the-proxy';

async function start(env: Record<string, string> = {}): Promise<void> {
  peer = await startProtocolPeer({ renewSeconds: 0.2, artifactBytes: 10_000_000 });
  // A folder of runtimes makes it an agent that carries scripts; it needs none of them.
  mkdirSync(join(folder, 'runtimes'));
  agent = createAgent({
    config: readAgentConfig({
      API_KEY: peerKey,
      SERVICE_URL: peer.url.href,
      AGENT_HEALTH_PORT: '0',
      SCRIPT_ALLOWED_NETWORKS: '0.0.0.0/0,::/0,127.0.0.0/8,::1',
      AGENT_DATA_DIR: join(folder, 'data'),
      AGENT_SHUTDOWN_GRACE_SECONDS: '1',
      ...env,
    }),
    log: createLog({ level: 'ERROR', scrub: (line) => line }),
    version: '1.2.3',
    runtimesFolder: join(folder, 'runtimes'),
  });
  await agent.start();
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-suites-'));
});
afterEach(async () => {
  await agent?.stop();
  agent = null;
  await peer.close();
  // Whatever came of a run: nothing of it is left.
  expect(readdirSync(join(folder, 'data', 'runs'))).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
  expect(peer.violations).toEqual([]);
});

/** Hands out a suite whose test command is `node test.mjs`. */
async function addSuite(
  key: string,
  { program, suite = {}, ...more }: { program: string; suite?: object; [field: string]: unknown },
) {
  const project = join(folder, key);
  mkdirSync(project);
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'nothing', version: '1.0.0', private: true }),
  );
  writeFileSync(
    join(project, 'package-lock.json'),
    JSON.stringify({ name: 'nothing', version: '1.0.0', lockfileVersion: 3, packages: {} }),
  );
  writeFileSync(join(project, 'test.mjs'), program);
  const to = join(folder, `${key}.tar.gz`);
  const { digest, size } = await packBundle({ folder: project, to });
  peer.bundles.set(key, readFileSync(to));
  return peer.add(
    suiteJob({
      suite: { bundle: { key, digest, size }, testCommand: 'node test.mjs', ...suite },
      ...more,
    }),
  );
}

const renewed = () =>
  peer.calls.flatMap(({ route, body }) => (route === 'renew' ? (body as RequestOf<'renew'>).leases : []));
const told = () => renewed().flatMap(({ log }) => log ?? []);
const within = { timeout: 60_000, interval: 50 };

describe.runIf(hasSuites)('suites in an agent', { timeout: 120_000 }, () => {
  test('a running suite is visible; a cancel stops it within 6 s and its results so far arrive', async () => {
    await start();
    const job = await addSuite('cancelled', {
      program: `
        console.log('test 1 of 20 with ' + process.env.WORD);
        process.on('SIGINT', () => {}).on('SIGTERM', () => {});
        setInterval(() => {}, 1000);`,
      environmentVariables: [{ key: 'WORD', value: 'word-of-the-check', secret: true }],
    });
    await expect.poll(told, within).toContainEqual(expect.stringContaining('test 1 of 20 with *********'));
    await expect.poll(() => renewed().at(-1)?.stage, within).toBe('test');
    peer.cancel.add(job.jobId);
    await expect.poll(() => peer.results.length, within).toBe(1);
    expect(peer.results[0]).toMatchObject({
      status: 'cancelled',
      isCancelled: true,
      hasErrors: false,
      resultType: 'FINAL',
      reason: { code: 'CANCELLED' },
      details: { engine: { name: 'node' }, packageManager: { name: 'npm' } },
    });
    const output = () => peer.artifacts.get('output.log')?.toString() ?? '';
    await expect.poll(output, within).toContain('test 1 of 20 with *********');
    expect(output()).not.toContain('word-of-the-check');
    expect(JSON.stringify([peer.results, peer.calls])).not.toMatch(/word-of-the-check|pl_0123456789/);
  });

  test('installers get the proxy with its password, tests do not, and it is masked everywhere', async () => {
    await start({
      HTTP_PROXY: `http://agent:${proxyPassword}@127.0.0.1:1`,
      NO_PROXY: '127.0.0.1',
      NPM_CONFIG_REGISTRY: `http://agent:${registryPassword}@127.0.0.1:1/`,
    });
    await addSuite('proxied', {
      suite: { installCommand: 'echo "installer has $HTTP_PROXY and key=$API_KEY."; cat "$HOME/.npmrc"' },
      program: `
        import { execSync } from 'node:child_process';
        const home = execSync('grep -rs 127.0.0.1:1 "$HOME" || echo nothing').toString();
        console.log('the home of tests has ' + home);
        const shown = Object.entries(process.env).filter(([name]) => /proxy|api_key/i.test(name));
        console.log('tests have ' + JSON.stringify(shown));`,
    });
    await expect.poll(() => peer.results.length, within).toBe(1);
    await expect
      .poll(() => peer.artifacts.get('output.log')?.toString() ?? '', within)
      .toContain('tests have []');
    const output = peer.artifacts.get('output.log')?.toString() ?? '';
    expect(output).toContain('the home of tests has nothing');
    expect(output).toContain('installer has http://agent:*********@127.0.0.1:1 and key=.');
    const out = JSON.stringify([peer.results, peer.calls]) + output;
    expect(out).not.toContain(proxyPassword);
    expect(out).not.toContain(registryPassword);
    const metrics = await (await fetch(new URL('/metrics', agent?.healthUrl))).text();
    for (const stage of ['bundle', 'install', 'browsers', 'test', 'report'])
      expect(metrics).toContain(`location_agent_suite_stage_seconds_count{stage="${stage}"} 1\n`);
    expect(metrics).toMatch(/location_agent_suite_dependency_cache_total\{result="\w+"\} 1\n/);
    expect(metrics).toContain('location_agent_slots{lane="suite"} 1\n');
  });

  test('uptime jobs run while the suite lane is full; a drain that runs out of time hands the suite back', async () => {
    const target = createServer((socket) => socket.on('error', () => undefined).end());
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    const { port } = target.address() as AddressInfo;
    try {
      await start();
      const program = `console.log('it runs'); setInterval(() => {}, 1000);`;
      const suite = { installCommand: 'true' };
      const first = await addSuite('one', { program, suite });
      const second = await addSuite('two', { program, suite });
      await expect.poll(told, within).toContainEqual(expect.stringContaining('it runs'));
      for (let n = 0; n < 20; n += 1) peer.add(tcpJob(port));
      await expect.poll(() => peer.results.length, within).toBe(20);
      expect(new Set(peer.results.map(({ checkType, status }) => `${checkType} ${status}`))).toEqual(
        new Set(['TCP passed']),
      );
      // One slot: the second suite is left to another agent.
      const states = [first, second].map(({ jobId }) => peer.jobs.get(jobId)?.state);
      expect(new Set(states)).toEqual(new Set(['leased', 'queued']));
      expect(await agent?.drain()).toEqual({ cut: 1 });
      expect(peer.releases).toMatchObject([{ reason: 'draining', nextAttempt: 1 }]);
      expect(peer.results).toHaveLength(20);
    } finally {
      target.close();
    }
  });
});
