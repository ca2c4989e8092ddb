import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataDir } from '../../../src/agent/folders/data-dir.ts';
import { repairModes } from '../../../src/agent/folders/repair-modes.ts';

/** Modes of the agent's own files, after a script of the same user changed them. */

const modeOf = (path: string) => statSync(path).mode & 0o7777;

test('a data folder at mode 0 is usable again after the start, with its outbox', async () => {
  const root = mkdtempSync(join(tmpdir(), 'location-agent-modes-'));
  const folder = join(root, 'outbox', 'instance');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '1.seg'), '');
  const outside = join(root, '..', `outside-${process.pid}`);
  writeFileSync(outside, '', { mode: 0o400 });
  symlinkSync(outside, join(root, 'link'));
  for (const path of [join(folder, '1.seg'), folder, join(root, 'outbox'), root]) chmodSync(path, 0);
  await openDataDir(root);
  expect([root, join(root, 'outbox'), folder].map(modeOf)).toEqual([0o700, 0o700, 0o700]);
  expect(modeOf(join(folder, '1.seg'))).toBe(0o600);
  expect(modeOf(outside), 'links are not followed').toBe(0o400);
  expect(repairModes(root), 'nothing is left to repair').toBe(0);
  rmSync(root, { recursive: true });
  rmSync(outside);
});

test('other rights stay, and set-id bits go', () => {
  const root = mkdtempSync(join(tmpdir(), 'location-agent-modes-'));
  chmodSync(root, 0o2055);
  expect(repairModes(root)).toBe(1);
  expect(modeOf(root)).toBe(0o755);
  expect(repairModes(join(root, 'missing'))).toBe(0);
  rmSync(root, { recursive: true });
});
