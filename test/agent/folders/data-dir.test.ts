import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataDir, unusableDataDirError } from '../../../src/agent/folders/data-dir.ts';

test('creates the data directory and its parents', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'data-dir-'));
  await openDataDir(join(folder, 'a', 'b'));
  expect(existsSync(join(folder, 'a', 'b'))).toBe(true);
  rmSync(folder, { recursive: true });
});

test.runIf(process.platform === 'linux')(
  'a data directory that cannot be created is reported and does not stop the agent',
  async () => {
    await expect(openDataDir('/proc/nowhere/data')).rejects.toThrow(
      /^AGENT_DATA_DIR: cannot write in \/proc\/nowhere\/data \(ENOENT\): choose a folder/,
    );
  },
);

test.runIf(process.platform === 'linux')("one that is somebody else's is told with the remedy", () => {
  const told = (code: string) =>
    unusableDataDirError('/data', Object.assign(new Error(code), { code })).message;
  const owner = `${process.getuid?.()}:${process.getgid?.()}`;
  expect(told('EACCES')).toContain(
    `(EACCES): change its owner (chown ${owner} /data, or the same on the mounted volume`,
  );
  expect(told('EROFS')).toContain('(EROFS): it is mounted read-only');
  expect(told('ENOSPC')).toContain('(ENOSPC): free some disk space');
  expect(told('EIO')).toContain('(EIO): choose a folder that this user may write to');
});
