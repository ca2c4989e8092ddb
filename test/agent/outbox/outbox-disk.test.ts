import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { drainAll, outboxTests, roomy, texts } from './outboxes.ts';

/** Disks that are full, read-only or immutable: results are sent from memory until the disk is good again. */

const outboxes = outboxTests();
const { open: openOutbox, close: closeOutbox } = outboxes;

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!condition() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(condition()).toBe(true);
}

describe('a disk of our own', () => {
  let disk: string | null = null;
  beforeEach(() => {
    const mount = mkdtempSync(join(tmpdir(), 'small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', mount], { stdio: 'ignore' });
      disk = mount;
    } catch {
      rmSync(mount, { recursive: true });
      disk = null;
    }
  });
  afterEach(async () => {
    await outboxes.closeAll();
    if (disk === null) return;
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  const kilobyte = (index: number) => JSON.stringify({ index, filling: 'x'.repeat(1000) });

  test('keeps results in memory, sends them from there, and uses the disk again when there is room', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(200 * 1024));
    const outbox = await openOutbox(roomy, join(disk, 'outbox'));
    const all = Array.from({ length: 100 }, (_, index) => kilobyte(index));
    for (const json of all) await outbox.add(json);
    expect(outbox.status().diskError).toMatchObject({ code: 'ENOSPC' });
    expect(outboxes.metrics.outboxDiskErrors).toBe(1);
    expect(outbox.status().memoryBytes).toBeGreaterThan(0);
    const sent: string[] = [];
    while (sent.length < 80) {
      const batch = await outbox.nextBatch(10, 2 ** 20);
      if (batch === null) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      sent.push(...texts(batch.payloads));
      await batch.acknowledge(batch.payloads.length);
    }
    rmSync(join(disk, 'ballast'));
    await until(() => outbox.status().diskError === null && outbox.status().memoryBytes === 0);
    // What has just been written is offered a moment later.
    await expect
      .poll(async () => sent.push(...(await drainAll(outbox))), { timeout: 10_000 })
      .toBe(all.length);
    expect(sent).toEqual(all);
    expect(outboxes.metrics.resultsDropped).toBe(0);
  });

  test('at the start, results of an earlier agent are sent, and new ones wait for room', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    const home = join(disk, 'outbox');
    const earlier = await openOutbox(roomy, home);
    await earlier.add('{"of":"the earlier one"}');
    await closeOutbox(earlier);
    const ballast = join(disk, 'ballast');
    expect(() => writeFileSync(ballast, Buffer.alloc(256 * 1024))).toThrow('ENOSPC');

    const outbox = await openOutbox(roomy, home);
    await outbox.add('{"of":"this one"}');
    expect(outbox.status().diskError).toMatchObject({ code: 'ENOSPC' });
    expect(await drainAll(outbox)).toEqual(['{"of":"the earlier one"}', '{"of":"this one"}']);
    expect(outboxes.metrics.resultsDropped).toBe(0);

    await outbox.add('{"of":"this one too"}');
    rmSync(ballast, { force: true });
    await until(() => outbox.status().diskError === null && outbox.status().memoryBytes === 0);
    // Its home has a name on it by now, so that no other agent takes it for abandoned.
    expect(await drainAll(await openOutbox(roomy, home))).toEqual([]);
    expect(await drainAll(outbox)).toEqual(['{"of":"this one too"}']);
  });

  test('drops the oldest, counted, when memory for them is used up', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(240 * 1024));
    const outbox = await openOutbox({ ...roomy, memoryBytes: 20_000 }, join(disk, 'outbox'));
    for (let index = 0; index < 60; index += 1) await outbox.add(kilobyte(index));
    expect(outbox.status().memoryBytes).toBeLessThanOrEqual(20_000);
    rmSync(join(disk, 'ballast'));
    await until(() => outbox.status().diskError === null);
    const left = await drainAll(outbox);
    expect(left.at(-1)).toBe(kilobyte(59));
    expect(outboxes.metrics.resultsDropped).toBe(60 - left.length);
    expect(outboxes.metrics.resultsDropped).toBeGreaterThan(0);
  });

  const remount = (how: 'ro' | 'rw') => execFileSync('mount', ['-o', `remount,${how}`, disk ?? '']);

  test('read-only at the start: it opens, sends from memory, and writes when the disk is good', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    remount('ro');
    const outbox = await openOutbox(roomy, join(disk, 'outbox'));
    expect(outboxes.faults).toEqual([
      expect.stringMatching(/^results cannot be written to disk; they wait in memory.*EROFS/),
    ]);
    await outbox.add('"first"');
    expect(await drainAll(outbox)).toEqual(['"first"']);
    await outbox.add('"second"');
    remount('rw');
    await until(() => outbox.status().diskError === null && outbox.status().diskResults === 1);
    expect(await drainAll(outbox)).toEqual(['"second"']);
  });

  test('results of an earlier agent on a read-only disk are sent once it can be written', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    const earlier = await openOutbox(roomy, disk);
    await earlier.add('"of the earlier one"');
    await closeOutbox(earlier);
    remount('ro');
    const outbox = await openOutbox(roomy, disk);
    expect(await drainAll(outbox)).toEqual([]);
    remount('rw');
    const filled = new Promise<void>((resolve) => outbox.onFilled(() => resolve()));
    await filled;
    expect(await drainAll(outbox)).toEqual(['"of the earlier one"']);
    expect(outboxes.metrics.resultsDamaged).toBe(0);
  }, 20_000);

  test('memory is limited by the number of results too, and says when it has no room for more runs', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    remount('ro');
    const outbox = await openOutbox({ ...roomy, memoryResults: 10 }, disk);
    for (let index = 0; index < 5; index += 1) await outbox.add(`"${index}"`);
    expect(outbox.status().memoryFull).toBe(false);
    await outbox.add('"5"');
    expect(outbox.status().memoryFull).toBe(true);
    for (let index = 6; index < 13; index += 1) await outbox.add(`"${index}"`);
    expect(outboxes.metrics.resultsDropped).toBe(3);
    expect(await drainAll(outbox)).toEqual(Array.from({ length: 10 }, (_, index) => `"${index + 3}"`));
    expect(outbox.status().memoryFull).toBe(false);
    remount('rw');
  });
});

