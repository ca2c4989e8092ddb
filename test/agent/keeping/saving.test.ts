import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKeptFile } from '../../../src/agent/keeping/kept-file.ts';
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
