import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { tcpJob } from './link/protocol-peer.ts';
import { daemonTests } from './daemon.ts';

/** The daemon on a disk that is full or read-only: monitoring goes on, and stops only when results have no way left. */

let disk: string | null = null;
const daemon = daemonTests();
const { finals, startAgent, startPeer, target, until } = daemon;
// Hooks run in reverse order: this one runs before the folder is removed.
afterEach(async () => {
  await daemon.agent?.stop();
  if (disk !== null) execFileSync('umount', ['-l', disk]);
  disk = null;
});

/** A small disk; null without the right to mount one. */
function smallDisk(): string | null {
  const mount = join(daemon.folder, 'disk');
  mkdirSync(mount);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', mount], { stdio: 'ignore' });
  } catch {
    return null;
  }
  return (disk = mount);
}

type Health = { guards: { name: string; message: string }[] };
async function guards(): Promise<Map<string, string>> {
  const health = (await (await fetch(`${daemon.agent?.healthUrl}/health`)).json()) as Health; // its own page
  return new Map(health.guards.map(({ name, message }) => [name, message]));
}
const isOnDisk = async () =>
  (await (await fetch(`${daemon.agent?.healthUrl}/metrics`)).text()).includes(
    'location_agent_guard{guard="disk"} 0',
  );

test('on a full disk every run is done and sent, and the service learns of it', async (context) => {
  const data = smallDisk();
  if (data === null) return context.skip('no right to mount a small disk');
  expect(() => writeFileSync(join(data, 'ballast'), Buffer.alloc(512 * 1024))).toThrow('ENOSPC');
  const peer = await startPeer();
  await startAgent({ AGENT_DATA_DIR: join(data, 'agent') });
  const port = await target();
  // One after the other, so that an agent that stops claiming at the first result fails here.
  for (let count = 1; count <= 5; count += 1) {
    peer.add(tcpJob(port));
    await until(() => finals().length === count, `result ${count}`);
  }
  await until(async () => (await guards()).has('disk'), 'the guard');
  expect((await guards()).get('disk')).toMatch(/^results cannot be written to disk \(ENOSPC.*wait in memory/);
  await until(() => peer.events.length > 0, 'the event', 15_000);
  expect(peer.events[0]).toMatchObject({
    message: expect.stringMatching(/^results cannot be written to disk; they wait in memory.*ENOSPC/),
  });
}, 40_000);

test('with a read-only disk the agent starts, runs, and uses the disk once it is good', async (context) => {
  const data = smallDisk();
  if (data === null) return context.skip('no right to mount a small disk');
  execFileSync('mount', ['-o', 'remount,ro', data]);
  const peer = await startPeer();
  await startAgent({ AGENT_DATA_DIR: join(data, 'agent') });
  const port = await target();
  peer.add(tcpJob(port));
  await until(() => finals().length === 1, 'the result');
  execFileSync('mount', ['-o', 'remount,rw,size=200m', data]);
  // Nothing is written meanwhile: the agent tries the disk by itself.
  await until(isOnDisk, 'the end of the guard', 15_000);
  peer.add(tcpJob(port));
  await until(() => finals().length === 2, 'the next result');
}, 40_000);

test('without the disk and the service claiming stops, and goes on when the service is back', async (context) => {
  const data = smallDisk();
  if (data === null) return context.skip('no right to mount a small disk');
  execFileSync('mount', ['-o', 'remount,ro', data]);
  const peer = await startPeer();
  await startAgent(
    { AGENT_DATA_DIR: join(data, 'agent') },
    { outboxLimits: { segmentBytes: 2 ** 20, capBytes: 2 ** 26, memoryBytes: 2 ** 20, memoryResults: 6 } },
  );
  const port = await target();
  peer.misbehave('results', (_request, response) => {
    response.writeHead(503).end();
    return true;
  });
  const inMemory = async () => {
    const page = await (await fetch(`${daemon.agent?.healthUrl}/metrics`)).text();
    return Number(/outbox_results\{place="memory"\} (\d+)/.exec(page)?.[1]);
  };
  for (let count = 1; count <= 4; count += 1) {
    peer.add(tcpJob(port));
    await until(async () => (await inMemory()) === count, `result ${count} in memory`);
  }
  // A claim that was open before may bring one more.
  peer.add(tcpJob(port));
  await until(
    async () => peer.waiting() === 0 && (await guards()).has('outbox'),
    'the end of claims',
    15_000,
  );
  const late = peer.add(tcpJob(port));
  expect(peer.jobs.get(late.jobId)?.state).toBe('queued');
  expect((await guards()).get('outbox')).toContain('neither the disk nor the service takes them');
  peer.behave();
  await until(() => finals().length === 6, 'all results', 30_000);
}, 60_000);
