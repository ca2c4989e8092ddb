import { mkdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { builtProgram } from '../../helpers/build.ts';
import { hasPlaywright, startRunner } from '../../helpers/scripts/playwright.ts';

describe.runIf(hasPlaywright)('processes that wait for a run', { timeout: 60_000 }, () => {
  beforeAll(async () => void (await builtProgram()), 120_000);

  test('a process is prepared only if runs are frequent enough', async () => {
    const idleMs = 300;
    const runner = startRunner({ idleMs });
    const folders = join(runner.folder, 'playwright');
    mkdirSync(folders);
    const made = new Set<string | null>();
    // Each process has its own folder.
    const watcher = watch(folders, (_event, name) => void made.add(name));
    // Its process is used up like that of any other, and nothing of Playwright need be loaded for it.
    const refused = async () => {
      const { failure } = await runner.start('', { script: { path: 'script.txt' } }).run;
      expect(failure?.code).toBe('SCRIPT_INVALID');
    };
    try {
      await refused();
      await vi.waitFor(() => expect(made.size).toBe(2), { timeout: 10_000 });
      await vi.waitFor(() => expect(runner.leftFolders()).toEqual([]), { timeout: 20_000 });
      // Its own process, and none for the next.
      await refused();
    } finally {
      // When it is over, whatever was begun has a folder, or had one.
      await runner.close();
      watcher.close();
    }
    expect(made.size).toBe(3);
  });
});
