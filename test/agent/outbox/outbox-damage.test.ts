import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asideLimits, createAside } from '../../../src/agent/outbox/aside.ts';
import { drainAll, outboxTests, seeded } from './outboxes.ts';

/** Damage of segments: what can be found is sent, in order and once; what is lost is counted, set aside and reported. */

const outboxes = outboxTests();
const headerBytes = 96;
const frameBytes = 28;

/** The bytes of a segment with these results. */
async function segmentOf(results: readonly string[]): Promise<Buffer> {
  const outbox = await outboxes.open();
  await Promise.all(results.map((json) => outbox.add(json)));
  await outboxes.close(outbox);
  const [file] = outboxes.segments();
  const bytes = readFileSync(file ?? '');
  await outboxes.startOver();
  return bytes;
}

/** What an agent sends of this segment. */
async function sentOf(bytes: Buffer): Promise<string[]> {
  outboxes.leave(bytes);
  const outbox = await outboxes.open();
  const sent = await drainAll(outbox);
  expect(outbox.isEmpty()).toBe(true);
  expect(outboxes.segments()).toEqual([]);
  return sent;
}

const inOrder = (all: readonly string[], sent: readonly string[]) =>
  expect(sent).toEqual(all.filter((json) => sent.includes(json)));
const numbers = (count: number, filling = 0) =>
  Array.from({ length: count }, (_, number) => JSON.stringify({ number, filling: 'x'.repeat(filling) }));

test('a flipped bit in any byte costs at most one result, and each loss is counted', async () => {
  const all = numbers(4);
  const whole = await segmentOf(all);
  const random = seeded(4711);
  let lossless = 0;
  for (let at = 0; at < whole.length; at += 1) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
    const sent = await sentOf(bytes);
    inOrder(all, sent);
    const lost = all.length - sent.length;
    expect(lost, `byte ${at}`).toBeLessThanOrEqual(1);
    expect(outboxes.metrics.resultsDamaged, `byte ${at}`).toBe(lost);
    expect(outboxes.faults.length).toBe(lost);
    if (lost === 0) lossless += 1;
    await outboxes.startOver();
  }
  // Headers, marks and lengths.
  expect(lossless).toBe(headerBytes + 4 * (4 + 4 + 4));
}, 120_000);

test('a segment that is cut at any byte counts the results that it lost', async () => {
  const all = numbers(4);
  const whole = await segmentOf(all);
  for (let size = 0; size < whole.length; size += 1) {
    const sent = await sentOf(whole.subarray(0, size));
    expect(sent).toEqual(all.slice(0, sent.length));
    // Without a copy of the header, nobody knows how many there were.
    const counted = size < headerBytes / 2 ? 1 : all.length - sent.length;
    expect(outboxes.metrics.resultsDamaged, `${size} bytes`).toBe(counted);
    expect(outboxes.faults).toHaveLength(1);
    await outboxes.startOver();
  }
}, 120_000);

test('a page of zeros costs the results that it touches, and no other', async () => {
  const all = numbers(64, 500);
  const whole = await segmentOf(all);
  const frame = (whole.length - headerBytes) / all.length;
  for (let page = 0; page * 4096 < whole.length; page += 1) {
    const bytes = Buffer.from(whole);
    bytes.fill(0, page * 4096, Math.min(bytes.length, (page + 1) * 4096));
    const sent = await sentOf(bytes);
    inOrder(all, sent);
    expect(sent.length).toBeGreaterThanOrEqual(all.length - Math.ceil(4096 / Math.floor(frame)) - 1);
    if (page > 0 || sent.length < all.length)
      expect(outboxes.metrics.resultsDamaged, `page ${page}`).toBe(all.length - sent.length);
    await outboxes.startOver();
  }
}, 60_000);

test('random damage: what is sent is in order and once, and what is missing is counted', async () => {
  const all = numbers(30, 40);
  const whole = await segmentOf(all);
  const random = seeded(20_261);
  const place = () => headerBytes + Math.floor(random() * (whole.length - headerBytes));
  const kinds: ((bytes: Buffer) => Buffer)[] = [
    // Noise over a part.
    (bytes) => {
      const from = place();
      for (let at = from; at < Math.min(bytes.length, from + 200); at += 1) bytes[at] = random() * 256;
      return bytes;
    },
    // A part is missing.
    (bytes) => {
      const from = place();
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + Math.floor(random() * 300))]);
    },
    // A part is there twice.
    (bytes) => {
      const from = place();
      const to = from + Math.floor(random() * 300);
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
    },
    // A part of it lies over another part.
    (bytes) => {
      const from = place();
      bytes.copy(bytes, place(), from, from + Math.floor(random() * 300));
      return bytes;
    },
    // Foreign bytes in the middle.
    (bytes) => {
      const from = place();
      return Buffer.concat([bytes.subarray(0, from), Buffer.alloc(100, 'foreign'), bytes.subarray(from)]);
    },
  ];
  for (let round = 0; round < 150; round += 1) {
    const damage = kinds[round % kinds.length];
    const sent = await sentOf(damage?.(Buffer.from(whole)) ?? whole);
    inOrder(all, sent);
    expect(new Set(sent).size, `round ${round}`).toBe(sent.length);
    expect(sent.length, `round ${round}`).toBeGreaterThan(all.length - 8);
    expect(outboxes.metrics.resultsDamaged, `round ${round}`).toBe(all.length - sent.length);
    await outboxes.startOver();
  }
}, 60_000);

