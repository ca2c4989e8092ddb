import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { createResultFilesLoop } from '../../../src/service/result-files/result-files-loop.ts';
import { databases } from '../../helpers/service/database.ts';
import { createSmallDisk } from '../../helpers/small-disk.ts';
import { filesBench, minutes } from './files-bench.ts';
import { folderOf } from './stores.ts';

/** The disk of the store is full while results move: they stay in the database, and move when there is room. */

describe.each(databases)('a full disk of files with results ($name)', (database) => {
  describe.skipIf(database.unavailable)('with a database', { timeout: 120_000 }, () => {
    // The store leaves 128 MB of a disk free.
    const disk = createSmallDisk(132);
    let folder = '';
    let refused = '';
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'full-disk-'));
      try {
        disk.mount(folder);
      } catch (error) {
        refused = String(error);
      }
    });
    afterAll(async () => {
      disk.unmount();
      await rm(folder, { recursive: true, force: true });
    });
    const bench = filesBench(database, { name: 'small disk', open: () => folderOf(join(folder, 'data')) });
    const needsDisk = (context: TestContext) =>
      context.skip(refused !== '', 'no right to mount a small disk');

    async function tick(): Promise<string> {
      let logged = '';
      const destination = { write: (line: string) => void (logged += line) };
      const log = createLog({ level: 'INFO', scrub: (line) => line, destination });
      const { clock, plain: db, files } = bench;
      await createResultFilesLoop({ db, files, now: clock.now, log, afterDays: 1, resultDays: 30 }).tick();
      return logged;
    }

    async function filled(): Promise<{ checkId: string; before: string; answer: () => Promise<string> }> {
      await bench.service.renewAccounts();
      await bench.lookAgain();
      const checkId = await bench.create('URL');
      await bench.store(checkId, minutes(130));
      const answer = () => bench.answer(`/v2/check-results/${checkId}?limit=100`);
      return { checkId, before: await answer(), answer };
    }

    test('keeps results in the database, says so, and takes them when there is room', async (context) => {
      needsDisk(context);
      const { checkId, before, answer } = await filled();
      const paths = await bench.filePaths();
      disk.fill();
      for (let round = 0; round < 2; round++) {
        const logged = await tick();
        expect(logged).toContain('results cannot be moved to files');
        expect(logged).toContain('the disk for results is full');
        expect(await bench.inTable(checkId)).toBe(130);
        expect(await bench.inFiles(checkId)).toBe(0);
        expect(await bench.filePaths()).toEqual(paths);
        expect(await answer()).toBe(before);
      }
      disk.free();
      expect(await tick()).not.toContain('cannot be moved');
      expect(await bench.inTable(checkId)).toBe(0);
      expect(await bench.inFiles(checkId)).toBe(130);
      expect(await answer()).toBe(before);
    });

    test('is no loss if it has room for bytes, but not for a file', async (context) => {
      needsDisk(context);
      const { checkId, before, answer } = await filled();
      const paths = await bench.filePaths();
      const { files: all, ffree } = await statfs(folder);
      const inodes = (count: number) =>
        execFileSync('mount', ['-o', `remount,nr_inodes=${count}`, folder], { stdio: 'ignore' });
      inodes(all - ffree);
      const logged = await tick();
      expect(logged).toContain('the disk for results is full');
      expect(await bench.inTable(checkId)).toBe(130);
      expect(await bench.filePaths()).toEqual(paths);
      expect(await answer()).toBe(before);
      inodes(all);
      await tick();
      expect(await bench.inFiles(checkId)).toBe(130);
      expect(await answer()).toBe(before);
    });
  });
});
