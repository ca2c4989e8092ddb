import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeTree } from '../../../src/script/process/remove-tree.ts';

const emptyFolder = (): string => mkdtempSync(join(tmpdir(), 'remove-tree-'));

test('very many files and folders cost little memory', { timeout: 60_000 }, async () => {
  const root = emptyFolder();
  for (let count = 0; count < 20_000; count += 1)
    closeSync(openSync(join(root, `a-file-with-a-long-name-that-takes-memory-${count}`), 'w'));
  for (let count = 0; count < 1000; count += 1)
    mkdirSync(join(root, `folder-${count}`, 'below'), { recursive: true });
  const before = process.memoryUsage.rss();
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
  await removeTree(root);
  clearInterval(timer);
  expect(existsSync(root)).toBe(false);
  // Node's own removal takes 40 MB for them.
  expect((most - before) / 1024 ** 2).toBeLessThan(36);
});

test('folders of any modes, deeper than a path may be, and links, which are not followed', async () => {
  const root = emptyFolder();
  const elsewhere = emptyFolder();
  writeFileSync(join(elsewhere, 'kept'), '');
  symlinkSync(elsewhere, join(root, 'link'));
  symlinkSync('/nowhere', join(root, 'broken'));
  mkdirSync(join(root, 'locked', 'below'), { recursive: true });
  chmodSync(join(root, 'locked', 'below'), 0);
  chmodSync(join(root, 'locked'), 0o400);
  // 60 levels of 200 bytes: three times what a path may have.
  const nest = `for (let level = 0; level < 60; level += 1) {
    fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)); fs.writeFileSync('file', '');
  }`;
  execFileSync(process.execPath, ['-e', nest], { cwd: root });
  await removeTree(root);
  expect(existsSync(root)).toBe(false);
  expect(existsSync(join(elsewhere, 'kept'))).toBe(true);
  symlinkSync(elsewhere, root);
  await removeTree(root);
  expect(existsSync(root)).toBe(false);
  expect(existsSync(join(elsewhere, 'kept'))).toBe(true);
  await removeTree(elsewhere);
});

test('a missing folder is no error, one that cannot be removed is', async () => {
  await removeTree(join(tmpdir(), 'never-was-there'));
  await expect(removeTree('/proc/self/fdinfo')).rejects.toThrow(/EPERM|EACCES/);
});
