import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { drainAll, outboxTests } from './outboxes.ts';

/** Segments that an earlier release left: their results are sent, also if the files are damaged. */

const outboxes = outboxTests();
const headerBytes = 32;

/** A segment in format 1: magic and acknowledged end, then frames of length, checksum, time and payload. */
function oldSegment(results: readonly string[], acknowledged = 0): { bytes: Buffer; starts: number[] } {
  const header = Buffer.alloc(headerBytes);
  header.write('LAOUTBX1');
  const parts = [header];
  const starts: number[] = [];
  let size = headerBytes;
  for (const json of results) {
    const payload = Buffer.from(json);
    const head = Buffer.alloc(16);
    head.writeUInt32LE(payload.length, 0);
    head.writeUInt32LE(crc32(payload), 4);
    head.writeDoubleLE(1_790_000_000_000, 8);
    starts.push(size);
    size += 16 + payload.length;
    parts.push(head, payload);
  }
  header.writeBigUInt64LE(BigInt(starts[acknowledged] ?? size), 8);
  return { bytes: Buffer.concat(parts), starts };
}

const all = Array.from({ length: 100 }, (_, number) => JSON.stringify({ number, text: 'ä€' }));

async function sentOf(bytes: Buffer): Promise<string[]> {
  outboxes.leave(bytes);
  const outbox = await outboxes.open();
  const sent = await drainAll(outbox, 7);
  expect(outbox.isEmpty()).toBe(true);
  expect(outboxes.segments()).toEqual([]);
  return sent;
}

test('unacknowledged results are sent in order, before new ones', async () => {
  outboxes.leave(oldSegment(all, 3).bytes);
  const outbox = await outboxes.open();
  await outbox.add('"new"');
  expect(await drainAll(outbox, 7)).toEqual([...all.slice(3), '"new"']);
  expect(outboxes.faults).toEqual([]);
});

test('what this release has sent of such a segment is not sent again after a restart', async () => {
  outboxes.leave(oldSegment(all).bytes);
  const first = await outboxes.open();
  await (await first.nextBatch(10, 2 ** 20))?.acknowledge(10);
  await outboxes.close(first);
  expect(await drainAll(await outboxes.open())).toEqual(all.slice(10));
});

test('a header that is damaged in any byte costs nothing', async () => {
  const { bytes: whole } = oldSegment(all);
  for (let at = 0; at < headerBytes; at += 1) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    expect(await sentOf(bytes), `byte ${at}`).toEqual(all);
    expect(outboxes.metrics.resultsDamaged).toBe(0);
    await outboxes.startOver();
  }
}, 60_000);

test('a damaged length and a part of zeros cost the results in it, and the rest is found again', async () => {
  const { bytes, starts } = oldSegment(all);
  bytes.writeUInt32LE(0xffffffff, starts[5] ?? 0);
  bytes.fill(0, starts[20], starts[22]);
  expect(await sentOf(bytes)).toEqual(all.filter((_, index) => index !== 5 && index !== 20 && index !== 21));
  // This format does not number its results, so each damaged place counts as one.
  expect(outboxes.metrics.resultsDamaged).toBe(2);
  expect(outboxes.faults).toHaveLength(2);
});

test.each([1, 5, 20])('a last frame that lacks %d bytes was never called safe', async (missing) => {
  const { bytes } = oldSegment(all);
  expect(await sentOf(bytes.subarray(0, bytes.length - missing))).toEqual(all.slice(0, -1));
  expect(outboxes.faults).toEqual([]);
});

test.each([8, 20, 32])('a new segment that was cut after %d bytes lost nothing', async (size) => {
  expect(await sentOf(oldSegment([]).bytes.subarray(0, size))).toEqual([]);
  expect(outboxes.faults).toEqual([]);
});
