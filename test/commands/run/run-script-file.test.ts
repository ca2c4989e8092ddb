import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseJob } from '../../../src/agent/claiming/parse-job.ts';
import {
  isScriptFile,
  readScriptFile,
  type ScriptFileOptions,
} from '../../../src/commands/run/script-file.ts';
import type { JobOf } from '../../../src/protocol/job.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'run-script-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (name: string, text: string): string => {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
};
const options = (more: Partial<ScriptFileOptions> = {}): ScriptFileOptions => ({
  type: undefined,
  runtime: undefined,
  variables: [],
  now: Date.parse('2026-03-31T12:00:00Z'),
  ...more,
});
const read = async (path: string, more: Partial<ScriptFileOptions> = {}) =>
  (await readScriptFile(path, options(more))) as JobOf<'BROWSER'>; // or MULTI_STEP, of the same shape

test('scripts are known by their ending', () => {
  expect(['a.ts', 'b/c.MJS', 'd.spec.js'].map(isScriptFile)).toEqual([true, true, true]);
  expect(['a.json', 'folder', 'a.py'].map(isScriptFile)).toEqual([false, false, false]);
});

test('a script becomes a job that an agent takes', async () => {
  const job = await read(put('shop.spec.ts', 'const a = 1;'), { variables: ['WHO=a=b'] });
  expect(parseJob(JSON.parse(JSON.stringify(job))).job).toEqual(job);
  expect(job).toMatchObject({
    checkType: 'BROWSER',
    checkName: 'shop.spec.ts',
    lane: 'browser',
    testSession: true,
    environmentVariables: [{ key: 'WHO', value: 'a=b' }],
    script: { content: 'const a = 1;', path: 'shop.spec.ts', files: [], runtimeId: '2026.04' },
  });
  const multi = await read(put('calls.js', ''), { type: 'multi-step', runtime: '2025.04' });
  expect(multi).toMatchObject({ checkType: 'MULTI_STEP', script: { runtimeId: '2025.04' } });
});

test('imports from its folder are included, once each', async () => {
  const path = put(
    'main.ts',
    `import { a } from './lib/a.js';\nconst b = require("./lib/b");\nimport './lib';\nawait import('./data.json');\nimport x from './gone.ts';`,
  );
  put('lib/a.ts', `import './b.js'; import '../main.ts'; export const a = 1;`);
  put('lib/b.js', '');
  put('lib/index.ts', '// all');
  put('data.json', '{}');
  put('unused.ts', '');
  const { files } = (await read(path)).script;
  expect(files.map((file) => file.path).sort()).toEqual([
    'data.json',
    'lib/a.ts',
    'lib/b.js',
    'lib/index.ts',
  ]);
});

describe('is refused with the remedy', () => {
  test.each([
    [{ type: 'URL' }, '--type must be one of BROWSER, MULTI_STEP'],
    [{ runtime: '1999.01' }, '--runtime must be one of 2026.04'],
    [{ variables: ['nothing'] }, '--env must have the form NAME=VALUE'],
  ])('%j', async (more, message) => {
    await expect(read(put('a.ts', ''), more)).rejects.toMatchObject({
      exitCode: 64,
      message: expect.stringContaining(message) as unknown,
    });
  });

  test('an import from outside its folder, also through a link', async () => {
    const secret = put('outside.js', 'module.exports = 1');
    const path = put('in/main.ts', `import '../outside.js';`);
    await expect(read(path)).rejects.toMatchObject({ exitCode: 64 });
    symlinkSync(secret, join(folder, 'in', 'link.js'));
    await expect(read(put('in/other.ts', `import './link.js';`))).rejects.toMatchObject({ exitCode: 64 });
  });

  test('a file that is not there, or too large', async () => {
    await expect(read(join(folder, 'none.ts'))).rejects.toMatchObject({ exitCode: 2 });
    await expect(read(put('large.ts', ' '.repeat(1_048_577)))).rejects.toMatchObject({ exitCode: 64 });
  });
});
