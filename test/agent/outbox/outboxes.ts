import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { DiskDeadline } from '../../../src/agent/folders/disk-deadline.ts';
import { createMetrics, type AgentMetrics } from '../../../src/agent/metrics/counters.ts';
import type { OutboxLimits } from '../../../src/agent/outbox/options.ts';
import { Outbox } from '../../../src/agent/outbox/outbox.ts';
import { createLog } from '../../../src/log.ts';

export const roomy: OutboxLimits = { segmentBytes: 2 ** 20, capBytes: 2 ** 26, memoryBytes: 2 ** 20 };

/** Outboxes in a folder of the test: what the files of their tests share. */
export type Outboxes = {
  readonly folder: string;
  readonly faults: string[];
  /** Results that were dropped. */
  readonly dropped: string[];
  readonly metrics: AgentMetrics;
  open: (
    limits?: OutboxLimits,
    where?: string,
    now?: () => number,
    diskPatienceMs?: () => number,
  ) => Promise<Outbox>;
  close: (outbox: Outbox) => Promise<void>;
  closeAll: () => Promise<void>;
  /** All segment files. */
  segments: () => string[];
  /** Writes a segment of an agent that is gone. */
  leave: (bytes: Buffer, name?: string) => string;
  /** Forgets everything: an empty folder, no metrics, no faults. */
  startOver: () => Promise<void>;
};

/** Registers the hooks that give each test its own folder and close what it has opened. */
export function outboxTests(): Outboxes {
  let folder = '';
  let faults: string[] = [];
  let dropped: string[] = [];
  let metrics = createMetrics();
  let open: Outbox[] = [];
  let instances = 0;

  const closeAll = async () => {
    for (const outbox of open.splice(0)) await outbox.close();
  };
  const begin = () => {
    folder = mkdtempSync(join(tmpdir(), 'outbox-'));
    faults = [];
    dropped = [];
    metrics = createMetrics();
  };
  const end = async () => {
    await closeAll();
    rmSync(folder, { recursive: true, force: true });
  };
  beforeEach(begin);
  afterEach(end);

  return {
    get folder() {
      return folder;
    },
    get faults() {
      return faults;
    },
    get dropped() {
      return dropped;
    },
    get metrics() {
      return metrics;
    },
    open: async (limits = roomy, where = folder, now = Date.now, diskPatienceMs = () => 60_000) => {
      instances += 1;
      const outbox = await Outbox.open({
        folder: where,
        instanceId: `instance-${instances}`,
        log: createLog({ level: 'ERROR', scrub: (line) => line, destination: { write: () => undefined } }),
        metrics,
        fault: (error, message) => faults.push(`${message}: ${error.message}`),
        now,
        dropped: (payload) => dropped.push(payload.toString()),
        limits,
        disk: new DiskDeadline(diskPatienceMs),
      });
      open.push(outbox);
      return outbox;
    },
    close: async (outbox) => {
      open = open.filter((other) => other !== outbox);
      await outbox.close();
    },
    closeAll,
    segments: () => {
      const found: string[] = [];
      for (const name of readdirSync(folder)) {
        if (!statSync(join(folder, name)).isDirectory()) continue;
        for (const file of readdirSync(join(folder, name))) {
          if (file.endsWith('.seg')) found.push(join(folder, name, file));
        }
      }
      return found.sort();
    },
    leave: (bytes, name = '000000000000001-000001-departed.seg') => {
      const home = join(folder, 'departed');
      mkdirSync(home, { recursive: true });
      const path = join(home, name);
      writeFileSync(path, bytes);
      return path;
    },
    startOver: async () => {
      await end();
      begin();
    },
  };
}

export const texts = (payloads: Buffer[] | undefined) => (payloads ?? []).map(String);

/** Everything in the outbox, in the order in which it would be sent. */
export async function drainAll(outbox: Outbox, items = 500, bytes = 2 ** 24): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const batch = await outbox.nextBatch(items, bytes);
    if (batch === null) return all;
    all.push(...texts(batch.payloads));
    await batch.acknowledge(batch.payloads.length);
  }
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
