import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../../helpers/build.ts';
import { drainAll, outboxTests, roomy, texts } from './outboxes.ts';

const outboxes = outboxTests();
const { open: openOutbox, close: closeOutbox, segments } = outboxes;

test('results are sent in order and leave no file', async () => {
  const outbox = await openOutbox();
  const all = Array.from({ length: 50 }, (_, index) => JSON.stringify({ index, text: 'ä€😀' }));
  await Promise.all(all.map((json) => outbox.add(json)));
  expect(outbox.isEmpty()).toBe(false);
  expect(await drainAll(outbox, 7)).toEqual(all);
  expect(outbox.isEmpty()).toBe(true);
  await closeOutbox(outbox);
  expect(readdirSync(outboxes.folder)).toEqual([]);
});

test('results that finish at the same time share a write', async () => {
  const outbox = await openOutbox();
  await Promise.all(Array.from({ length: 1000 }, (_, index) => outbox.add(`{"index":${index}}`)));
  expect(segments()).toHaveLength(1);
  expect((await outbox.nextBatch(500, 2 ** 24))?.payloads).toHaveLength(500);
});

test('a batch is bounded in items and bytes, but holds at least one', async () => {
  const outbox = await openOutbox();
  for (const size of [10, 400, 10, 10]) await outbox.add(`"${'x'.repeat(size)}"`);
  const sizes: number[] = [];
  for (;;) {
    const batch = await outbox.nextBatch(2, 100);
    if (batch === null) break;
    sizes.push(batch.payloads.length);
    await batch.acknowledge(batch.payloads.length);
  }
  expect(sizes).toEqual([1, 1, 2]);
});

test('unacknowledged results are sent again', async () => {
  const outbox = await openOutbox();
  for (const json of ['1', '2', '3']) await outbox.add(json);
  const first = await outbox.nextBatch(10, 1000);
  await first?.acknowledge(1);
  const second = await outbox.nextBatch(10, 1000);
  expect(texts(second?.payloads)).toEqual(['2', '3']);
  await second?.acknowledge(0);
  expect(await drainAll(outbox)).toEqual(['2', '3']);
});

test('status has bytes and age', async () => {
  const outbox = await openOutbox();
  expect(outbox.status()).toEqual({
    diskBytes: 0,
    memoryBytes: 0,
    diskResults: 0,
    memoryResults: 0,
    oldestAt: null,
    memoryFull: false,
    diskError: null,
  });
  const before = Date.now();
  await outbox.add('"x"');
  const { diskBytes, oldestAt } = outbox.status();
  expect(diskBytes).toBe(28 + 3);
  expect(oldestAt).toBeGreaterThanOrEqual(before);
});

describe('after a restart', () => {
  test('results of an earlier agent are sent first, in order', async () => {
    const small = { ...roomy, segmentBytes: 200 };
    const first = await openOutbox(small);
    for (let index = 0; index < 20; index += 1) await first.add(`{"index":${index}}`);
    const batch = await first.nextBatch(3, 1000);
    await batch?.acknowledge(batch.payloads.length);
    await closeOutbox(first);
    const second = await openOutbox(small);
    await second.add('{"index":20}');
    const sent = await drainAll(second);
    expect(sent).toEqual(Array.from({ length: 18 }, (_, index) => `{"index":${index + 3}}`));
    await closeOutbox(second);
    expect(readdirSync(outboxes.folder)).toEqual([]);
  });

  test("two running agents do not touch each other's results", async () => {
    const first = await openOutbox();
    await first.add('"of the first"');
    const second = await openOutbox();
    await second.add('"of the second"');
    expect(await drainAll(second)).toEqual(['"of the second"']);
    expect(await drainAll(first)).toEqual(['"of the first"']);
  });

  test('an owner that cannot be inspected counts as dead after a period of silence', async () => {
    const home = join(outboxes.folder, 'elsewhere');
    const first = await openOutbox();
    await first.add('"left"');
    await closeOutbox(first);
    // As if it belonged to an agent in another container.
    const [left] = segments();
    mkdirSync(home);
    writeFileSync(join(home, '000000000000001-000001-elsewher.seg'), readFileSync(left ?? ''));
    rmSync(left ?? '');
    const owner = { boot: 'another machine', namespace: 'pid:[1]', pid: 1, startedAt: '1' };
    writeFileSync(join(home, 'owner.json'), JSON.stringify(owner));
    writeFileSync(join(home, 'alive'), '');
    const early = await openOutbox();
    expect(await drainAll(early)).toEqual([]);
    // An agent that is there already notices with its next beat: a run whose lease ends meanwhile would be done again.
    const filled = new Promise<void>((resolve) => early.onFilled(() => resolve()));
    const silent = new Date(Date.now() - 60_000);
    utimesSync(join(home, 'alive'), silent, silent);
    await filled;
    expect(await drainAll(early)).toEqual(['"left"']);
    expect(existsSync(home)).toBe(false);
  }, 30_000);
});

