import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** How the set-up replaces a compiled program that other processes may be running. */

type SwapFolder = (fresh: string, target: string) => void;
const { swapFolder } = (await import('../../scripts/swap-folder.mjs' as string)) as {
  swapFolder: SwapFolder;
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'swap-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function compiled(content: string): string {
  const fresh = join(folder, 'fresh');
  mkdirSync(fresh);
  writeFileSync(join(fresh, 'main.js'), content);
  return fresh;
}

test('the new folder takes the place of the old one, whose files are gone', () => {
  const target = join(folder, 'dist');
  swapFolder(compiled('1'), target);
  writeFileSync(join(target, 'stale.js'), '');
  swapFolder(compiled('2'), target);
  expect(readdirSync(target)).toEqual(['main.js']);
  expect(readFileSync(join(target, 'main.js'), 'utf8')).toBe('2');
  expect(readdirSync(folder)).toEqual(['dist']);
});

test('a reader meets the folder practically always', async () => {
  const target = join(folder, 'dist');
  swapFolder(compiled('0'), target);
  const reader = new Worker(
    `const { existsSync } = require('node:fs');
     const { parentPort, workerData } = require('node:worker_threads');
     let found = 0, missed = 0, longest = 0, row = 0, ended = false;
     parentPort.once('message', () => (ended = true));
     const look = () => {
       for (let i = 0; i < 500; i++) {
         if (existsSync(workerData)) { found++; row = 0; } else { missed++; longest = Math.max(longest, ++row); }
       }
       if (ended) parentPort.postMessage({ found, missed }); else setImmediate(look);
     };
     parentPort.postMessage('ready');
     look();`,
    { eval: true, workerData: join(target, 'main.js') },
  );
  await new Promise((resolve) => reader.once('message', resolve));
  for (let round = 1; round <= 50; round++) swapFolder(compiled(String(round)), target);
  const seen = new Promise<{ found: number; missed: number }>((resolve) => reader.once('message', resolve));
  reader.postMessage('end');
  const { found, missed } = await seen;
  await reader.terminate();
  expect(found).toBeGreaterThan(0);
  expect(missed).toBeLessThan(found);
  expect(existsSync(target)).toBe(true);
});
