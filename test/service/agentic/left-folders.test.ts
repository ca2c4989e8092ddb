import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeLeftFolders } from '../../../src/service/agentic/browser.ts';

test('folders of browsers whose service was killed are removed, and no others', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'left-folders-'));
  const now = Date.now();
  const make = (name: string, ageMs: number) => {
    const folder = join(parent, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'file'), '');
    utimesSync(folder, (now - ageMs) / 1000, (now - ageMs) / 1000);
    return folder;
  };
  const left = make('location-agent-agentic-old', 2 * 3_600_000);
  const used = make('location-agent-agentic-new', 60_000);
  const other = make('other', 2 * 3_600_000);
  await removeLeftFolders(parent, now);
  expect([left, used, other].map((folder) => existsSync(folder))).toEqual([false, true, true]);
  await removeLeftFolders(join(parent, 'missing'), now);
  rmSync(parent, { recursive: true });
});
