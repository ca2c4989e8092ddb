import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { packBundle } from '../../src/script/suite/bundle/pack.ts';
import { noteNoDownloads } from '../helpers/suites/noted-downloads.ts';
import { noDownloads, reachesRegistry, registryVariables } from '../helpers/suites/suite-registry.ts';
import { hasSuites, makeProject } from '../helpers/suites/suites.ts';
import { peerKey, startProtocolPeer, suiteJob, type ProtocolPeer } from './link/protocol-peer.ts';

/**
 * Files of a suite that are larger than a service takes, one of each kind: each is named with its size, and whatever is smaller
 * arrives all the same. The service of this test takes a megabyte, the real one 150.
 */

const runs = hasSuites && (await reachesRegistry());
const limit = 1_000_000;

const spec = `
import { test } from '@playwright/test';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
const large = [
  ['trace', 'trace.zip', 'application/zip', 1_100_000],
  ['video', 'video.webm', 'video/webm', 1_200_000],
  ['screenshot', 'screen.png', 'image/png', 1_300_000],
  ['other', 'data.bin', 'application/octet-stream', 1_400_000],
];
for (const [name, file, contentType, size] of large)
  test('large ' + name, async ({}, info) => {
    const path = info.outputPath(file);
    writeFileSync(path, randomBytes(size));
    await info.attach(name, { path, contentType });
  });
test('small ones', async ({}, info) => {
  for (const [name, file, contentType] of large.slice(1)) {
    const path = info.outputPath(file);
    writeFileSync(path, 'a few bytes');
    await info.attach(name, { path, contentType });
  }
});`;
const config = `import { defineConfig } from '@playwright/test';
export default defineConfig({ workers: 2, retries: 0, use: { trace: 'off' } });`;

describe.runIf(runs)('files that are too large', { timeout: 120_000 }, () => {
  let folder: string;
  let peer: ProtocolPeer;
  let agent: Agent;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'large-files-'));
    peer = await startProtocolPeer({ renewSeconds: 0.2, artifactBytes: limit });
    mkdirSync(join(folder, 'runtimes'));
    await noteNoDownloads(join(folder, 'data'));
    agent = createAgent({
      config: readAgentConfig({
        API_KEY: peerKey,
        SERVICE_URL: peer.url.href,
        AGENT_HEALTH_PORT: '0',
        AGENT_DATA_DIR: join(folder, 'data'),
        AGENT_SHUTDOWN_GRACE_SECONDS: '1',
        ...registryVariables(),
        ...noDownloads,
      }),
      log: createLog({ level: 'ERROR', scrub: (line) => line }),
      version: '1.2.3',
      runtimesFolder: join(folder, 'runtimes'),
    });
    await agent.start();
  }, 60_000);
  afterAll(async () => {
    await agent.stop();
    await peer.close();
    rmSync(folder, { recursive: true, force: true });
    expect(peer.violations).toEqual([]);
  });

  test('each is named with its size, and the rest arrives', async () => {
    const project = makeProject(join(folder, 'project'), {
      'playwright.config.ts': config,
      'a.spec.ts': spec,
    });
    const to = join(folder, 'bundle.tar.gz');
    const { digest, size } = await packBundle({ folder: project, to });
    peer.bundles.set('large', readFileSync(to));
    peer.add(suiteJob({ suite: { bundle: { key: 'large', digest, size } } }));
    await expect.poll(() => peer.results.length, { timeout: 100_000, interval: 50 }).toBe(1);
    const [result] = peer.results;
    const log = result?.log.map(({ msg }) => msg) ?? [];
    expect(result, log.join('\n')).toMatchObject({ status: 'passed', details: { totals: { passed: 5 } } });

    const of = (state: string) =>
      (result?.artifacts ?? []).filter((each) => each.state === state).map(({ name }) => name);
    const refused = (result?.artifacts ?? []).filter(({ state }) => state === 'refused');
    expect(refused.map(({ type, size: bytes }) => [type, type === 'report' ? '' : bytes])).toEqual(
      expect.arrayContaining([
        ['report', ''],
        ['trace', 1_100_000],
        ['video', 1_200_000],
        ['screenshot', 1_300_000],
        ['file', 1_400_000],
      ]),
    );
    // Playwright's own traces hold what was attached, so they are too large as well.
    expect(refused.filter(({ type }) => type !== 'trace')).toHaveLength(4);
    expect(refused.find(({ type }) => type === 'report')?.size).toBeGreaterThan(5_000_000);
    for (const { name, size: bytes } of refused)
      expect(log).toContain(
        `${name} was not sent: it has ${bytes} bytes; an artifact may have at most ${limit}`,
      );
    expect(log.join('\n')).toMatch(/report\.zip has \d+(\.\d)? MiB, more than is accepted/);

    await expect
      .poll(() => [...peer.artifacts.keys()].toSorted(), { timeout: 30_000 })
      .toEqual(of('pending').toSorted());
    expect(of('pending')).toEqual(
      expect.arrayContaining(['output.log', 'report-without-files.zip', 'test-results.json']),
    );
    // With its trace.
    expect(of('pending').filter((name) => name.startsWith('a-small-ones'))).toHaveLength(4);
    for (const [name, bytes] of peer.artifacts) expect(bytes.length, name).toBeLessThanOrEqual(limit);
  });
});
