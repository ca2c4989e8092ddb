import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { scrubFile as scrubFileFromSource } from '../../../src/secrets/files/scrub-file.ts';

/** Both ways to run: as a build, on a thread of its own, and as sources, as every other test runs it. */

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'scrub-file-'));
const secrets = [{ name: 'TOKEN', value: 'walnut-tree' }];
const source = join(folder, 'source.txt');
const target = join(folder, 'target.txt');
const words = 'some words of no importance, ';
let build = '';

beforeAll(() => {
  build = join(folder, 'build');
  const config = join(folder, 'tsconfig.json');
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.build.json'),
      compilerOptions: {
        outDir: build,
        rootDir: join(root, 'src'),
        incremental: false,
        tsBuildInfoFile: null,
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: [join(root, 'src/secrets')],
    }),
  );
  const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], {
    encoding: 'utf8',
  });
  expect({ status: tsc.status, output: tsc.stdout }).toEqual({ status: 0, output: '' });
}, 60_000);

beforeEach(() => {
  rmSync(target, { force: true });
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

type ScrubFile = typeof scrubFileFromSource;
async function built(): Promise<ScrubFile> {
  const url = pathToFileURL(join(build, 'secrets/files/scrub-file.js')).href;
  const module = (await import(/* @vite-ignore */ url)) as { scrubFile: ScrubFile }; // the build of the module imported above
  return module.scrubFile;
}
const parts = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.part'));

describe.each([
  ['as a build', built],
  ['as sources', async () => scrubFileFromSource],
])('%s', (_title, load: () => Promise<ScrubFile>) => {
  test('writes the target without secrets, for its owner only', async () => {
    const scrubFile = await load();
    const text = Array.from({ length: 120_000 }, (_, i) => (i % 500 === 0 ? 'walnut-tree, ' : words)).join(
      '',
    );
    writeFileSync(source, text);
    expect(await scrubFile(source, target, secrets)).toEqual({
      bytesIn: text.length,
      bytesOut: text.length - 240 * 2,
      maskedCount: 240,
    });
    expect(readFileSync(target, 'utf8')).toBe(text.replaceAll('walnut-tree', '*********'));
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(parts()).toEqual([]);
  });

  test('a file in its own place, and an empty one', async () => {
    const scrubFile = await load();
    writeFileSync(source, 'a walnut-tree');
    await scrubFile(source, source, secrets);
    expect(readFileSync(source, 'utf8')).toBe('a *********');
    writeFileSync(source, '');
    expect(await scrubFile(source, target, secrets)).toEqual({ bytesIn: 0, bytesOut: 0, maskedCount: 0 });
    expect(readFileSync(target, 'utf8')).toBe('');
  });

  test('a source that is not there rejects, and the next file is served', async () => {
    const scrubFile = await load();
    writeFileSync(source, 'a walnut-tree');
    const missing = scrubFile(join(folder, 'missing.txt'), target, secrets);
    const next = scrubFile(source, target, secrets);
    await expect(missing).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await next).maskedCount).toBe(1);
  });

  test('an abort stops it and leaves no file', async () => {
    const scrubFile = await load();
    writeFileSync(source, words.repeat(1_000_000));
    const reason = new Error('enough');
    await expect(scrubFile(source, target, secrets, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    const controller = new AbortController();
    const running = scrubFile(source, target, secrets, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 5);
    await expect(running).rejects.toBe(reason);
    expect([existsSync(target), parts()]).toEqual([false, []]);
  });
});

test('the main thread is not blocked while a worker scrubs', async () => {
  const scrubFile = await built();
  writeFileSync(source, words.repeat(2_000_000));
  let ticks = 0;
  const timer = setInterval(() => ticks++, 2);
  await scrubFile(source, target, secrets);
  clearInterval(timer);
  expect(ticks).toBeGreaterThan(5);
});
