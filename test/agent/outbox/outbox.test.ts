import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import { Outbox, type OutboxLimits } from '../../../src/agent/outbox/outbox.ts';
import { createLog } from '../../../src/log.ts';
import { builtProgram } from '../../helpers/build.ts';

let folder: string;
let faults: string[];
let metrics = createMetrics();
let open: Outbox[] = [];
let instances = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-'));
  faults = [];
  metrics = createMetrics();
});
afterEach(async () => {
  for (const outbox of open.splice(0)) await outbox.close();
  rmSync(folder, { recursive: true, force: true });
});

const roomy: OutboxLimits = { segmentBytes: 2 ** 20, capBytes: 2 ** 26, memoryBytes: 2 ** 20 };

async function openOutbox(limits = roomy, where = folder): Promise<Outbox> {
  instances += 1;
  const outbox = await Outbox.open({
    folder: where,
    instanceId: `instance-${instances}`,
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    metrics,
    fault: (error, message) => faults.push(`${message}: ${error.message}`),
    now: Date.now,
    limits,
  });
  open.push(outbox);
  return outbox;
}

async function closeOutbox(outbox: Outbox): Promise<void> {
  open = open.filter((other) => other !== outbox);
  await outbox.close();
}

const texts = (payloads: Buffer[] | undefined) => (payloads ?? []).map(String);

/** Everything in the outbox, in the order in which it would be sent. */
async function drainAll(outbox: Outbox, items = 500, bytes = 2 ** 24): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const batch = await outbox.nextBatch(items, bytes);
    if (batch === null) return all;
    all.push(...texts(batch.payloads));
    await batch.acknowledge(batch.payloads.length);
  }
}

function segments(): string[] {
  const found: string[] = [];
  for (const name of readdirSync(folder)) {
    if (!statSync(join(folder, name)).isDirectory()) continue;
    for (const file of readdirSync(join(folder, name))) {
      if (file.endsWith('.seg')) found.push(join(folder, name, file));
    }
  }
  return found.sort();
}

test('results are sent in order and leave no file', async () => {
  const outbox = await openOutbox();
  const all = Array.from({ length: 50 }, (_, index) => JSON.stringify({ index, text: 'ä€😀' }));
  await Promise.all(all.map((json) => outbox.add(json)));
  expect(outbox.isEmpty()).toBe(false);
  expect(await drainAll(outbox, 7)).toEqual(all);
  expect(outbox.isEmpty()).toBe(true);
  await closeOutbox(outbox);
  expect(readdirSync(folder)).toEqual([]);
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
    diskError: null,
  });
  const before = Date.now();
  await outbox.add('"x"');
  const { diskBytes, oldestAt } = outbox.status();
  expect(diskBytes).toBe(16 + 3);
  expect(oldestAt).toBeGreaterThanOrEqual(before);
});

describe('after a restart', () => {
  test('results of an earlier agent are sent first, in order', async () => {
    const small = { ...roomy, segmentBytes: 100 };
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
    expect(readdirSync(folder)).toEqual([]);
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
    const home = join(folder, 'elsewhere');
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
    const filled = new Promise<void>((resolve) => early.onFilled(resolve));
    const silent = new Date(Date.now() - 60_000);
    utimesSync(join(home, 'alive'), silent, silent);
    await filled;
    expect(await drainAll(early)).toEqual(['"left"']);
    expect(existsSync(home)).toBe(false);
  }, 30_000);
});

describe('damage', () => {
  /** Three results in one segment of an agent that is gone. */
  async function leaveThree(): Promise<string> {
    const outbox = await openOutbox();
    for (const json of ['"one"', '"two"', '"three"']) await outbox.add(json);
    await closeOutbox(outbox);
    return segments()[0] ?? '';
  }
  const frame = (payload: string) => 16 + payload.length;

  test.each([1, 5, 20])('a last frame that lacks %d bytes was never called safe', async (missing) => {
    const file = await leaveThree();
    truncateSync(file, statSync(file).size - missing);
    const outbox = await openOutbox();
    expect(await drainAll(outbox)).toEqual(['"one"', '"two"']);
    expect(faults).toEqual([]);
  });

  test('a header without its frame', async () => {
    const file = await leaveThree();
    appendFileSync(file, Buffer.from([9, 0, 0]));
    expect(await drainAll(await openOutbox())).toEqual(['"one"', '"two"', '"three"']);
    expect(faults).toEqual([]);
  });

  test.each([0, 7, 32])('a new segment that was cut after %d bytes lost nothing', async (bytes) => {
    const file = await leaveThree();
    const torn = join(dirname(file), `999999999999999-000001-torn.seg`);
    writeFileSync(torn, readFileSync(file).subarray(0, bytes));
    expect(await drainAll(await openOutbox())).toEqual(['"one"', '"two"', '"three"']);
    expect(faults).toEqual([]);
    expect(existsSync(torn)).toBe(false);
  });

  test('space that was reserved and never filled', async () => {
    const file = await leaveThree();
    appendFileSync(file, Buffer.alloc(4096));
    expect(await drainAll(await openOutbox())).toEqual(['"one"', '"two"', '"three"']);
    expect(faults).toEqual([]);
  });

  test('a flipped bit costs its own result, and the file is kept', async () => {
    const file = await leaveThree();
    const bytes = readFileSync(file);
    const at = 32 + frame('"one"') + 16 + 2;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    const outbox = await openOutbox();
    expect(await drainAll(outbox)).toEqual(['"one"', '"three"']);
    expect(faults).toEqual(['outbox segment is damaged: damaged outbox segment; lost: one result']);
    expect(metrics.outboxDamaged).toBe(1);
    expect(execFileSync('find', [folder, '-path', '*damaged*', '-type', 'f']).toString()).toMatch(/\.seg\n$/);
  });

  test('an invalid length loses the rest of the segment', async () => {
    const file = await leaveThree();
    const bytes = readFileSync(file);
    bytes.writeUInt32LE(0xffffffff, 32 + frame('"one"'));
    writeFileSync(file, bytes);
    expect(await drainAll(await openOutbox())).toEqual(['"one"']);
    expect(metrics.outboxDamaged).toBe(1);
  });

  test('a file that is not a segment is quarantined, the others are sent', async () => {
    const file = await leaveThree();
    writeFileSync(join(file, '..', '000000000000000-000000-xxxxxxxx.seg'), 'not an outbox');
    expect(await drainAll(await openOutbox())).toEqual(['"one"', '"two"', '"three"']);
    expect(metrics.outboxDamaged).toBe(1);
  });
});