describe('an immutable folder', () => {
  let folder = '';
  let immutable = false;
  // It fails for sockets, which have no attributes, and sets those of everything else.
  const attribute = (how: '+i' | '-i') => void spawnSync('chattr', ['-R', '-f', how, folder]);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'immutable-'));
    attribute('+i');
    try {
      writeFileSync(join(folder, 'trial'), '');
      rmSync(join(folder, 'trial'));
      immutable = false;
    } catch {
      immutable = true;
    }
    attribute('-i');
  });
  afterEach(async () => {
    if (immutable) attribute('-i');
    await outboxes.closeAll();
    rmSync(folder, { recursive: true, force: true });
  });

  test('is noticed when it is repaired, with nothing to write', async (context) => {
    if (!immutable) return context.skip('no right to make folders immutable');
    const outbox = await openOutbox(roomy, folder);
    await outbox.add('"before"');
    expect(await drainAll(outbox)).toEqual(['"before"']);
    attribute('+i');
    await outbox.add('"meanwhile"');
    expect(outbox.status().diskError).toMatchObject({ code: 'EPERM' });
    expect(await drainAll(outbox)).toEqual(['"meanwhile"']);
    expect(outbox.isEmpty()).toBe(true);
    attribute('-i');
    await until(() => outbox.status().diskError === null);
    await outbox.add('"after"');
    expect(outbox.status()).toMatchObject({ diskResults: 1, memoryResults: 0 });
    expect(texts((await outbox.nextBatch(10, 1000))?.payloads)).toEqual(['"after"']);
  });

  test('results that it holds are still sent, and their files are removed after the repair', async (context) => {
    if (!immutable) return context.skip('no right to make folders immutable');
    const outbox = await openOutbox({ ...roomy, segmentBytes: 130 }, folder);
    for (const json of ['"one"', '"two"', '"three"']) await outbox.add(json);
    attribute('+i');
    expect(await drainAll(outbox)).toEqual(['"one"', '"two"', '"three"']);
    await outbox.add('"four"');
    expect(await drainAll(outbox)).toEqual(['"four"']);
    const segments = () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.seg'));
    expect(segments().length).toBeGreaterThan(1);
    attribute('-i');
    await until(() => outbox.status().diskError === null);
    // The open one may stay.
    expect(segments().length).toBeLessThanOrEqual(1);
    expect(await drainAll(outbox)).toEqual([]);
  });

  test('an immutable folder at the start does not stop the agent', async (context) => {
    if (!immutable) return context.skip('no right to make folders immutable');
    attribute('+i');
    const outbox = await openOutbox(roomy, folder);
    await outbox.add('"meanwhile"');
    expect(await drainAll(outbox)).toEqual(['"meanwhile"']);
    attribute('-i');
    await until(() => outbox.status().diskError === null);
  });
});

test('a file in the place of the folder is a mistake of the operator, and no trouble of the disk', async () => {
  const file = join(outboxes.folder, 'a-file');
  writeFileSync(file, '');
  await expect(openOutbox(roomy, join(file, 'outbox'))).rejects.toMatchObject({
    // By the version of Node.
    code: expect.stringMatching(/^(ENOTDIR|EEXIST)$/),
  });
});