test.each([0, 12])(
  'a damaged length, with its copy or without (%d), costs at most its own result',
  async (second) => {
    const all = numbers(1000);
    const bytes = await segmentOf(all);
    const at = headerBytes + frameBytes + (all[0]?.length ?? 0);
    bytes.writeUInt32LE(0xffffffff, at + 4);
    if (second > 0) bytes.writeUInt32LE(7, at + second);
    const sent = await sentOf(bytes);
    expect(sent).toEqual(second > 0 ? all.filter((_, index) => index !== 1) : all);
    expect(outboxes.metrics.resultsDamaged).toBe(second > 0 ? 1 : 0);
  },
);

test('without both headers every result is still sent', async () => {
  const all = numbers(1000);
  const bytes = await segmentOf(all);
  bytes.fill(0x55, 0, headerBytes);
  expect(await sentOf(bytes)).toEqual(all);
  expect(outboxes.metrics.resultsDamaged).toBe(0);
  expect(outboxes.metrics.outboxDamaged).toBe(1);
  expect(outboxes.faults).toEqual([
    `outbox segment is damaged: 0 results are lost: ${headerBytes} bytes at 0 are damaged`,
  ]);
});

test('frames that the header does not count yet, and a write that a crash cut short, cost nothing', async () => {
  const all = numbers(5);
  const bytes = await segmentOf(all);
  const header = (await segmentOf(all.slice(0, 3))).subarray(0, headerBytes);
  header.copy(bytes);
  const last = frameBytes + (all[4]?.length ?? 0);
  for (let missing = 1; missing <= last; missing += 1) {
    expect(await sentOf(bytes.subarray(0, bytes.length - missing))).toEqual(all.slice(0, 4));
    expect(outboxes.faults).toEqual([]);
    await outboxes.startOver();
  }
});

test('space that was reserved and never filled is no damage', async () => {
  const all = numbers(3);
  expect(await sentOf(Buffer.concat([await segmentOf(all), Buffer.alloc(8192)]))).toEqual(all);
  expect(outboxes.faults).toEqual([]);
});

test('a file that is no segment is set aside, and the others are sent', async () => {
  const all = numbers(3);
  const bytes = await segmentOf(all);
  outboxes.leave(Buffer.from('not an outbox'), '000000000000000-000000-xxxxxxxx.seg');
  expect(await sentOf(bytes)).toEqual(all);
  expect(outboxes.metrics.outboxDamaged).toBe(1);
  const kept = join(outboxes.folder, 'damaged', '000000000000000-000000-xxxxxxxx.seg.damaged');
  expect(readFileSync(kept, 'utf8')).toBe('not an outbox');
});

test('what a running agent finds damaged in its own segment is counted too', async () => {
  const outbox = await outboxes.open();
  const all = numbers(3);
  await Promise.all(all.map((json) => outbox.add(json)));
  const [file = ''] = outboxes.segments();
  const bytes = readFileSync(file);
  const second = headerBytes + frameBytes + (all[0]?.length ?? 0);
  bytes.fill(0, second, second + 40);
  writeFileSync(file, bytes);
  expect(await drainAll(outbox)).toEqual([all[0], all[2]]);
  expect(outboxes.metrics.resultsDamaged).toBe(1);
  const [kept = ''] = readdirSync(join(outboxes.folder, 'damaged'));
  expect(kept).toMatch(new RegExp(`\\.seg-${second}\\.damaged$`));
});

test('the folder of damaged parts is limited by files, bytes and age', async () => {
  let time = Date.now();
  const aside = createAside(outboxes.folder, () => time);
  const folder = join(outboxes.folder, 'damaged');
  await aside.keep('old', Buffer.from('x'));
  await aside.keep('large', Buffer.alloc(2 * asideLimits.fileBytes));
  expect(readFileSync(join(folder, 'large'))).toHaveLength(asideLimits.fileBytes);
  time += asideLimits.ageMs - 1000;
  for (let count = 0; count < 16; count += 1) await aside.keep(`new-${count}`, Buffer.alloc(2 ** 20));
  expect(existsSync(join(folder, 'large'))).toBe(false);
  expect(readdirSync(folder)).toHaveLength(16);
  time += asideLimits.ageMs + 1000;
  await aside.pruneHourly();
  expect(readdirSync(folder)).toEqual([]);
  for (let count = 0; count < asideLimits.files; count += 1) {
    writeFileSync(join(folder, String(count)), 'x');
    utimesSync(join(folder, String(count)), time / 1000 - 1, time / 1000 - 1);
  }
  await aside.keep('one more', Buffer.from('x'));
  expect(readdirSync(folder)).toHaveLength(asideLimits.files);
  expect(existsSync(join(folder, 'one more'))).toBe(true);
});