describe('bounds', () => {
  test('above the limit the oldest results are dropped, counted and logged', async () => {
    const outbox = await openOutbox({ segmentBytes: 200, capBytes: 1000, memoryBytes: 2 ** 20 });
    for (let index = 0; index < 100; index += 1) await outbox.add(JSON.stringify({ index }));
    const left = await drainAll(outbox);
    expect(left.at(-1)).toBe('{"index":99}');
    expect(left.length).toBeLessThan(40);
    expect(left).toEqual(left.map((_, at) => JSON.stringify({ index: 100 - left.length + at })));
    expect(metrics.resultsDropped).toBe(100 - left.length);
    expect(faults[0]).toMatch(/^results dropped: \d+ results dropped: the outbox reached its size cap$/);
  });

  test('a batch that is being sent is not dropped', async () => {
    const outbox = await openOutbox({ segmentBytes: 200, capBytes: 600, memoryBytes: 2 ** 20 });
    for (let index = 0; index < 5; index += 1) await outbox.add(JSON.stringify({ index }));
    const batch = await outbox.nextBatch(2, 1000);
    for (let index = 5; index < 60; index += 1) await outbox.add(JSON.stringify({ index }));
    expect(texts(batch?.payloads)).toEqual(['{"index":0}', '{"index":1}']);
    await batch?.acknowledge(2);
    expect((await drainAll(outbox)).slice(0, 3)).toEqual(['{"index":2}', '{"index":3}', '{"index":4}']);
  });

  test('quarantine keeps a refused result for a person', async () => {
    const outbox = await openOutbox();
    await outbox.quarantine(Buffer.from('{"odd":1}'));
    await outbox.quarantine(Buffer.from('{"odd":2}'));
    const file = join(folder, readdirSync(folder)[0] ?? '', 'quarantine.ndjson');
    expect(readFileSync(file, 'utf8')).toBe('{"odd":1}\n{"odd":2}\n');
  });
});

describe('a full disk', () => {
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
    for (const outbox of open.splice(0)) await outbox.close();
    if (disk === null) return;
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  async function until(condition: () => boolean): Promise<void> {
    const end = Date.now() + 10_000;
    while (!condition() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(condition()).toBe(true);
  }
  const kilobyte = (index: number) => JSON.stringify({ index, filling: 'x'.repeat(1000) });

  test('keeps results in memory, sends them from there, and uses the disk again when there is room', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    writeFileSync(join(disk, 'ballast'), Buffer.alloc(200 * 1024));
    const outbox = await openOutbox(roomy, join(disk, 'outbox'));
    const all = Array.from({ length: 100 }, (_, index) => kilobyte(index));
    for (const json of all) await outbox.add(json);
    expect(outbox.status().diskError).toMatchObject({ code: 'ENOSPC' });
    expect(metrics.outboxDiskErrors).toBe(1);
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
    sent.push(...(await drainAll(outbox)));
    expect(sent).toEqual(all);
    expect(metrics.resultsDropped).toBe(0);
  });

  test('at the start, results of an earlier agent are sent, and new ones wait for room', async (context) => {
    if (disk === null) return context.skip('no right to mount a small disk');
    const folder = join(disk, 'outbox');
    const earlier = await openOutbox(roomy, folder);
    await earlier.add('{"of":"the earlier one"}');
    await closeOutbox(earlier);
    const ballast = join(disk, 'ballast');
    expect(() => writeFileSync(ballast, Buffer.alloc(256 * 1024))).toThrow('ENOSPC');

    const outbox = await openOutbox(roomy, folder);
    await outbox.add('{"of":"this one"}');
    expect(outbox.status().diskError).toMatchObject({ code: 'ENOSPC' });
    expect(await drainAll(outbox)).toEqual(['{"of":"the earlier one"}', '{"of":"this one"}']);
    expect(metrics.resultsDropped).toBe(0);

    await outbox.add('{"of":"this one too"}');
    rmSync(ballast, { force: true });
    await until(() => outbox.status().diskError === null && outbox.status().memoryBytes === 0);
    // Its folder has a name on it by now, so that no other agent takes it for abandoned.
    expect(await drainAll(await openOutbox(roomy, folder))).toEqual([]);
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
    expect(metrics.resultsDropped).toBe(60 - left.length);
    expect(metrics.resultsDropped).toBeGreaterThan(0);
  });
});

describe('kill -9 in the middle of writing', () => {
  let dist = '';
  beforeAll(async () => {
    dist = dirname(await builtProgram());
  }, 180_000);

  test.each([150, 300, 450])('after %d ms of writing everything called safe is there', async (afterMs) => {
    const writer = join(import.meta.dirname, 'outbox-writer.mjs');
    const child = spawn(process.execPath, [writer, dist, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
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
    expect(faults).toEqual([]);
  });
});