describe('bounds', () => {
  test('above the limit the oldest results are dropped, counted and logged', async () => {
    const outbox = await openOutbox({ segmentBytes: 400, capBytes: 2000, memoryBytes: 2 ** 20 });
    for (let index = 0; index < 100; index += 1) await outbox.add(JSON.stringify({ index }));
    const left = await drainAll(outbox);
    expect(left.at(-1)).toBe('{"index":99}');
    expect(left.length).toBeLessThan(50);
    expect(left).toEqual(left.map((_, at) => JSON.stringify({ index: 100 - left.length + at })));
    expect(outboxes.metrics.resultsDropped).toBe(100 - left.length);
    expect([...outboxes.dropped, ...left]).toEqual(
      Array.from({ length: 100 }, (_, index) => JSON.stringify({ index })),
    );
    expect(outboxes.faults[0]).toMatch(
      /^results dropped: \d+ results dropped: the outbox reached its size cap$/,
    );
  });

  test('a batch that is being sent is not dropped', async () => {
    const outbox = await openOutbox({ segmentBytes: 300, capBytes: 900, memoryBytes: 2 ** 20 });
    for (let index = 0; index < 5; index += 1) await outbox.add(JSON.stringify({ index }));
    const batch = await outbox.nextBatch(2, 1000);
    for (let index = 5; index < 60; index += 1) await outbox.add(JSON.stringify({ index }));
    expect(texts(batch?.payloads)).toEqual(['{"index":0}', '{"index":1}']);
    await batch?.acknowledge(2);
    expect((await drainAll(outbox)).slice(0, 3)).toEqual(['{"index":2}', '{"index":3}', '{"index":4}']);
  });

  test('a refused result is kept for a person', async () => {
    const outbox = await openOutbox();
    await outbox.quarantine(Buffer.from('{"odd":1}'));
    await outbox.quarantine(Buffer.from('{"odd":2}'));
    const kept = join(outboxes.folder, 'damaged');
    const names = readdirSync(kept).sort();
    expect(names.map((name) => readFileSync(join(kept, name), 'utf8'))).toEqual(['{"odd":1}', '{"odd":2}']);
    expect(names[0]).toMatch(/^refused-\d+-1-instance\.json$/);
  });
});

describe('kill -9 in the middle of writing', () => {
  let dist = '';
  beforeAll(async () => {
    dist = dirname(await builtProgram());
  }, 180_000);

  test.each([150, 300, 450])('after %d ms of writing everything called safe is there', async (afterMs) => {
    const writer = join(import.meta.dirname, 'outbox-writer.mjs');
    const child = spawn(process.execPath, [writer, dist, outboxes.folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let told = '';
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => {
        if (told === '') setTimeout(() => child.kill('SIGKILL'), afterMs);
        told += String(chunk);
      });
      child.on('close', () => resolve());
    });
    const safe = told.slice(0, told.lastIndexOf('\n')).split('\n').map(Number);
    expect(safe.length).toBeGreaterThan(20);
    const outbox = await openOutbox();
    const found = (await drainAll(outbox)).map((json) => (JSON.parse(json) as { number: number }).number);
    const missing = safe.filter((number) => !found.includes(number));
    expect(missing).toEqual([]);
    expect(new Set(found).size).toBe(found.length);
    expect(outboxes.faults).toEqual([]);
  });
});
