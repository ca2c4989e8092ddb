import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMetrics } from '../../../src/agent/metrics/counters.ts';
import { Outbox } from '../../../src/agent/outbox/outbox.ts';
import { createLog } from '../../../src/log.ts';

/** The number of waiting results in the metrics. */

let folder: string;
let open: Outbox[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-status-'));
});
afterEach(async () => {
  for (const outbox of open.splice(0)) await outbox.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openOutbox(instanceId: string, segmentBytes = 2 ** 20): Promise<Outbox> {
  const outbox = await Outbox.open({
    folder,
    instanceId,
    log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
    metrics: createMetrics(),
    fault: (error) => {
      throw error;
    },
    now: Date.now,
    limits: { segmentBytes, capBytes: 2 ** 26, memoryBytes: 2 ** 20 },
  });
  open.push(outbox);
  return outbox;
}

const waiting = (outbox: Outbox) => outbox.status().diskResults;

test('results count from when they are on disk until the service has them', async () => {
  const outbox = await openOutbox('one');
  await Promise.all(['1', '2', '3'].map((json) => outbox.add(json)));
  expect(waiting(outbox)).toBe(3);
  const batch = await outbox.nextBatch(2, 1000);
  expect(waiting(outbox)).toBe(3);
  await batch?.acknowledge(1);
  expect(waiting(outbox)).toBe(2);
  await (await outbox.nextBatch(10, 1000))?.acknowledge(2);
  expect(outbox.status()).toMatchObject({ diskResults: 0, memoryResults: 0, oldestAt: null });
});

test('results of an earlier agent are counted from the start', async () => {
  const first = await openOutbox('one', 200);
  // A file each two: what fills a file ends it.
  for (let index = 0; index < 6; index += 2) {
    await Promise.all([index, index + 1].map((number) => first.add(`"${String(number).padStart(30, 'x')}"`)));
  }
  const batch = await first.nextBatch(1, 1);
  await batch?.acknowledge(1);
  open = [];
  await first.close();

  const second = await openOutbox('two');
  expect(second.status().diskBytes).toBeGreaterThan(0);
  await second.add('"new"');
  expect(waiting(second)).toBe(6);
  const sent: number[] = [];
  for (;;) {
    const next = await second.nextBatch(1, 1);
    if (next === null) break;
    sent.push(waiting(second));
    await next.acknowledge(1);
  }
  expect(sent).toEqual([6, 5, 4, 3, 2, 1]);
  expect(waiting(second)).toBe(0);
});
