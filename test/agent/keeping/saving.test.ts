import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KeptFacts } from '../../../src/agent/keeping/kept.ts';
import { createKeptFile, type KeptFile } from '../../../src/agent/keeping/kept-file.ts';
import { createSaving } from '../../../src/agent/keeping/saving.ts';
import { keptSample, packedCheck } from './samples.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'saving-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const kept = keptSample(packedCheck());

test('checks that could not be written are written again without another change', async () => {
  const errors: unknown[] = [];
  const open = (instanceId: string) =>
    createKeptFile({ root, instanceId, apiKey: 'pl_key', onError: (error) => errors.push(error) });
  const file = open('one');
  const saving = createSaving({ file: () => Promise.resolve(file), kept: () => kept, facts: () => kept });
  const inTheWay = join(root, 'one', 'held-apart.new');
  mkdirSync(inTheWay, { recursive: true });
  await saving.save();
  expect(errors).toHaveLength(1);
  rmdirSync(inTheWay);
  saving.start();
  await expect.poll(() => existsSync(join(root, 'one', 'held-apart'))).toBe(true);
  saving.stop();
  await file.close();
  const next = open('two');
  expect(await next.adopt()).toMatchObject({ checks: kept.checks });
  await next.close();
});

test('what is reported is written only beside the checks of that time', async () => {
  const written: string[] = [];
  let clock = 0;
  let reportedTo = 1;
  let isFull = false;
  const file = {
    save: () => {
      clock += 100;
      if (isFull) return Promise.resolve(false);
      written.push(`checks ${reportedTo}`);
      return Promise.resolve(true);
    },
    saveFacts: (facts: KeptFacts) => Promise.resolve(written.push(`facts ${facts.reportedTo}`) > 0),
  };
  const saving = createSaving({
    file: () => Promise.resolve(file as unknown as KeptFile),
    kept: () => ({ ...kept, reportedTo }),
    facts: () => ({ ...kept, reportedTo }),
    now: () => clock,
  });
  vi.useFakeTimers();
  try {
    saving.start();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(written.splice(0)).toEqual(['facts 1']);
    saving.changed();
    reportedTo = 2;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(written.splice(0)).toEqual(['checks 2']);
    // Writing has taken 100 ms, so the checks are written after 2 s at the earliest. One of them has been taken away.
    saving.changed();
    reportedTo = 3;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(written.splice(0)).toEqual(['facts 2', 'facts 2']);
    clock += 2_000;
    reportedTo = 4;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(written.splice(0)).toEqual(['checks 4', 'facts 4']);
    // Writing the checks fails, and the file has those of before.
    isFull = true;
    saving.changed();
    reportedTo = 5;
    clock += 2_000;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(written.splice(0)).toEqual(['facts 4']);
  } finally {
    saving.stop();
    vi.useRealTimers();
  }
});
