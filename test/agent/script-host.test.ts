import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { probeTypes, uptimeTypes } from '../../src/protocol/check-types.ts';
import type { RequestOf } from '../../src/protocol/routes.ts';
import { peerKey, startProtocolPeer, type ProtocolPeer } from './link/protocol-peer.ts';

/** What an agent says of its runtimes and engines: none, and one that is installed while it runs. */

let folder: string;
let runtimes: string;
let peer: ProtocolPeer;
let agent: Agent | null = null;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'script-host-'));
  runtimes = join(folder, 'runtimes');
  peer = await startProtocolPeer();
});
afterEach(async () => {
  await agent?.stop();
  agent = null;
  await peer.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(env: { [name: string]: string } = {}): Promise<void> {
  agent = createAgent({
    config: readAgentConfig({
      API_KEY: peerKey,
      SERVICE_URL: peer.url.href,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder, 'data'),
      JOB_CONCURRENCY: '3',
      SUITE_CONCURRENCY: '2',
      ...env,
    }),
    log: createLog({ level: 'ERROR', scrub: (line) => line }),
    version: '1.2.3',
    runtimesFolder: runtimes,
    enginesFolder: join(folder, 'engines'),
    runtimesEveryMs: 20,
  });
  await agent.start();
}

/** What a runtime's install leaves, as far as an agent looks at it. */
function install(name: string): void {
  const packages = join(runtimes, name, 'node_modules');
  const node = join(packages, `node-${process.platform}-${process.arch}`);
  mkdirSync(join(node, 'bin'), { recursive: true });
  mkdirSync(join(packages, 'playwright'), { recursive: true });
  symlinkSync(process.execPath, join(node, 'bin', 'node'));
  const write = (path: string, value: object) => writeFileSync(path, JSON.stringify(value));
  write(join(node, 'package.json'), { version: '24.0.0' });
  write(join(packages, 'playwright', 'package.json'), { version: '1.59.1' });
  write(join(runtimes, name, 'package.json'), { dependencies: { playwright: '1.59.1' } });
  write(join(runtimes, name, 'runtime.json'), { name, stage: 'CURRENT', multiStepSupport: true });
  writeFileSync(join(packages, '.runtime-stamp'), '');
}

/** What an install of engines leaves, as far as an agent looks at it. */
function installEngines(version: string): void {
  const packages = join(folder, 'engines', 'node_modules');
  const own = join(packages, `node-22-${process.platform}-${process.arch}`);
  mkdirSync(join(own, 'bin'), { recursive: true });
  rmSync(join(own, 'bin', 'node'), { force: true });
  symlinkSync(process.execPath, join(own, 'bin', 'node'));
  writeFileSync(join(own, 'package.json'), JSON.stringify({ version }));
  writeFileSync(join(packages, '.engines-stamp'), version);
}

const hellos = () =>
  peer.calls.flatMap(({ route, body }) => (route === 'hello' ? [body as RequestOf<'hello'>] : []));
const claimedLanes = () =>
  peer.calls.flatMap(({ route, body }) =>
    route === 'claim' ? Object.keys((body as RequestOf<'claim'>).free) : [],
  );

test.each([
  ['without a runtime announces checks of scripts, so that the service can name what they lack', true],
  ['without code for scripts announces what needs none', false],
])('an agent %s; it asks for none', async (_name, carriesScripts) => {
  if (carriesScripts) mkdirSync(runtimes);
  await start();
  await expect.poll(hellos, { timeout: 10_000 }).toHaveLength(1);
  expect(hellos()[0]).toMatchObject({
    runtimes: [],
    engines: [],
    checkTypes: carriesScripts ? [...probeTypes, 'BROWSER', 'MULTI_STEP'] : uptimeTypes,
  });
  expect(hellos()[0]?.lanes).toEqual({ uptime: 200 });
});

test.each([
  [
    { JOB_CONCURRENCY: '0', SUITE_CONCURRENCY: '0' },
    { lanes: { uptime: 200 }, checkTypes: probeTypes },
  ],
  [
    { UPTIME_CONCURRENCY: '0', SUITE_CONCURRENCY: '0' },
    { lanes: { browser: 3 }, checkTypes: ['BROWSER', 'MULTI_STEP'] },
  ],
  [
    { UPTIME_CONCURRENCY: '0', JOB_CONCURRENCY: '0' },
    { lanes: { suite: 2 }, checkTypes: ['PLAYWRIGHT'] },
  ],
])('with %o an agent announces and claims only %o', async (env, announced) => {
  install('2026.04');
  installEngines('22.23.3');
  await start(env);
  const [lane = ''] = Object.keys(announced.lanes);
  await expect.poll(claimedLanes, { timeout: 10_000 }).toContain(lane);
  const [hello] = hellos();
  expect(hello).toMatchObject({ checkTypes: announced.checkTypes, runtimes: ['2026.04'] });
  expect(hello?.lanes).toEqual(announced.lanes);
  expect(new Set(claimedLanes())).toEqual(new Set([lane]));
});

test('a runtime that is installed while the agent runs is announced, and its lane claims jobs', async () => {
  mkdirSync(runtimes);
  await start();
  await expect.poll(claimedLanes, { timeout: 10_000 }).toEqual(['uptime']);
  const metrics = async () => (await fetch(new URL('/metrics', agent?.healthUrl))).text();
  expect(await metrics()).not.toContain('lane="browser"');
  install('2026.04');
  await expect.poll(claimedLanes, { timeout: 10_000 }).toContain('browser');
  expect(hellos().at(-1)).toMatchObject({
    runtimes: ['2026.04'],
    checkTypes: [...probeTypes, 'BROWSER', 'MULTI_STEP'],
    lanes: { uptime: 200, browser: 3 },
  });
  expect(await metrics()).toMatch(/slots\{lane="browser"\} 3/);
  expect(hellos()[0]?.instanceId).toBe(hellos().at(-1)?.instanceId);
  install('2025.04');
  await expect.poll(() => hellos().at(-1)?.runtimes, { timeout: 10_000 }).toEqual(['2026.04', '2025.04']);
});

test('engines that are installed while the agent runs are announced, and the suite lane claims jobs', async () => {
  mkdirSync(runtimes);
  await start();
  await expect.poll(claimedLanes, { timeout: 10_000 }).toEqual(['uptime']);
  installEngines('22.1.0');
  await expect.poll(claimedLanes, { timeout: 10_000 }).toContain('suite');
  expect(hellos().at(-1)).toMatchObject({
    runtimes: [],
    engines: ['node 22.1.0'],
    // Those of scripts are told for the service to name what they lack.
    checkTypes: [...probeTypes, 'PLAYWRIGHT', 'BROWSER', 'MULTI_STEP'],
    lanes: { uptime: 200, suite: 2 },
  });
  expect(claimedLanes()).not.toContain('browser');
  installEngines('22.2.0');
  await expect.poll(() => hellos().at(-1)?.engines, { timeout: 10_000 }).toEqual(['node 22.2.0']);
  expect(peer.violations).toEqual([]);
});

test('an agent that carries no scripts takes no suites, whatever engines there are', async () => {
  installEngines('22.1.0');
  await start();
  await expect.poll(hellos, { timeout: 10_000 }).toHaveLength(1);
  expect(hellos()[0]).toMatchObject({ engines: [], lanes: { uptime: 200 } });
  expect(hellos()[0]?.checkTypes).not.toContain('PLAYWRIGHT');
});
