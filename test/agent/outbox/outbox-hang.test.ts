import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DiskDeadline, DiskHangs } from '../../../src/agent/folders/disk-deadline.ts';
import { frozenDiskTests } from '../../helpers/frozen-disk.ts';
import { drainAll, outboxTests, roomy, texts } from './outboxes.ts';

/** The outbox on a disk that hangs. */

const outboxes = outboxTests();
const disk = frozenDiskTests(() => outboxes.closeAll());
const { freeze, thaw } = disk;

async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition() && turns < 500; turns += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(condition()).toBe(true);
}

const open = () => outboxes.open(roomy, join(disk.path ?? '', 'outbox'), Date.now, disk.patienceMs);
const isGood = (outbox: Awaited<ReturnType<typeof open>>) => outbox.status().diskError === null;

test('results are sent from memory, and the write that ends late leaves nothing', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const outbox = await open();
  await outbox.add('"before"');
  expect(await drainAll(outbox)).toEqual(['"before"']);
  freeze();
  await outbox.add('"during"');
  expect(outbox.status()).toMatchObject({ memoryResults: 1, diskError: { name: 'DiskHangs' } });
  expect(outboxes.metrics.outboxDiskErrors).toBe(1);
  await outbox.add('"later"');
  expect(await drainAll(outbox)).toEqual(['"during"', '"later"']);
  thaw();
  await until(() => isGood(outbox));
  await outbox.add('"after"');
  expect(outbox.status()).toMatchObject({ memoryResults: 0, diskResults: 1 });
  // What the late write left would come back with the next agent.
  await outboxes.close(outbox);
  expect(await drainAll(await open())).toEqual(['"after"']);
  expect([outboxes.metrics.resultsDropped, outboxes.metrics.resultsDamaged]).toEqual([0, 0]);
});

test('results that nobody took meanwhile are written once the disk answers', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const outbox = await open();
  const all = Array.from({ length: 20 }, (_, index) => `"${index}"`);
  for (const json of all.slice(0, 10)) await outbox.add(json);
  freeze();
  for (const json of all.slice(10)) await outbox.add(json);
  expect(outbox.status()).toMatchObject({ memoryResults: 10, diskResults: 10 });
  thaw();
  await until(() => isGood(outbox) && outbox.status().diskResults === all.length);
  expect(await drainAll(outbox)).toEqual(all);
  await outboxes.close(outbox);
  expect(await drainAll(await open())).toEqual([]);
  expect(outboxes.metrics.resultsDropped).toBe(0);
});

test('a batch whose acknowledgement hangs is not sent again', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const outbox = await open();
  for (const json of ['"one"', '"two"']) await outbox.add(json);
  const batch = await outbox.nextBatch(1, 1000);
  expect(texts(batch?.payloads)).toEqual(['"one"']);
  freeze();
  await batch?.acknowledge(1);
  expect(outbox.status().diskError).toBeInstanceOf(DiskHangs);
  await outbox.add('"three"');
  // What is on disk waits for the disk; what is in memory does not.
  expect(await drainAll(outbox)).toEqual(['"three"']);
  thaw();
  await until(() => isGood(outbox));
  expect(await drainAll(outbox)).toEqual(['"two"']);
});

test('stopping does not wait for the disk, and counts what it costs', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const outbox = await open();
  await outbox.add('"on disk"');
  freeze();
  await outbox.add('"in memory"');
  await outboxes.close(outbox);
  expect(outboxes.metrics.resultsDropped).toBe(1);
});

test('an agent starts while the disk hangs', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  freeze();
  const outbox = await open();
  expect(outbox.status().diskError).toBeInstanceOf(DiskHangs);
  await outbox.add('"kept"');
  expect(await drainAll(outbox)).toEqual(['"kept"']);
  thaw();
  await until(() => isGood(outbox));
});

test('a result that is set aside does not wait for the disk', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const outbox = await open();
  freeze();
  await outbox.quarantine(Buffer.from('"refused"'));
  expect(outbox.status().diskError).toBeInstanceOf(DiskHangs);
});

test('a folder that is gone is not made again while the disk hangs', async (context) => {
  if (disk.path === null) return context.skip('no right to mount and freeze a file system');
  const outbox = await open();
  rmSync(join(disk.path, 'outbox'), { recursive: true });
  freeze();
  await outbox.add('"kept"');
  expect(outbox.status().diskError).toBeInstanceOf(DiskHangs);
  expect(await drainAll(outbox)).toEqual(['"kept"']);
});

test('nothing new is started while an operation hangs, and its late value is handed over', async () => {
  const deadline = new DiskDeadline(() => 10);
  let finish: (value: number) => void = () => {};
  const late: number[] = [];
  const hanging = new Promise<number>((resolve) => (finish = resolve));
  await expect(deadline.within(hanging, (value) => late.push(value))).rejects.toThrow(DiskHangs);
  expect(() => deadline.check()).toThrow('the disk has not answered for 0.01 s');
  finish(7);
  await hanging;
  expect([late, deadline.hangs]).toEqual([[7], false]);
  expect(await deadline.within(Promise.resolve(1))).toBe(1);
  await expect(deadline.within(Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(deadline.hangs).toBe(false);
});
