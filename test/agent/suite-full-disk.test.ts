import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgent, type Agent } from '../../src/agent/agent.ts';
import { readAgentConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { packBundle } from '../../src/script/suite/bundle/pack.ts';
import { noDownloads } from '../helpers/suites/suite-registry.ts';
import { hasSuites } from '../helpers/suites/suites.ts';
import { peerKey, startProtocolPeer, suiteJob, type ProtocolPeer } from './link/protocol-peer.ts';

/** A suite that fills the disk that holds the agent's own data: the projects need no packages, so no registry. */

const place = mkdtempSync(join(tmpdir(), 'full-disk-'));
const data = join(place, 'data');
mkdirSync(data);
const mounted =
  hasSuites && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=300m', 'none', data]).status === 0;
if (!mounted) process.stderr.write('skipped here: suites on a full disk, which need a right to mount\n');

describe.runIf(mounted)('a suite that fills the disk of its agent', { timeout: 60_000 }, () => {
  let peer: ProtocolPeer;
  let agent: Agent;

  beforeAll(async () => {
    peer = await startProtocolPeer({ renewSeconds: 0.2, artifactBytes: 1_000_000 });
    mkdirSync(join(place, 'runtimes'));
    agent = createAgent({
      config: readAgentConfig({
        API_KEY: peerKey,
        SERVICE_URL: peer.url.href,
        AGENT_HEALTH_PORT: '0',
        AGENT_DATA_DIR: data,
        AGENT_SHUTDOWN_GRACE_SECONDS: '1',
        ...noDownloads,
      }),
      log: createLog({ level: 'ERROR', scrub: (line) => line }),
      version: '1.2.3',
      runtimesFolder: join(place, 'runtimes'),
    });
    await agent.start();
  }, 60_000);
  afterAll(async () => {
    await agent.stop();
    await peer.close();
    expect(peer.violations).toEqual([]);
  });

  /** The result of a suite with this command, and the lines of its log. */
  async function resultOf(name: string, testCommand: string) {
    const project = join(place, name);
    mkdirSync(project);
    const manifest = { name: 'nothing', version: '1.0.0', private: true };
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    const lock = { ...manifest, lockfileVersion: 3, packages: {} };
    writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lock));
    const to = join(place, `${name}.tar.gz`);
    const { digest, size } = await packBundle({ folder: project, to });
    peer.bundles.set(name, readFileSync(to));
    const before = peer.results.length;
    // There are no packages.
    const installCommand = 'true';
    peer.add(suiteJob({ suite: { bundle: { key: name, digest, size }, installCommand, testCommand } }));
    await expect.poll(() => peer.results.length, { timeout: 40_000, interval: 50 }).toBe(before + 1);
    const result = peer.results.at(-1);
    return { result, log: (result?.log ?? []).map(({ msg }) => msg).join('\n') };
  }

  test('it has its result, and the next one runs as ever', async () => {
    const full = await resultOf('full', 'dd if=/dev/zero of=big bs=1M; echo "dd said $?"; sleep 1; exit 3');
    expect(full.log).toContain('No space left on device');
    expect(full.log).toContain('dd said 1');
    const message = 'the disk was full while the suite ran';
    expect(full.result, full.log).toMatchObject({ reason: { code: 'DISK_FULL', owner: 'ours', message } });
    // No room for files, and no word of a check that failed.
    expect(full.result?.status).toBe('errored');
    const after = await resultOf('after', 'echo is here; exit 4');
    expect(after.log).toContain('is here');
    expect(after.result?.reason).toMatchObject({ code: 'SCRIPT_THREW' });
    // With its file; and nothing stays.
    await expect.poll(() => [...peer.artifacts.keys()], { timeout: 20_000 }).toContain('output.log');
    const runs = readdirSync(join(data, 'runs')).flatMap((home) => readdirSync(join(data, 'runs', home)));
    expect(runs.filter((name) => name.startsWith('run-'))).toEqual([]);
  });
});

// Also where nothing was mounted.
afterAll(() => {
  if (mounted) execFileSync('umount', ['-l', data]);
  rmSync(place, { recursive: true, force: true });
});
